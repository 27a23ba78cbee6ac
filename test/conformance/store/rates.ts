import { describe, expect } from "vitest";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";
import {
  claimAndAsk,
  COMPLETED,
  countByKey,
  idsOf,
  runningOf,
  setKey,
  setLimits,
  settleWith,
  starts,
  startsNothing,
  useOf,
} from "./limit-steps.ts";

const KEY = { limitKey: "k" } as const;

/**
 * The next job may start in exactly so long, and not before. With two limits, the time that a claim tells may be that of one of them; asking
 * again at that time tells the rest.
 */
async function nextStartsIn(world: World, ms: number): Promise<string> {
  let left = ms;
  for (let asked = 0; left > 0; asked++) {
    const { jobs, againInMs } = await claimAndAsk(world);
    expect(jobs, `${left} ms too early`).toEqual([]);
    expect(againInMs, "the time until the next start").toBeGreaterThan(0);
    expect(againInMs, "the time until the next start").toBeLessThanOrEqual(left);
    expect(asked, "claims until the next start").toBeLessThan(4);
    world.clock.advance(againInMs! - 1);
    await startsNothing(world);
    world.clock.advance(1);
    left -= againInMs!;
  }
  const { jobs } = await claimAndAsk(world, { limit: 1 });
  expect(idsOf(jobs), "the next job").toHaveLength(1);
  return jobs[0]!.id;
}

export function ratesSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("rates", () => {
    keeps("starts of a queue are spread evenly, over all keys and types", async (world) => {
      await setLimits(world, { rate: "10/s" });
      await world.addMany(9, (index) => ({ type: `t${index % 2}`, ...(index % 3 === 0 ? {} : { limitKey: `k${index % 3}` }) }));
      const { jobs, againInMs } = await claimAndAsk(world);
      expect(jobs).toHaveLength(1);
      expect(againInMs).toBe(100);
      for (let count = 1; count < 9; count++) await nextStartsIn(world, 100);
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: null });
    });

    keeps("each key has its own, and jobs without a key have none", async (world) => {
      await setLimits(world, { perKey: { rate: "2/s" } });
      await world.addMany(20, (index) => (index % 2 === 0 ? {} : { limitKey: `k${index % 4}` }));
      const { jobs, againInMs } = await claimAndAsk(world);
      expect(countByKey(jobs)).toEqual({ none: 10, k1: 1, k3: 1 });
      expect(againInMs).toBe(500);
      world.clock.advance(499);
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 1 });
      world.clock.advance(1);
      expect(countByKey(await starts(world, 2))).toEqual({ k1: 1, k3: 1 });
    });

    keeps("a key can have a rate of its own, or none", async (world) => {
      await setLimits(world, { perKey: { rate: "1/s" } });
      await setKey(world, "quick", { rate: "10/s", burst: 2 });
      await setKey(world, "free", { rate: null });
      for (const limitKey of ["quick", "free", "k"]) await world.addMany(5, { limitKey });
      const { jobs, againInMs } = await claimAndAsk(world);
      expect(countByKey(jobs)).toEqual({ quick: 2, free: 5, k: 1 });
      expect(againInMs).toBe(100);
    });

    keeps("a burst may start at once after a rest, and comes back with time", async (world) => {
      await setLimits(world, { rate: "10/s", burst: 5 });
      await world.addMany(30);
      await starts(world, 5);
      await nextStartsIn(world, 100);
      world.clock.advance(250);
      await starts(world, 2);
      await nextStartsIn(world, 50);
      world.clock.advance(60_000);
      await starts(world, 5);
      await startsNothing(world);
    });

    keeps("a start needs min(cost, burst) units and takes its whole cost", async (world) => {
      await setLimits(world, { rate: "10/s", burst: 4 });
      await world.add({ cost: 3 });
      await world.add({ cost: 2 });
      await world.add({ cost: 10 });
      await world.add();
      await starts(world, 1);
      // 1 of 4 is left: 2 are there after 100 ms.
      await nextStartsIn(world, 100);
      // None is left: the burst is there after 400 ms, and 6 more are owed then.
      await nextStartsIn(world, 400);
      await nextStartsIn(world, 700);
    });

    keeps("the same for the rate of a key", async (world) => {
      await setLimits(world, { perKey: { rate: "10/s", burst: 4 } });
      for (const cost of [3, 2, 10, 1]) await world.add({ ...KEY, cost });
      await starts(world, 1);
      await nextStartsIn(world, 100);
      await nextStartsIn(world, 400);
      await nextStartsIn(world, 700);
    });

    keeps("cheap jobs of a key do not overtake a dear one that waits for its units", async (world) => {
      await setLimits(world, { perKey: { rate: "1/s", burst: 3 } });
      await world.addMany(2, KEY);
      await starts(world, 2);
      const dear = await world.add({ ...KEY, cost: 3 });
      await world.add(KEY);
      expect(await nextStartsIn(world, 2_000)).toBe(dear.id);
      await nextStartsIn(world, 1_000);
    });

    keeps("when the dear job that a key waits for is cancelled, the next starts as soon as it may", async (world) => {
      await setLimits(world, { perKey: { rate: "1/s", burst: 5 } });
      await world.addMany(3, KEY);
      await starts(world, 3);
      const dear = await world.add({ ...KEY, cost: 5 });
      const cheap = await world.add(KEY);
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 3_000 });
      await world.cancel(dear.id);
      expect(idsOf(await starts(world, 1))).toEqual([cheap.id]);
    });

    keeps("when a cheap job comes before the dear one that a key waits for, it starts as soon as it may", async (world) => {
      await setLimits(world, { perKey: { rate: "1/s", burst: 5 } });
      await world.addMany(3, KEY);
      await starts(world, 3);
      const cheap = await world.add({ ...KEY, delay: 100 });
      world.clock.advance(200);
      await world.add({ ...KEY, cost: 5 });
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 2_800 });
      await world.store.promote(10);
      expect(idsOf(await starts(world, 1))).toEqual([cheap.id]);
    });

    keeps("what a run used beyond its cost is a debt, of the queue and of the key", async (world) => {
      await setLimits(world, { rate: "100/s", perKey: { rate: "10/s" } });
      await world.addMany(4, KEY);
      const lease = await world.take();
      world.clock.advance(100);
      expect(await settleWith(world, lease, COMPLETED, { spend: 20 })).toBe("ok");
      await nextStartsIn(world, 2_000);
      await setLimits(world, { rate: "100/s" });
      world.clock.advance(10);
      const plain = await world.take();
      await settleWith(world, plain, COMPLETED, { spend: 99 });
      await nextStartsIn(world, 1_000);
    });

    keeps("a settlement that is not applied, or repeated, spends nothing", async (world) => {
      await setLimits(world, { rate: "10/s" });
      await world.addMany(3);
      const lease = await world.take();
      expect(await settleWith(world, { ...lease, fence: 99 }, COMPLETED, { spend: 50 })).toBe("stale");
      await settleWith(world, lease, COMPLETED, { spend: 4 });
      expect(await settleWith(world, lease, COMPLETED, { spend: 4 })).toBe("ok");
      await nextStartsIn(world, 500);
    });

    keeps("a debt stays the same number of units when the rate changes", async (world) => {
      await setLimits(world, { rate: "1/s" });
      await world.addMany(3);
      await settleWith(world, await world.take(), COMPLETED, { spend: 9 });
      world.clock.advance(2_000);
      await setLimits(world, { rate: "10/s" });
      // 8 of 10 units are left.
      await nextStartsIn(world, 800);
      await setLimits(world, { rate: "1/10s" });
      await nextStartsIn(world, 10_000);
    });

    keeps("the same for a key, whether its own rate changes or that of every key", async (world) => {
      await setLimits(world, { perKey: { rate: "1/s" } });
      await world.addMany(4, KEY);
      await settleWith(world, await world.take(), COMPLETED, { spend: 9 });
      await startsNothing(world);
      await setLimits(world, { perKey: { rate: "10/s" } });
      await nextStartsIn(world, 1_000);
      await startsNothing(world);
      await setKey(world, "k", { rate: "100/s" });
      await nextStartsIn(world, 10);
      await setKey(world, "k", { rate: null });
      await starts(world, 1);
    });

    keeps("a raised, lifted or new rate takes effect with the next claim", async (world) => {
      const other = await world.elsewhere();
      await world.addMany(20);
      await starts(world, 3, { limit: 3 });
      await setLimits(other, { rate: "1/h" });
      await starts(world, 1);
      await startsNothing(world);
      await setLimits(other, { rate: "1/h", burst: 3 });
      await starts(world, 2);
      await setLimits(other, null);
      await starts(world, 14);
    });

    for (const [name, rates] of [
      ["queue", { rate: "1/m" }],
      ["key", { perKey: { rate: "1/m" } }],
      ["queue and the key", { rate: "1/m", perKey: { rate: "1/m" } }],
    ] as const) {
      keeps(`a claim whose handler never started gives its units back to the ${name}`, async (world) => {
        await setLimits(world, rates);
        const first = await world.add({ ...KEY, cost: 3 });
        await world.add(KEY);
        const lease = await world.take();
        await startsNothing(world);
        expect(await settleWith(world, lease, { kind: "release" }, { unstarted: true })).toBe("ok");
        // It is not given back twice.
        await settleWith(world, lease, { kind: "release" }, { unstarted: true });
        expect(idsOf(await starts(world, 1))).toEqual([first.id]);
        await nextStartsIn(world, 180_000);
      });

      keeps(`a run that was released, snoozed or failed is not given back to the ${name}`, async (world) => {
        await setLimits(world, rates);
        const lease = await world.running({ ...KEY, maxRetries: 3 });
        await world.addMany(2, KEY);
        await world.release(lease);
        await startsNothing(world);
        world.clock.advance(60_000);
        const again = await world.take();
        await world.snooze(again, 1_000);
        await startsNothing(world);
        world.clock.advance(60_000);
        await world.fail(await world.take(), 1_000);
        await startsNothing(world);
        world.clock.advance(59_999);
        await startsNothing(world);
        world.clock.advance(1);
        await starts(world, 1);
      });

      keeps(`a repeated claim takes nothing of the rate of the ${name}`, async (world) => {
        await setLimits(world, rates);
        await world.addMany(3, KEY);
        const first = await starts(world, 1, { turn: 3 });
        for (let repeat = 0; repeat < 3; repeat++) expect(idsOf(await world.claim({ turn: 3, again: true }))).toEqual(idsOf(first));
        await nextStartsIn(world, 60_000);
      });
    }

    keeps("units that are given back late are no more than there were", async (world) => {
      await setLimits(world, { rate: "1/s", burst: 2 });
      await world.addMany(10);
      const leases = await starts(world, 2);
      world.clock.advance(60_000);
      for (const lease of leases) await settleWith(world, lease, { kind: "release" }, { unstarted: true });
      await starts(world, 2);
      await startsNothing(world);
    });

    keeps("a job that waits for a rate holds no running place", async (world) => {
      await setLimits(world, { running: 1, perKey: { running: 1, rate: "1/m" } });
      await world.addMany(3, { ...KEY, priority: 10 });
      await world.complete(await world.take());
      await startsNothing(world);
      expect(await runningOf(world, ["k"])).toEqual([0, 0]);
      const free = await world.running({ limitKey: "free" });
      await world.complete(free);
      world.clock.advance(60_000);
      const [lease] = await starts(world, 1);
      expect(lease!.limitKey).toBe("k");
    });

    keeps("a job that waits for a running limit takes no units", async (world) => {
      await setLimits(world, { running: 1, rate: "1/s", perKey: { rate: "1/s" } });
      await world.addMany(2, KEY);
      const lease = await world.take();
      world.clock.advance(10_000);
      for (let claims = 0; claims < 5; claims++) expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: null });
      await world.complete(lease);
      await starts(world, 1);
    });

    keeps("a key that waits for its rate takes no units of the queue", async (world) => {
      await setLimits(world, { rate: "10/s", perKey: { rate: "1/m" } });
      await world.addMany(3, { ...KEY, priority: 10 });
      await world.take();
      world.clock.advance(100);
      for (let claims = 0; claims < 5; claims++) await startsNothing(world);
      await world.addMany(2, { limitKey: "free" });
      await starts(world, 1);
    });

    keeps("two limits together add no delay", async (world) => {
      await setLimits(world, { running: 5, rate: "10/s", perKey: { rate: "10/s", running: 5 } });
      await world.addMany(6, KEY);
      const from = world.clock.now();
      await world.complete(await world.take());
      for (let count = 1; count < 6; count++) await nextStartsIn(world, 100);
      expect(world.clock.now() - from).toBe(500);
    });

    keeps("two rates of different times: the later one decides, exactly", async (world) => {
      await setLimits(world, { rate: "1/s", perKey: { rate: "2/3s" } });
      await world.addMany(4, KEY);
      await starts(world, 1);
      await nextStartsIn(world, 1_500);
      await nextStartsIn(world, 1_500);
      await setLimits(world, { rate: "1/3s", perKey: { rate: "1/s" } });
      await nextStartsIn(world, 3_000);
    });

    keeps("jobs that wait for their time, and other queues, change no rate", async (world) => {
      await setLimits(world, { rate: "10/s" });
      await world.addMany(5);
      await world.addMany(5, { delay: 50 });
      await world.addMany(5, { queue: "other" });
      await starts(world, 1);
      await starts(world, 5, { queues: ["other"] });
      await nextStartsIn(world, 100);
      await world.store.promote(10);
      await nextStartsIn(world, 100);
    });

    keeps("the highest priority starts when its time has come, not who came first", async (world) => {
      await setLimits(world, { rate: "1/s" });
      await world.addMany(3);
      await world.take();
      await startsNothing(world);
      const urgent = await world.add({ priority: 10 });
      const keyed = await world.add({ limitKey: "k", priority: 9 });
      expect(await nextStartsIn(world, 1_000)).toBe(urgent.id);
      expect(await nextStartsIn(world, 1_000)).toBe(keyed.id);
    });

    keeps("a claim of several queues tells the earliest time of any of them", async (world) => {
      for (const [queue, rate] of [
        ["slow", "1/m"],
        ["quick", "1/s"],
      ] as const) {
        await setLimits(world, { rate }, queue);
        await world.addMany(3, { queue });
      }
      await world.add({ queue: "free" });
      const queues = ["slow", "free", "quick"];
      const { jobs } = await claimAndAsk(world, { queues });
      expect(jobs).toHaveLength(3);
      expect(await claimAndAsk(world, { queues })).toEqual({ jobs: [], againInMs: 1_000 });
      expect(await claimAndAsk(world, { queues: ["slow"] })).toEqual({ jobs: [], againInMs: 60_000 });
      expect(await claimAndAsk(world, { queues: ["free"] })).toEqual({ jobs: [], againInMs: null });
    });

    keeps("each claim of a call is told its own time, and nothing if none waits for time", async (world) => {
      await setLimits(world, { rate: "1/s" }, "slow");
      await world.addMany(2, { queue: "slow" });
      const claim = { workerId: "worker-1", types: "*", limit: 5, leaseMs: 1_000, turn: 0, again: false, local: false } as const;
      const { claimed, againInMs } = await world.store.exchange(
        [],
        [
          { ...claim, queues: ["slow"] },
          { ...claim, queues: ["default"] },
          { ...claim, queues: ["default", "slow"] },
        ],
      );
      expect(claimed.map(({ length }) => length)).toEqual([1, 0, 0]);
      expect(againInMs).toEqual([1_000, null, 1_000]);
    });

    keeps("the rate in a queue whose head start is not strict", async (world) => {
      await world.store.configure("default", { headStartMs: 1_000 });
      await setLimits(world, { perKey: { rate: "1/s" } });
      await world.addMany(2, KEY);
      await world.addMany(2);
      const { jobs, againInMs } = await claimAndAsk(world);
      expect(countByKey(jobs)).toEqual({ none: 2, k: 1 });
      expect(againInMs).toBe(1_000);
      await nextStartsIn(world, 1_000);
    });

    keeps("what a rate remembers can be read", async (world) => {
      await setLimits(world, { rate: "10/s", perKey: { rate: "2/s" } });
      const now = world.clock.now();
      await world.running(KEY);
      const use = await useOf(world, ["k", "unused"]);
      expect(use).toMatchObject({ now, rate: { busyUntil: now + 100, intervalMs: 100 } });
      expect(use.keys.map(({ rate }) => rate)).toEqual([{ busyUntil: now + 500, intervalMs: 500 }, null]);
    });

    keeps("rates far apart: the slowest and the fastest that can be given", async (world) => {
      await setLimits(world, { rate: "1/31d", perKey: { rate: "1000000000/ms", burst: 1_000_000_000 } });
      await world.addMany(2, { ...KEY, cost: 1_000_000 });
      await starts(world, 1);
      expect((await claimAndAsk(world)).againInMs).toBe(1_000_000 * 31 * 86_400_000);
      await setLimits(world, { perKey: { rate: "1000000000/ms", burst: 1_000_000_000 } });
      await starts(world, 1);
    });

    if (engine.forgets === undefined) {
      keeps("rates and debts outlive a restart, and hold no place meanwhile", async (world) => {
        await setLimits(world, { running: 1, rate: "10/s", perKey: { rate: "1/s" } });
        await world.addMany(2, KEY);
        await settleWith(world, await world.take(), COMPLETED, { spend: 4 });
        await world.restart();
        await startsNothing(world);
        world.clock.advance(4_000);
        await world.restart();
        await world.running({ limitKey: "free", priority: 10 });
        world.clock.advance(999);
        await startsNothing(world);
        await setLimits(world, { running: 2, rate: "10/s", perKey: { rate: "1/s" } });
        await nextStartsIn(world, 1);
      });
    }
  });
}
