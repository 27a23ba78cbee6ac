import { describe, expect, test } from "vitest";
import type { Client, LeasedJob } from "../../../src/client/client.ts";
import { LongPolls } from "../../../src/http/long-polls.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

type Hint = { readonly topic: "work"; readonly queue: string } | { readonly topic: "lease" };

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
    { limit = 1, types = "*" as const, ending = new AbortController().signal, waitMs = 30_000 } = {},
  ): Promise<number> => {
    const claim = async (): Promise<LeasedJob[]> => {
      asked.push(name);
      return shelf.splice(0, limit);
    };
    return longPolls.wait({ queues: ["q"], types, limit, claim }, waitMs, ending).then((jobs) => jobs.length);
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
    const { promise, resolve } = Promise.withResolvers<LeasedJob[]>();
    const longPolls = new LongPolls(
      { leases: { watch: (listener: never) => (listeners.add(listener), () => {}) } as unknown as Client["leases"] },
      clock,
    );
    const waiting = longPolls.wait({ queues: ["q"], types: "*", limit: 1, claim: () => promise }, 30_000, over.signal);
    listeners.forEach((listener) => listener({ topic: "work", queue: "q" }));
    over.abort();
    put(1);
    resolve([{} as LeasedJob]);
    expect(await waiting).toHaveLength(1);
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
