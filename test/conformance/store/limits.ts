import { describe, expect } from "vitest";
import { STRICT_HEAD_START_MS } from "../../../src/core/rank.ts";
import type { LeaseAnswer, LeasedRecord } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { claimOf, keepsOn, LEASE_MS, settlementOf, type World } from "../world.ts";
import { COMPLETED, countByKey, hold, idsOf, runningOf, setKey, setLimits, starts, startsNothing } from "./limit-steps.ts";

const KEY = { limitKey: "k" } as const;

/** Every way in which a lease ends. */
const ENDS: Record<string, (world: World, lease: LeasedRecord) => Promise<unknown>> = {
  completed: (world, lease) => world.complete(lease),
  "failed, to be retried": (world, lease) => world.fail(lease, 60_000),
  "failed for good": (world, lease) => world.discard(lease),
  snoozed: (world, lease) => world.snooze(lease, 60_000),
  "snoozed by a hold of its key": (world, lease) => hold(world, lease, 60_000),
  released: (world, lease) => world.release(lease),
  lost: (world, lease) => {
    world.clock.advance(LEASE_MS);
    return world.lose(lease);
  },
  cancelled: async (world, lease) => expect(await world.cancel(lease.id)).toMatchObject({ kind: "ok", was: "running" }),
  "completed, and removed": async (world, lease) => {
    await world.complete(lease);
    expect(await world.remove(lease.id)).toMatchObject({ kind: "ok" });
  },
  "completed, and pruned": async (world, lease) => {
    await world.complete(lease);
    expect(await world.store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10)).toEqual({ removed: 1 });
  },
  "failed for good, and retried by hand": async (world, lease) => {
    await world.discard(lease);
    world.clock.advance(1);
    expect(await world.retry(lease.id)).toMatchObject({ kind: "ok" });
  },
};

export function limitsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("limits of what runs", () => {
    keeps("a queue never has more leases than it may, over all workers, types and keys", async (world) => {
      await setLimits(world, { running: 3 });
      await world.addMany(12, (index) => ({ type: `t${index % 2}`, ...(index % 3 === 0 ? {} : { limitKey: `k${index % 3}` }) }));
      await starts(world, 2, { limit: 2 });
      const [last] = await starts(world, 1, { workerId: "worker-2" });
      await startsNothing(world, { workerId: "worker-3", types: ["t0"] });
      expect(await runningOf(world)).toEqual([3]);
      await world.complete(last!);
      await starts(world, 1);
      await startsNothing(world);
    });

    keeps("the claims of one call share it", async (world) => {
      await setLimits(world, { running: 3, perKey: { running: 2 } });
      await world.addMany(10, KEY);
      await world.addMany(10);
      const claims = [1, 2, 3].map((n) => claimOf({ workerId: `worker-${n}`, limit: 2 }));
      const { claimed } = await world.store.exchange([], claims);
      expect(claimed.flat()).toHaveLength(3);
      expect(countByKey(claimed.flat())["k"] ?? 0).toBeLessThanOrEqual(2);
    });

    keeps("a place that ends in a call is free for the claims of that call", async (world) => {
      await setLimits(world, { running: 1, perKey: { running: 1 } });
      await world.addMany(3, KEY);
      const lease = await world.take();
      const { settled, claimed } = await world.store.exchange([settlementOf(lease, COMPLETED)], [claimOf()]);
      expect(settled).toEqual(["ok"]);
      if (claimed[0]!.length === 0) await starts(world, 1);
      await startsNothing(world);
      expect(await runningOf(world, ["k"])).toEqual([1, 1]);
    });

    keeps("each key has its own, and jobs without a key have none", async (world) => {
      await setLimits(world, { perKey: { running: 2 } });
      await world.addMany(30, (index) =>
        index % 3 === 0 ? {} : { limitKey: `k${index % 3}`, type: `t${index % 2}`, priority: index % 5 },
      );
      const started = await starts(world, 14);
      expect(countByKey(started)).toEqual({ none: 10, k1: 2, k2: 2 });
      expect(await runningOf(world, ["k1", "k2", "k3"])).toEqual([14, 2, 2, 0]);
      await world.complete(started.find(({ limitKey }) => limitKey === "k1")!);
      expect(countByKey(await starts(world, 1))).toEqual({ k1: 1 });
    });

    keeps("limits of the key itself replace those of every key, where they are given", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await setKey(world, "large", { running: 3 });
      await setKey(world, "free", { running: null });
      await setKey(world, "usual", { weight: 5 });
      await world.addMany(5, { limitKey: "large" });
      await world.addMany(5, { limitKey: "free" });
      await world.addMany(5, { limitKey: "usual" });
      expect(countByKey(await starts(world, 9))).toEqual({ large: 3, free: 5, usual: 1 });
      await setKey(world, "large", null);
      await startsNothing(world);
      await setKey(world, "usual", { running: 2 });
      expect(countByKey(await starts(world, 1))).toEqual({ usual: 1 });
    });

    keeps("keys can have limits in a queue that has none", async (world) => {
      await setKey(world, "k", { running: 1 });
      await world.addMany(3, KEY);
      await world.addMany(3, { limitKey: "other" });
      expect(countByKey(await starts(world, 4))).toEqual({ k: 1, other: 3 });
    });

    keeps("a queue's limits are its own: another queue with the same key has others", async (world) => {
      await setLimits(world, { running: 1, perKey: { running: 1 } });
      await world.addMany(3, KEY);
      await world.addMany(3, { ...KEY, queue: "other" });
      const started = await starts(world, 4, { queues: ["default", "other"] });
      expect(started.filter(({ queue }) => queue === "other")).toHaveLength(3);
    });

    keeps("leases from before there was a limit count", async (world) => {
      await world.addMany(6, KEY);
      const leases = await starts(world, 3, { limit: 3 });
      await setLimits(world, { perKey: { running: 2 } });
      await startsNothing(world);
      expect(await runningOf(world, ["k"])).toEqual([3, 3]);
      await world.complete(leases[0]!);
      await startsNothing(world);
      await world.complete(leases[1]!);
      await starts(world, 1);
      await startsNothing(world);
    });

    keeps("a lowered limit lets leases end until it fits, a raised one lets jobs start at once", async (world) => {
      const other = await world.elsewhere();
      await setLimits(world, { running: 4 });
      await world.addMany(20);
      const leases = await starts(world, 4);
      await setLimits(other, { running: 2 });
      for (const lease of leases.slice(0, 2)) {
        await world.complete(lease);
        await startsNothing(world);
      }
      await world.complete(leases[2]!);
      await starts(world, 1);
      await startsNothing(other);
      await setLimits(other, { running: 5 });
      await starts(world, 3);
      await setLimits(other, null);
      await starts(world, 20 - 4 - 1 - 3);
    });

    keeps("the same for a key: lowered, raised, and lifted", async (world) => {
      const other = await world.elsewhere();
      await setLimits(world, { perKey: { running: 3 } });
      await world.addMany(20, KEY);
      const leases = await starts(world, 3);
      await setKey(other, "k", { running: 1 });
      await world.complete(leases[0]!);
      await world.complete(leases[1]!);
      await startsNothing(world);
      await world.complete(leases[2]!);
      await starts(world, 1);
      await setKey(other, "k", null);
      await starts(world, 2);
      await setLimits(other, { perKey: { running: 5 } });
      await starts(world, 2);
      await setLimits(other, null);
      await starts(world, 20 - 3 - 1 - 2 - 2);
    });

    for (const [name, end] of Object.entries(ENDS)) {
      keeps(`a lease that is ${name} gives its places back`, async (world) => {
        await setLimits(world, { running: 1, perKey: { running: 1 } });
        const lease = await world.running({ ...KEY, maxRetries: 3, retryDelay: 60_000 });
        await world.add(KEY);
        await world.add({ limitKey: "other" });
        await startsNothing(world);
        await end(world, lease);
        expect(await runningOf(world, ["k"])).toEqual([0, 0]);
        await starts(world, 1);
        await startsNothing(world);
      });

      keeps(`a lease that is ${name} gives no place back twice`, async (world) => {
        await setLimits(world, { perKey: { running: 3 } });
        const lease = await world.running({ ...KEY, maxRetries: 3, retryDelay: 60_000 });
        await world.addMany(10, { ...KEY, priority: -1 });
        await starts(world, 2);
        await startsNothing(world);
        await end(world, lease);
        await lateReports(world, lease);
        expect(await runningOf(world, ["k"])).toEqual([2, 2]);
        // A held key starts nothing for a while.
        world.clock.advance(60_000);
        await starts(world, 1);
        await startsNothing(world);
      });
    }

    keeps("a lease that ran out holds its place until somebody reclaims it", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      const lease = await world.running({ ...KEY, retryDelay: 60_000 });
      await world.add(KEY);
      world.clock.advance(LEASE_MS + 1);
      await startsNothing(world);
      expect(await world.extend(lease)).toBe("ok");
      await startsNothing(world);
      world.clock.advance(LEASE_MS);
      expect(await world.lose(lease)).toBe("ok");
      await starts(world, 1);
      expect(await world.complete(lease)).toBe("stale");
      await startsNothing(world);
    });

    keeps("a job that waits for one limit takes nothing of another", async (world) => {
      await setLimits(world, { running: 2, perKey: { running: 1 } });
      await world.addMany(5, { ...KEY, priority: 10 });
      const [first] = await starts(world, 1);
      await world.addMany(2, { limitKey: "free" });
      const [second] = await starts(world, 1);
      expect(second!.limitKey).toBe("free");
      await startsNothing(world);
      await world.complete(first!);
      expect((await starts(world, 1))[0]!.limitKey).toBe("k");
    });

    keeps("10,000 jobs of a full key in front of one of a free key do not keep it waiting", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await world.addMany(10_000, KEY);
      await world.take();
      await startsNothing(world);
      const free = await world.add({ limitKey: "free" });
      expect((await world.take()).id).toBe(free.id);
      const plain = await world.add();
      expect((await world.take()).id).toBe(plain.id);
      await startsNothing(world);
    });

    keeps("ten claims at once on two connections do not start two jobs where one may run", async (world) => {
      const other = await world.elsewhere();
      await setLimits(world, { running: 4, perKey: { running: 1 } });
      await world.addMany(60, (index) => ({ limitKey: `k${index % 3}` }));
      for (let round = 0; round < 5; round++) {
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? world : other).claim({ workerId: `worker-${n}`, limit: 5 })),
        );
        const started = answers.flat();
        expect(Math.max(...Object.values(countByKey(started)))).toBe(1);
        if (engine.placesReturnLate === undefined) expect(started).toHaveLength(3);
        expect((await runningOf(world, []))[0]).toBe(started.length);
        for (const lease of started) expect(await world.complete(lease)).toBe("ok");
      }
    });

    keeps("a repeated claim returns its jobs and takes no second place", async (world) => {
      await setLimits(world, { running: 2, perKey: { running: 1 } });
      await world.addMany(3, KEY);
      const first = await starts(world, 1, { turn: 7 });
      expect(idsOf(await world.claim({ turn: 7, again: true }))).toEqual(idsOf(first));
      expect(await runningOf(world, ["k"])).toEqual([1, 1]);
      await world.complete(first[0]!);
      await starts(world, 1, { turn: 8 });
    });

    keeps("jobs that wait for their time do not hold their key: later ones overtake them", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      const failing = await world.running({ ...KEY, maxRetries: 3 });
      const next = await world.add(KEY);
      await world.add({ ...KEY, delay: 1_000 });
      await world.fail(failing, 1_000);
      const [lease] = await starts(world, 1);
      expect(lease!.id).toBe(next.id);
      world.clock.advance(1_000);
      await world.store.promote(10);
      await startsNothing(world);
      await world.complete(lease!);
      await starts(world, 1);
      await startsNothing(world);
    });

    keeps("blocked jobs neither hold a place nor stand in line", async (world) => {
      await setLimits(world, { running: 1, perKey: { running: 1, waiting: 1 } });
      const blocked = await world.block(KEY);
      await world.block(KEY);
      const job = await world.add(KEY);
      expect((await world.take()).id).toBe(job.id);
      expect(await runningOf(world, ["k"])).toEqual([1, 1]);
      await world.cancel(blocked.id);
      expect(await runningOf(world, ["k"])).toEqual([1, 1]);
      await startsNothing(world);
    });

    keeps("the same limits hold in a queue whose head start is not strict", async (world) => {
      await world.store.configure("default", { headStartMs: 1_000 });
      await setLimits(world, { running: 3, perKey: { running: 1 } });
      await world.addMany(4, { ...KEY, priority: 10 });
      await world.addMany(4, { limitKey: "other" });
      await world.addMany(4);
      const leases = await starts(world, 3);
      expect(countByKey(leases)).toEqual({ k: 1, other: 1, none: 1 });
      await startsNothing(world);
      await world.complete(leases.find(({ limitKey }) => limitKey === "k")!);
      expect(countByKey(await starts(world, 1))).toEqual({ k: 1 });
      await world.store.configure("default", { headStartMs: STRICT_HEAD_START_MS });
      await world.rerank();
      await startsNothing(world);
      await setLimits(world, null);
      await starts(world, 8);
    });

    keeps("a paused queue starts nothing, and counts what ends meanwhile", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await world.addMany(2, KEY);
      const lease = await world.take();
      await world.store.configure("default", { paused: true });
      await world.complete(lease);
      await startsNothing(world);
      await world.store.configure("default", { paused: false });
      await starts(world, 1);
    });

    keeps("keys are told apart byte by byte", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      const keys = ["k", "K", "k ", " k", "k\u0000", "k:1", "k:", "é", "e\u0301", "\u{1F600}", "{k}", "*", "null", "0", "k".repeat(255)];
      for (const limitKey of keys) await world.addMany(2, { limitKey });
      const leases = await starts(world, keys.length);
      expect(new Set(leases.map(({ limitKey }) => limitKey))).toEqual(new Set(keys));
      await startsNothing(world);
      expect(await runningOf(world, keys)).toEqual([keys.length, ...keys.map(() => 1)]);
    });

    if (engine.forgets === undefined) {
      keeps("after a restart a full key is full, and its place comes back as before", async (world) => {
        await setLimits(world, { running: 2, perKey: { running: 1 } });
        await setKey(world, "large", { running: 2 });
        await world.addMany(3, KEY);
        const lease = await world.take();
        await world.restart();
        await startsNothing(world);
        expect(await runningOf(world, ["k"])).toEqual([1, 1]);
        await world.complete(lease);
        await starts(world, 1);
        await startsNothing(world);
        await world.addMany(3, { limitKey: "large" });
        await starts(world, 1);
        await setLimits(world, { running: 9, perKey: { running: 1 } });
        expect(countByKey(await starts(world, 1))).toEqual({ large: 1 });
      });
    }
  });
}

/** What a worker that was cut off, or a repeat, reports of a lease that has ended: it gives back nothing. */
async function lateReports(world: World, lease: LeasedRecord): Promise<void> {
  const answers: LeaseAnswer[] = [];
  for (const settle of [() => world.complete(lease), () => world.release(lease), () => world.lose(lease)]) answers.push(await settle());
  expect(answers).toHaveLength(3);
}
