import { beforeEach, describe, expect, test } from "vitest";
import type { Attempt } from "../../../src/worker/attempt.ts";
import { MOST_HELD, Stock } from "../../../src/worker/stock.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

const AHEAD_MS = 20;

describe("the stock of a worker", () => {
  let clock: VirtualClock;
  let running: Set<Attempt>;
  let givenBack: string[];
  let slots: number;

  beforeEach(() => {
    clock = new VirtualClock(0);
    running = new Set();
    givenBack = [];
    slots = 10;
  });

  function stockOf({ aheadMs = AHEAD_MS, isRemote = false } = {}): Stock {
    const giveBack = (attempts: readonly Attempt[]): void => void givenBack.push(...attempts.map(({ lease }) => lease.job.id));
    return new Stock({ clock, aheadMs, isRemote, slots: () => slots, running, giveBack });
  }

  function attempt(id: string, { type = "a", maxLost = 3, startedAt = 0 } = {}): Attempt {
    return { lease: { job: { id, type }, facts: { maxLost } }, takenAt: clock.monotonic(), startedAt } as unknown as Attempt;
  }

  const several = (count: number, first = 1): Attempt[] => Array.from({ length: count }, (_, index) => attempt(`job-${first + index}`));

  /** Between two full claims, so many jobs start in so many milliseconds. */
  async function starts(stock: Stock, count: number, ms: number): Promise<void> {
    stock.claimed(true);
    for (let start = 0; start < count; start++) stock.started();
    await clock.advance(ms);
    stock.claimed(true);
  }

  function ends(stock: Stock, type: string, ranMs: number): void {
    stock.ended(attempt("ended", { type, startedAt: clock.monotonic() - ranMs }), clock.monotonic());
  }

  /** They arrive, and no slot is free. */
  function arrive(stock: Stock, attempts: readonly Attempt[]): void {
    for (let slot = running.size; slot < slots; slot++) running.add(attempt(`running-${slot}`, { startedAt: clock.monotonic() }));
    stock.add(attempts);
    stock.keepRest();
  }

  describe("how much it may hold", () => {
    test("nothing before the pace is known, then what will start within `ahead`, at the measured pace", async () => {
      const stock = stockOf();
      expect(stock.room()).toBe(0);
      await starts(stock, 10, 2);
      expect(stock.room()).toBe(100);
    });

    test("never more than 500 in hand, slots included; with as many slots or more nothing", async () => {
      const stock = stockOf();
      await starts(stock, 1000, 1);
      expect(stock.room()).toBe(MOST_HELD - slots);
      slots = 499;
      expect(stock.room()).toBe(1);
      slots = 500;
      expect(stock.room()).toBe(0);
    });

    test("nothing with `ahead: 0`", async () => {
      const stock = stockOf({ aheadMs: 0 });
      await starts(stock, 1000, 1);
      expect(stock.room()).toBe(0);
    });

    test("nothing while one of the types that ran lately is slow", async () => {
      const stock = stockOf();
      await starts(stock, 10, 2);
      ends(stock, "slow", 500);
      expect(stock.room()).toBe(0);
      await clock.advance("61s");
      expect(stock.room()).toBeGreaterThan(0);
    });

    test("less while handlers run for longer than `ahead`, and nothing if all do", async () => {
      const stock = stockOf();
      ends(stock, "a", 4);
      await starts(stock, 1000, 1);
      expect(stock.room()).toBe(50);
      for (let slot = 0; slot < 5; slot++) running.add(attempt(`long-${slot}`, { startedAt: clock.monotonic() - AHEAD_MS - 1 }));
      expect(stock.room()).toBe(25);
      for (let slot = 5; slot < 10; slot++) running.add(attempt(`long-${slot}`, { startedAt: clock.monotonic() - AHEAD_MS - 1 }));
      expect(stock.room()).toBe(0);
    });

    test("over HTTP for at least two round trips, and at most 200 ms", async () => {
      const stock = stockOf({ isRemote: true });
      await starts(stock, 1, 1);
      expect(stock.room()).toBe(20);
      stock.exchanged(30);
      expect(stock.room()).toBe(60);
      stock.exchanged(900);
      stock.exchanged(28);
      expect(stock.room()).toBe(56);
      const far = stockOf({ isRemote: true });
      await starts(far, 1, 1);
      far.exchanged(5000);
      expect(far.room()).toBe(200);
    });
  });

  test("starts in the order in which jobs were taken", () => {
    const stock = stockOf();
    const [first, second, third] = several(3);
    arrive(stock, [first!, second!]);
    arrive(stock, [third!]);
    stock.remove(first!);
    expect([stock.size, stock.first]).toEqual([2, second]);
    stock.remove(second!);
    expect(stock.first).toBe(third);
  });

  describe("gives back", () => {
    test("what has not started within five times `ahead`, and then holds less", async () => {
      const stock = stockOf();
      await starts(stock, 1000, 1);
      arrive(stock, several(40));
      for (let turn = 0; turn < 4; turn++) {
        await clock.advance(AHEAD_MS);
        // Handlers end and others start, but these do not get a turn.
        running.clear();
        for (let slot = 0; slot < slots; slot++) running.add(attempt(`young-${turn}-${slot}`, { startedAt: clock.monotonic() }));
      }
      expect(givenBack).toEqual([]);
      await clock.advance(AHEAD_MS);
      expect(givenBack).toHaveLength(40);
      expect(stock.size).toBe(0);
      expect(stock.room()).toBe(20);
      stock.claimed(true);
      expect(stock.room()).toBe(41);
    });

    test("all at once when no slot can be expected: every handler has run for longer than `ahead`", async () => {
      const stock = stockOf();
      arrive(stock, several(40));
      await clock.advance(AHEAD_MS);
      expect(givenBack).toEqual([]);
      await clock.advance(AHEAD_MS);
      expect(givenBack).toHaveLength(40);
    });

    test("not those that have a slot: the event loop was blocked, and they start next", async () => {
      const stock = stockOf();
      arrive(stock, several(3));
      running.clear();
      for (let slot = 0; slot < 8; slot++) running.add(attempt(`long-${slot}`));
      await clock.advance(6 * AHEAD_MS);
      expect(givenBack).toEqual(["job-3"]);
      expect(stock.size).toBe(2);
    });

    test("all when the worker stops", () => {
      const stock = stockOf();
      arrive(stock, several(3));
      stock.giveBackAll();
      expect(givenBack).toEqual(["job-1", "job-2", "job-3"]);
      expect(stock.size).toBe(0);
    });

    test("with `ahead: 0`, what has no slot, at once: slots were removed while the claim was under way", () => {
      const stock = stockOf({ aheadMs: 0 });
      running.clear();
      for (let slot = 0; slot < 8; slot++) running.add(attempt(`running-${slot}`));
      stock.add(several(3));
      stock.keepRest();
      expect(givenBack).toEqual(["job-3"]);
      expect(stock.size).toBe(2);
    });

    test("a job that must not be lost, at once; and the worker claims for free slots only for a minute", async () => {
      const stock = stockOf();
      await starts(stock, 10, 2);
      arrive(stock, [attempt("payment", { maxLost: 0 }), attempt("mail")]);
      expect(givenBack).toEqual(["payment"]);
      running.clear();
      expect(stock.room()).toBe(0);
      await clock.advance("60s");
      expect(stock.room()).toBe(100);
    });
  });

  test("keeps a job that must not be lost, if it has a slot: only the event loop was busy", () => {
    const stock = stockOf();
    stock.add([attempt("payment", { maxLost: 0 })]);
    stock.keepRest();
    expect([givenBack, stock.size]).toEqual([[], 1]);
  });

  test("leaves no timer behind", async () => {
    const stock = stockOf();
    arrive(stock, several(3));
    stock.stop();
    await clock.advance("1m");
    expect(givenBack).toEqual([]);
  });
});
