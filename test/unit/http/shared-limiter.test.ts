import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SharedLimiter, type SpendTogether } from "../../../src/http/shared-limiter.ts";
import { openMemoryStore } from "../../../src/store/memory/memory-store.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

const HOUR_MS = 3_600_000;

interface Fleet {
  readonly clock: VirtualClock;
  readonly limiters: readonly SharedLimiter[];
  /** How often the store was asked, and for how many callers. */
  readonly asked: { calls: number; callers: number };
}

/** So many processes with one store, and one clock for all. */
function openFleet(processes: number, requests: number, perMs = HOUR_MS): Fleet {
  const clock = new VirtualClock(Date.UTC(2026, 2, 1));
  const store = openMemoryStore({ clock });
  const asked = { calls: 0, callers: 0 };
  const spend: SpendTogether = (spends) => {
    asked.calls++;
    asked.callers += spends.length;
    return store.spend(spends);
  };
  const limiters = Array.from({ length: processes }, () => new SharedLimiter({ rate: { requests, perMs }, spend, clock }));
  return { clock, limiters, asked };
}

function take({ clock, limiters }: Fleet, process: number, who = "key:a"): number | Promise<number> {
  return limiters[process]!.take(who, clock.monotonic());
}

/** Each of these callers asks once, all at the same moment. */
function takeAtOnce(fleet: Fleet, callers: readonly string[]): Promise<number[]> {
  return Promise.all(callers.map(async (who) => take(fleet, 0, who)));
}

describe("a rate that processes share", () => {
  test.each([1, 2, 5, 20])("is one rate for %i of them", async (processes) => {
    const fleet = openFleet(processes, 1000);
    let passed = 0;
    for (let index = 0; index < 3000; index++) if ((await take(fleet, index % processes)) === 0) passed++;
    expect(passed).toBeLessThanOrEqual(1000);
    // What is left over lies with processes that did not come to hand it out.
    expect(passed).toBeGreaterThan(900);
  });

  test("is never exceeded by more than a tenth, however requests come and wherever they go", async () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 3 })), { minLength: 50, maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), steps, async (requests, arrivals) => {
        const perMs = 10_000;
        const fleet = openFleet(4, requests, perMs);
        const passed: number[] = [];
        for (const [afterMs, process] of arrivals) {
          await fleet.clock.advance(afterMs);
          if ((await take(fleet, process)) === 0) passed.push(fleet.clock.now());
        }
        for (const start of passed) {
          const inWindow = passed.filter((at) => at >= start && at <= start + perMs).length;
          expect(inWindow).toBeLessThanOrEqual(Math.ceil(2.1 * requests) + 1);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("costs a call of the store now and then, not with each request", async () => {
    const fleet = openFleet(2, 100_000);
    for (let index = 0; index < 10_000; index++) expect(await take(fleet, index % 2)).toBe(0);
    expect(fleet.asked.calls).toBe(2);
  });

  test("once used up is refused without asking, and says truly when to come again", async () => {
    const fleet = openFleet(2, 60);
    for (let index = 0; index < 200; index++) await take(fleet, index % 2);
    const asked = fleet.asked.calls;
    const waitMs = await take(fleet, 0);
    expect(waitMs).toBe(HOUR_MS / 60);
    for (let index = 0; index < 1000; index++) expect(take(fleet, index % 2)).toBe(waitMs);
    expect(fleet.asked.calls).toBe(asked);
    await fleet.clock.advance(waitMs);
    expect(await take(fleet, 1)).toBe(0);
    expect(await take(fleet, 0)).toBeGreaterThan(0);
  });

  test("is asked for by many at once in one call", async () => {
    const fleet = openFleet(1, 100);
    const answers = await takeAtOnce(
      fleet,
      Array.from({ length: 500 }, (_, index) => `key:${index % 50}`),
    );
    expect(answers.every((waitMs) => waitMs === 0)).toBe(true);
    expect(fleet.asked).toEqual({ calls: 1, callers: 50 });
  });

  test("lets all of many that come at once through, as far as it goes", async () => {
    const fleet = openFleet(1, 100);
    const answers = await takeAtOnce(
      fleet,
      Array.from({ length: 300 }, () => "key:a"),
    );
    expect(answers.filter((waitMs) => waitMs === 0)).toHaveLength(100);
  });
});

describe("while the store is away", () => {
  function openAlone(spend: SpendTogether) {
    const clock = new VirtualClock(Date.UTC(2026, 2, 1));
    return { clock, limiter: new SharedLimiter({ rate: { requests: 5, perMs: 60_000 }, spend, clock }) };
  }

  test("each process counts for itself, and asks again later", async () => {
    let calls = 0;
    let isAway = true;
    const { clock, limiter } = openAlone(async (spends) => {
      calls++;
      if (isAway) throw new Error("away");
      return spends.map(() => ({ taken: 0, waitMs: 777 }));
    });
    const answers: number[] = [];
    for (let index = 0; index < 7; index++) answers.push(await limiter.take("key:a", clock.monotonic()));
    expect(answers).toEqual([0, 0, 0, 0, 0, 12_000, 12_000]);
    expect(calls).toBe(1);
    isAway = false;
    await clock.advance("5s");
    expect(await limiter.take("key:a", clock.monotonic())).toBe(777);
  });

  test("nobody waits longer than a second for it", async () => {
    const { clock, limiter } = openAlone(() => new Promise(() => {}));
    const answer = limiter.take("key:a", clock.monotonic());
    await clock.advance("1s");
    expect(await answer).toBe(0);
    expect(await limiter.take("key:a", clock.monotonic())).toBe(0);
  });
});
