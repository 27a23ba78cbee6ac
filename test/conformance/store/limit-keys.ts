import { describe, expect } from "vitest";
import { readOneKeyLimits } from "../../../src/core/limits.ts";
import { type Hint, type KeyLimitsRecord, MAX_HOLDERS, type Store } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, settlementOf, type World } from "../world.ts";
import { COMPLETED, hold, idsOf, runningOf, setKey, setLimits, starts, startsNothing, startsSoon, useOf } from "./limit-steps.ts";

const KEY = { limitKey: "k" } as const;
const KEEP = { minutesMs: 1e12, hoursMs: 1e12 };

const ownOf = async (world: World, after?: string | null, limit = 100, queue = "default"): Promise<KeyLimitsRecord[]> =>
  world.store.keyLimits(queue, after, limit);

/** Resolves with the first hint that is wanted; the test's own time limit bounds the wait. */
function hintOf(store: Store, wanted: (hint: Hint) => boolean): Promise<Hint> {
  return new Promise((resolve) => {
    const stop = store.watch((hint) => {
      if (!wanted(hint)) return;
      stop();
      resolve(hint);
    });
  });
}

/** Sweeps until there is nothing to drop. */
async function sweepAll(world: World): Promise<void> {
  for (let calls = 0; (await world.store.sweep(KEEP, 1_000)).removed > 0; calls++) expect(calls).toBeLessThan(100);
}

/** The limits of keys: what is stored and shown of them. */
export function limitKeysSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("the limits of keys", () => {
    keeps("are told as they were stored, jobs without a key first, then in the order of UTF-8", async (world) => {
      expect(await ownOf(world)).toEqual([]);
      // In UTF-16 the last two would change places.
      const keys = ["B", "a", "a b", "b", "é", "\uFFFD", "\u{1F600}"];
      for (const key of [...keys].reverse()) await setKey(world, key, { running: 2, weight: 7 });
      await setKey(world, null, { weight: 3 });
      const limits = readOneKeyLimits({ running: 2, weight: 7 }, "a")!;
      const all = [{ key: null, limits: readOneKeyLimits({ weight: 3 }, null)! }, ...keys.map((key) => ({ key, limits }))];
      expect(await ownOf(world)).toEqual(all);
      expect(await ownOf(world, undefined, 3)).toEqual(all.slice(0, 3));
      expect(await ownOf(world, null, 2)).toEqual(all.slice(1, 3));
      expect(await ownOf(world, "a b", 2)).toEqual(all.slice(4, 6));
      expect(await ownOf(world, "a a", 2)).toEqual(all.slice(3, 5));
      expect(await ownOf(world, keys.at(-1))).toEqual([]);
      expect(await ownOf(world, undefined, 10, "other")).toEqual([]);
    });

    keeps("replace what was set before, and are removed by null", async (world) => {
      await setKey(world, "k", { running: 1, rate: "5/s" });
      await setKey(world, "k", { waiting: null });
      expect(await ownOf(world)).toEqual([{ key: "k", limits: readOneKeyLimits({ waiting: null }, "k") }]);
      await setKey(world, "k", null);
      await setKey(world, "never set", null);
      await setKey(world, null, { weight: 2 });
      await setKey(world, null, null);
      expect(await ownOf(world)).toEqual([]);
    });

    keeps("make the queue if it is new, and ring", async (world) => {
      const rings = hintOf(world.store, ({ topic }) => topic === "queues");
      await setKey(world, "k", { running: 1 }, "new");
      await rings;
      expect((await world.store.queues()).map(({ name }) => name)).toEqual(["new"]);
      expect(await world.store.limitUse("new", [])).toMatchObject({ running: 0, keys: [] });
    });

    keeps("are those of their queue, and seen by every connection at once", async (world) => {
      const other = await world.elsewhere();
      await setKey(world, "k", { running: 1 });
      await setKey(other, "k", { running: 2 }, "other");
      expect(await ownOf(other)).toEqual([{ key: "k", limits: readOneKeyLimits({ running: 1 }, "k") }]);
      expect((await useOf(other, ["k"])).keys[0]!.limits).toBe(readOneKeyLimits({ running: 1 }, "k"));
      await world.addMany(3, KEY);
      await starts(other, 1);
    });
  });

  describe("the use of limits", () => {
    keeps("is told of a queue and of each key, in the order asked for; of a queue that is not there, null", async (world) => {
      expect(await world.store.limitUse("default", ["k"])).toBeNull();
      await setKey(world, "k", { running: 3 });
      await world.addMany(4, KEY);
      await world.add({ ...KEY, delay: 1_000 });
      await world.add({ limitKey: "other" });
      await world.block({ limitKey: "other" });
      const leases = (await starts(world, 4)).filter(({ limitKey }) => limitKey === "k");
      const [failed] = [leases[0]!];
      await world.fail({ ...failed, maxRetries: 3 }, 1_000);
      const { now, running, keys } = await useOf(world, ["unused", "k", "other", "k"]);
      expect({ now, running }).toEqual({ now: world.clock.now(), running: 3 });
      const none = { running: 0, waiting: 0, heldUntil: null, rate: null, holders: [], limits: null };
      const k = { ...none, key: "k", running: 2, waiting: 3, limits: readOneKeyLimits({ running: 3 }, "k") };
      expect(keys.map(({ holders, ...use }) => ({ ...use, holders: [...holders].sort() }))).toEqual([
        { ...none, key: "unused" },
        { ...k, holders: idsOf(leases.slice(1)).sort() },
        { ...none, key: "other", running: 1, holders: [expect.any(String)] },
        { ...k, holders: idsOf(leases.slice(1)).sort() },
      ]);
    });

    keeps("counts leases of keys without limits, and names some of many holders", async (world) => {
      await world.addMany(MAX_HOLDERS + 5, KEY);
      const leases = await starts(world, MAX_HOLDERS + 5);
      const [use] = (await useOf(world, ["k"])).keys;
      expect(use!.running).toBe(MAX_HOLDERS + 5);
      expect(use!.holders).toHaveLength(MAX_HOLDERS);
      expect(new Set(use!.holders).size).toBe(MAX_HOLDERS);
      for (const id of use!.holders) expect(idsOf(leases)).toContain(id);
    });

    keeps("the busiest keys are those with the most leases, ties by key, then keys with waiting jobs", async (world) => {
      for (const [limitKey, count] of [
        ["b", 2],
        ["a", 2],
        ["most", 4],
        ["one", 1],
      ] as const)
        await world.addMany(count, { limitKey });
      await starts(world, 9);
      await world.addMany(2, { limitKey: "one" });
      await world.add({ limitKey: "waits" });
      await world.add({ limitKey: "later", delay: 60_000 });
      await world.ended("cancelled", { limitKey: "ended" });
      await setKey(world, "idle", { running: 1 });
      await setKey(world, "most", { running: 5 });
      const busiest = await world.store.busiestKeys("default", 10);
      expect(busiest.slice(0, 4).map(({ key, running, waiting }) => [key, running, waiting])).toEqual([
        ["most", 4, 0],
        ["a", 2, 0],
        ["b", 2, 0],
        ["one", 1, 2],
      ]);
      expect(busiest[0]).toMatchObject({ limits: readOneKeyLimits({ running: 5 }, "most") });
      expect(
        busiest
          .slice(4)
          .map(({ key }) => key)
          .sort(),
      ).toEqual(["later", "waits"]);
      expect((await world.store.busiestKeys("default", 2)).map(({ key }) => key)).toEqual(["most", "a"]);
      expect(await world.store.busiestKeys("nowhere", 2)).toEqual([]);
    });
  });

  describe("jobs with a limit key", () => {
    keeps("keep it and their cost in every answer", async (world) => {
      const job = await world.add({ ...KEY, cost: 7 });
      expect(await world.find(job.id)).toMatchObject({ limitKey: "k", cost: 7 });
      expect(await world.take()).toMatchObject({ limitKey: "k", cost: 7 });
      expect(await world.find((await world.add()).id)).toMatchObject({ limitKey: null, cost: 1 });
    });

    keeps("are found and counted by it, in any queue and status", async (world) => {
      const done = await world.ended("completed", KEY);
      const pending = await world.add({ ...KEY, type: "another" });
      const elsewhere = await world.add({ ...KEY, queue: "other" });
      const later = await world.add({ ...KEY, delay: 1_000 });
      await world.add({ limitKey: "K" });
      await world.add();
      const ids = async (filter: object): Promise<string[]> => idsOf((await world.store.list({ limit: 10, ...filter })).jobs);
      expect(await ids(KEY)).toEqual(idsOf([later, elsewhere, pending, done]));
      expect(await ids({ ...KEY, queue: "default" })).toEqual(idsOf([later, pending, done]));
      expect(await ids({ ...KEY, status: ["pending"] })).toEqual(idsOf([elsewhere, pending]));
      expect(await ids({ ...KEY, type: "another" })).toEqual([pending.id]);
      expect(await ids({ limitKey: "nobody's" })).toEqual([]);
      for (const sort of ["created", "state"] as const) {
        expect((await ids({ ...KEY, status: ["pending"], sort })).sort()).toEqual(idsOf([elsewhere, pending]).sort());
        expect(await ids({ ...KEY, status: ["completed"], sort })).toEqual([done.id]);
        expect(await ids({ ...KEY, status: ["scheduled"], sort })).toEqual([later.id]);
      }
      expect(await world.store.count(KEY)).toEqual({ count: 4, isCapped: false });
      expect(await world.store.count({ ...KEY, queue: "default", status: ["pending", "completed"] })).toEqual({
        count: 2,
        isCapped: false,
      });
      expect(await world.store.count({ limitKey: "K" })).toEqual({ count: 1, isCapped: false });
    });

    keeps("stand with the others in a list of what comes next", async (world) => {
      const jobs = await world.addMany(6, (index) => (index % 2 === 0 ? KEY : {}));
      const { jobs: listed } = await world.store.list({ limit: 10, status: ["pending"], sort: "state" });
      expect(idsOf(listed)).toEqual(idsOf(jobs));
    });

    keeps("are seen by `oldest`, whether they may start or not", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await world.running({ ...KEY, type: "a" });
      await world.add({ ...KEY, type: "a" });
      world.clock.advance(100);
      await world.add({ type: "a" });
      await world.add({ ...KEY, type: "b", priority: 5 });
      world.clock.advance(50);
      await startsNothing(world, { types: ["b"] });
      const { now, lanes } = await world.store.oldest();
      const waits = Object.fromEntries(lanes.map(({ type, runAt }) => [type, now - runAt]));
      expect(waits).toEqual({ a: 150, b: 50 });
    });

    keeps("a lease that ends rings for those that waited for it", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await world.addMany(2, KEY);
      const lease = await world.take();
      await startsNothing(world);
      const other = await world.elsewhere();
      const rings = [world, other].map(({ store }) => hintOf(store, (hint) => hint.topic === "work" && hint.queue === "default"));
      await world.complete(lease);
      await Promise.all(rings);
      await setLimits(world, { running: 1 });
      const second = await world.take();
      await world.add();
      await startsNothing(world);
      const ringsAgain = hintOf(other.store, (hint) => hint.topic === "work" && hint.queue === "default");
      await world.cancel(second.id);
      await ringsAgain;
    });
  });

  describe("what is remembered of limit keys", () => {
    keeps("is dropped when nothing of it matters any more, some at a time, and only then", async (world) => {
      await setLimits(world, { perKey: { running: 2, rate: "1/s" } });
      await setKey(world, "own", { running: 5 });
      const [held, busy] = [await world.running({ limitKey: "held" }), await world.running({ limitKey: "busy" })];
      await hold(world, held, 60_000);
      await world.cancel(held.id);
      await world.complete(await world.running({ limitKey: "gone" }));
      await world.complete(await world.running({ limitKey: "owes" }));
      await world.add({ limitKey: "waits", delay: 600_000 });
      await sweepAll(world);
      expect((await useOf(world, ["gone"])).keys[0]!.rate).not.toBeNull();
      world.clock.advance(30_000);
      await sweepAll(world);
      expect(await ownOf(world)).toHaveLength(1);
      const { keys } = await useOf(world, ["held", "busy", "gone", "owes", "waits"]);
      expect(keys.map(({ running }) => running)).toEqual([0, 1, 0, 0, 0]);
      expect(keys.map(({ waiting }) => waiting)).toEqual([0, 0, 0, 0, 1]);
      expect(keys[0]!.heldUntil).not.toBeNull();
      await world.complete(busy);
      world.clock.advance(30_000);
      await sweepAll(world);
      expect((await world.store.busiestKeys("default", 10)).map(({ key }) => key)).toEqual(["waits"]);
      // All of them work as before.
      for (const limitKey of ["held", "busy", "gone", "owes"]) await world.addMany(2, { limitKey });
      expect(await starts(world, 4)).toHaveLength(4);
      expect(await runningOf(world, ["held", "busy", "gone", "owes"])).toEqual([4, 1, 1, 1, 1]);
    });

    keeps("a sweep takes no more than it was told, and comes to an end", async (world) => {
      await world.addMany(50, (index) => ({ limitKey: `k${index}` }));
      for (const lease of await starts(world, 50)) await world.complete(lease);
      world.clock.advance(1);
      for (let calls = 0; ; calls++) {
        const { removed } = await world.store.sweep(KEEP, 10);
        if (removed === 0) break;
        expect(calls).toBeLessThan(50);
      }
      await world.addMany(5, (index) => ({ limitKey: `k${index}` }));
      await starts(world, 5);
    });

    keeps("the weight of jobs without a key stays", async (world) => {
      await setKey(world, null, { weight: 9 });
      await sweepAll(world);
      expect(await ownOf(world)).toEqual([{ key: null, limits: readOneKeyLimits({ weight: 9 }, null) }]);
    });
  });

  if (engine.hasTransactions === true) {
    describe("limits and a transaction of the caller's own", () => {
      keeps("a keyed job that is inserted in it stands in line when it is committed", async (world) => {
        await setLimits(world, { perKey: { running: 1 } });
        const { tx, commit } = await world.opened.begin!();
        const jobs = world.jobs(3, (index) => (index === 2 ? { limitKey: "other" } : KEY));
        await world.store.within(tx)!.insert(jobs);
        await commit();
        const started = await startsSoon(world, 2);
        expect(new Set(idsOf(started))).toEqual(new Set([jobs[0]!.id, jobs[2]!.id]));
        await startsNothing(world);
      });

      keeps("one that is rolled back leaves nothing, and the key goes on", async (world) => {
        await setLimits(world, { perKey: { running: 1, waiting: 2 } });
        const { tx, rollback } = await world.opened.begin!();
        await world.store.within(tx)!.insert(world.jobs(2, KEY));
        await rollback();
        await world.addMany(2, KEY);
        await starts(world, 1);
        await startsNothing(world);
        expect((await useOf(world, ["k"])).keys[0]!).toMatchObject({ running: 1, waiting: 1 });
      });

      keeps("how many of a key wait is checked against what is committed", async (world) => {
        await setLimits(world, { perKey: { waiting: 1 } });
        await world.add(KEY);
        const { tx, commit } = await world.opened.begin!();
        expect(await world.store.within(tx)!.insert([world.job(KEY)])).toEqual([{ kind: "full", capacity: 1, limitKey: "k" }]);
        await commit();
      });

      keeps("a job that is completed in it gives its place back when it is committed, and not if it is rolled back", async (world) => {
        await setLimits(world, { running: 1, perKey: { running: 1 } });
        await world.addMany(3, KEY);
        const lease = await world.take();
        const first = await world.opened.begin!();
        await world.store.within(first.tx)!.settle([settlementOf(lease, COMPLETED)]);
        await first.rollback();
        await startsNothing(world);
        const second = await world.opened.begin!();
        expect(await world.store.within(second.tx)!.settle([settlementOf(lease, COMPLETED)])).toEqual(["ok"]);
        await second.commit();
        await startsSoon(world, 1);
        await startsNothing(world);
        expect(await runningOf(world, ["k"])).toEqual([1, 1]);
      });

      keeps("what it says of holds and rates counts as anywhere", async (world) => {
        await setLimits(world, { perKey: { rate: "1/s" } });
        await world.addMany(2, KEY);
        await world.addMany(2, { limitKey: "held" });
        const leases = await starts(world, 2);
        const { tx, commit } = await world.opened.begin!();
        await world.store.within(tx)!.settle(
          leases.map((lease) => ({
            ...settlementOf(lease, COMPLETED),
            ...(lease.limitKey === "held" ? { holdMs: 60_000 } : { spend: 9 }),
          })),
        );
        await commit();
        await startsNothing(world);
        world.clock.advance(9_999);
        await startsNothing(world);
        world.clock.advance(1);
        expect((await startsSoon(world, 1))[0]!.limitKey).toBe("k");
        world.clock.advance(49_999);
        await startsNothing(world);
        world.clock.advance(1);
        await startsSoon(world, 1);
      });
    });
  }
}
