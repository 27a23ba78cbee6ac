import { describe, expect, test } from "vitest";
import type { LostLease } from "../../../src/core/lease.ts";
import { openWorld, type World } from "./open-upkeep.ts";

async function claim({ store }: World, limit: number, leaseMs: number): Promise<{ id: string; fence: number }[]> {
  const request = { workerId: "w", queues: ["default"], types: "*", limit, leaseMs, turn: 1, again: false, local: true } as const;
  const { claimed } = await store.exchange([], [request]);
  return claimed[0]!.map(({ id, fence }) => ({ id, fence }));
}

describe("reclaim", () => {
  test("loses the attempt of a lease that ran out: it runs again and spends no retry, or is dead where it may not be lost", async () => {
    const world = await openWorld();
    const { insert, start, store, clock, settled } = world;
    const again = await insert("again");
    const never = await insert("never", { maxRetries: 0 });
    const leases = await claim(world, 2, 3000);
    start();
    await clock.advance(2999);
    expect(settled).toEqual([]);
    await clock.advance(1);
    expect(settled).toEqual([
      { id: again, to: "retrying" },
      { id: never, to: "dead" },
    ]);
    const [job] = await store.find([again]);
    expect(job).toMatchObject({ retryCount: 0, lostCount: 1, error: { kind: "lost", name: "LeaseLost" } });
    // What the old holder says later is not heard.
    expect(job!.fence).toBeGreaterThan(leases[0]!.fence);
  });

  test("tells each lease that was lost once, with who held it, however many processes look", async () => {
    const world = await openWorld();
    const { insert, start, clock } = world;
    const [again, never] = [await insert("again"), await insert("never", { maxRetries: 0 })];
    await claim(world, 2, 3000);
    const lost: LostLease[] = [];
    for (let process = 0; process < 3; process++) start({ onLost: (leases) => void lost.push(...leases) });
    await clock.advance(3000);
    const held = { queue: "default", workerId: "w", fence: 1, attempt: 1, retryCount: 0, lostCount: 1 };
    expect(lost).toMatchObject([
      { id: again, type: "again", ...held },
      { id: never, type: "never", ...held, to: "dead" },
    ]);
  });

  test("rests for as long as a store asks for that has become slow to look at", async () => {
    const { insert, start, store, clock, ...world } = await openWorld();
    await insert("t");
    await claim({ insert, start, store, clock, ...world }, 1, 60_000);
    const looks: number[] = [];
    const expired = store.expired.bind(store);
    store.expired = async (limit) => {
      looks.push(clock.now());
      return { ...(await expired(limit)), nextInMs: 10, restMs: 1_500 };
    };
    start();
    await clock.advance(3_000);
    expect(looks.map((at) => at - looks[0]!)).toEqual([0, 1_500, 3_000]);
  });

  test("leaves a lease alone that was renewed between its look and its write", async () => {
    const world = await openWorld();
    const { insert, start, store, clock, settled, statusOf } = world;
    const id = await insert("t");
    const [lease] = await claim(world, 1, 1000);
    start({ beforeReclaim: async () => void (await store.extend([{ ...lease!, leaseMs: 60_000 }])) });
    await clock.advance("5s");
    expect(settled).toEqual([]);
    expect(await statusOf(id)).toBe("running");
  });

  test("waits for this process to renew its own leases first, and only when there is something to reclaim", async () => {
    const world = await openWorld();
    const { insert, start, clock } = world;
    let renewals = 0;
    await insert("t");
    await claim(world, 1, 10_000);
    start({ beforeReclaim: async () => void renewals++ });
    await clock.advance(9999);
    expect(renewals).toBe(0);
    await clock.advance(1);
    expect(renewals).toBe(1);
  });

  test("finds more than one batch at once", async () => {
    const world = await openWorld();
    const { insert, start, clock, settled } = world;
    for (let count = 0; count < 450; count++) await insert("t");
    await claim(world, 450, 1000);
    await clock.advance("1s");
    start();
    await clock.settle();
    expect(settled).toHaveLength(450);
  });

  test("does not spin when nothing of a full page could be reclaimed", async () => {
    const world = await openWorld();
    const { insert, start, clock, store, calls } = world;
    for (let count = 0; count < 250; count++) await insert("t");
    await claim(world, 250, 1000);
    await clock.advance("1s");
    store.exchange = async (settlements) => ({ settled: settlements.map(() => "stale" as const), claimed: [] });
    start();
    await clock.settle();
    expect(calls.get("expired")).toBe(1);
  });

  test("by several processes at once loses each attempt once", async () => {
    const world = await openWorld();
    const { insert, start, clock, settled, store } = world;
    const id = await insert("t");
    await claim(world, 1, 1000);
    for (let process = 0; process < 3; process++) start();
    await clock.advance("1s");
    expect(settled).toHaveLength(1);
    expect((await store.find([id]))[0]).toMatchObject({ lostCount: 1 });
  });
});
