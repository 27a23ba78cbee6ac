import { describe, expect, test } from "vitest";
import type { Client, LeasedJob } from "../../../src/client/client.ts";
import { type Claimed, LongPolls } from "../../../src/http/long-polls.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

type Hint = { readonly topic: "work"; readonly queue: string } | { readonly topic: "lease" };

const NOTHING: Claimed = { jobs: [], againInMs: null };

/** A longPolls before a shelf of jobs, with a bell to ring. */
function openLongPolls() {
  const clock = new VirtualClock(0);
  const listeners = new Set<(hint: Hint) => void>();
  const shelf: LeasedJob[] = [];
  const asked: string[] = [];
  const leases = {
    watch: (listener: (hint: Hint) => void) => (listeners.add(listener), () => listeners.delete(listener)),
  } as unknown as Client["leases"];
  const longPolls = new LongPolls({ leases }, clock);
  const wait = (
    name: string,
    { limit = 1, types = "*" as const, ending = new AbortController().signal, waitMs = 30_000, againInMs = null as number | null } = {},
  ): Promise<number> => {
    const claim = async (): Promise<Claimed> => {
      asked.push(name);
      return { jobs: shelf.splice(0, limit), againInMs: null };
    };
    const first = { jobs: [], againInMs };
    return longPolls.wait({ queues: ["q"], types, limit, claim }, first, waitMs, ending).then(({ jobs }) => jobs.length);
  };
  return {
    clock,
    wait,
    asked,
    listeners,
    put: (count: number) => void shelf.push(...Array.from({ length: count }, () => ({}) as LeasedJob)),
    ring: (queue = "q") => listeners.forEach((listener) => listener({ topic: "work", queue })),
  };
}

describe("the longPolls", () => {
  test("wakes one of those that would take the same, and the next only when that one got all it could", async () => {
    const { clock, wait, asked, put, ring } = openLongPolls();
    const first = wait("first", { limit: 2 });
    const second = wait("second", { limit: 2 });
    const third = wait("third", { limit: 2 });
    put(3);
    ring();
    expect([await first, await second]).toEqual([2, 1]);
    await clock.settle();
    expect(asked).toEqual(["first", "second"]);
    put(1);
    ring();
    expect(await third).toBe(1);
  });

  test("does not wake for other queues", async () => {
    const { clock, wait, asked, ring } = openLongPolls();
    const waiting = wait("one", { waitMs: 500 });
    ring("other");
    await clock.settle();
    expect(asked).toEqual([]);
    await clock.advance(500);
    expect(await waiting).toBe(0);
  });

  test("looks once a second although nothing rang", async () => {
    const { clock, wait, asked, put } = openLongPolls();
    const waiting = wait("one");
    await clock.advance(1000);
    put(1);
    await clock.advance(1000);
    expect(await waiting).toBe(1);
    expect(asked).toEqual(["one", "one"]);
  });

  test("looks when a job may start that waits for a limit, and says how long that is when its time is over", async () => {
    const { clock, wait, asked, put } = openLongPolls();
    const waiting = wait("one", { againInMs: 120 });
    put(1);
    await clock.advance(119);
    expect(asked).toEqual([]);
    await clock.advance(1);
    expect(await waiting).toBe(1);
    const longPolls = new LongPolls({ leases: { watch: () => () => {} } as unknown as Client["leases"] }, clock);
    const claim = async (): Promise<Claimed> => NOTHING;
    const ended = longPolls.wait(
      { queues: ["q"], types: "*", limit: 1, claim },
      { jobs: [], againInMs: 500 },
      200,
      new AbortController().signal,
    );
    await clock.advance(200);
    expect(await ended).toEqual({ jobs: [], againInMs: 300 });
  });

  test("a ring while one is asked makes it ask again, as it may have looked before", async () => {
    const { wait, asked, put, ring } = openLongPolls();
    const waiting = wait("one");
    ring();
    put(1);
    ring();
    expect(await waiting).toBe(1);
    expect(asked.length).toBeGreaterThanOrEqual(1);
  });

  test("whose time is over while its claim is under way still gets what it brings", async () => {
    const { clock, put, listeners } = openLongPolls();
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Claimed>();
    const longPolls = new LongPolls(
      { leases: { watch: (listener: never) => (listeners.add(listener), () => {}) } as unknown as Client["leases"] },
      clock,
    );
    const waiting = longPolls.wait({ queues: ["q"], types: "*", limit: 1, claim: () => promise }, NOTHING, 30_000, over.signal);
    listeners.forEach((listener) => listener({ topic: "work", queue: "q" }));
    over.abort();
    put(1);
    resolve({ jobs: [{} as LeasedJob], againInMs: null });
    expect((await waiting).jobs).toHaveLength(1);
  });

  test("hands on the failure of a claim, and leaves nothing behind when all have gone", async () => {
    const { clock, wait, listeners, ring } = openLongPolls();
    const longPolls = new LongPolls(
      {
        leases: { watch: (listener: never) => (listeners.add(listener), () => listeners.delete(listener)) } as unknown as Client["leases"],
      },
      clock,
    );
    const failing = longPolls.wait(
      { queues: ["q"], types: "*", limit: 1, claim: () => Promise.reject(new Error("away")) },
      NOTHING,
      30_000,
      new AbortController().signal,
    );
    ring();
    await expect(failing).rejects.toThrow("away");
    const waiting = wait("one", { waitMs: 10 });
    await clock.advance(10);
    expect(await waiting).toBe(0);
    expect(listeners.size).toBe(0);
  });
});
