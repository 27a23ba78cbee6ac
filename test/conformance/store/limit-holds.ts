import { describe, expect } from "vitest";
import { MAX_COUNTED_OF_KEY } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";
import {
  claimAndAsk,
  COMPLETED,
  countByKey,
  hold,
  idsOf,
  setKey,
  setLimits,
  settleWith,
  starts,
  startsNothing,
  useOf,
} from "./limit-steps.ts";

const KEY = { limitKey: "k" } as const;

async function heldUntil(world: World, key = "k"): Promise<number | null> {
  return (await useOf(world, [key])).keys[0]!.heldUntil;
}

/** Keys that are held, and keys whose waiting jobs are limited. */
export function limitHoldsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a held key", () => {
    keeps("starts nothing until then, of no type and priority; others do", async (world) => {
      const lease = await world.running(KEY);
      await world.add({ ...KEY, priority: 100 });
      await world.add({ ...KEY, type: "another" });
      expect(await hold(world, lease, 30_000)).toBe("ok");
      expect(await heldUntil(world)).toBe(world.clock.now() + 30_000);
      await world.add({ limitKey: "other" });
      await world.add();
      const { jobs, againInMs } = await claimAndAsk(world);
      expect(countByKey(jobs)).toEqual({ other: 1, none: 1 });
      expect(againInMs).toBe(30_000);
      world.clock.advance(29_999);
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 1 });
      world.clock.advance(1);
      expect(await heldUntil(world)).toBeNull();
      await starts(world, 3);
    });

    keeps("a job that holds its key keeps its place: it is the first to start again", async (world) => {
      const jobs = await world.addMany(3, KEY);
      const lease = await world.take();
      await hold(world, lease, 1_000);
      expect(await world.find(lease.id)).toMatchObject({ status: "pending", attempt: 0, snoozes: 1, runAt: lease.runAt });
      world.clock.advance(1_000);
      expect(idsOf(await starts(world, 3))).toEqual(idsOf(jobs));
    });

    keeps("a hold is never shortened, but can be prolonged", async (world) => {
      await world.addMany(4, KEY);
      const leases = await starts(world, 3, { limit: 3 });
      const now = world.clock.now();
      await hold(world, leases[0]!, 30_000);
      await hold(world, leases[1]!, 10_000);
      expect(await heldUntil(world)).toBe(now + 30_000);
      world.clock.advance(10_000);
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 20_000 });
      await hold(world, leases[2]!, 30_000);
      expect(await heldUntil(world)).toBe(now + 40_000);
      world.clock.advance(20_000);
      await startsNothing(world);
      world.clock.advance(10_000);
      await starts(world, 4);
    });

    keeps("jobs of it that come in, or become due, wait as well", async (world) => {
      await hold(world, await world.running(KEY), 5_000);
      await world.add({ ...KEY, type: "new" });
      await world.add({ ...KEY, delay: 1_000 });
      await startsNothing(world);
      world.clock.advance(1_000);
      await world.store.promote(10);
      await startsNothing(world);
      world.clock.advance(4_000);
      await starts(world, 3);
    });

    keeps("any outcome can hold it", async (world) => {
      const lease = await world.running(KEY);
      await world.add(KEY);
      expect(await settleWith(world, lease, COMPLETED, { holdMs: 2_000 })).toBe("ok");
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 2_000 });
      world.clock.advance(2_000);
      await starts(world, 1);
    });

    keeps("a settlement that is not applied holds nothing, and a repeat holds no longer", async (world) => {
      const lease = await world.running(KEY);
      await world.add(KEY);
      expect(await settleWith(world, { ...lease, fence: lease.fence + 1 }, COMPLETED, { holdMs: 60_000 })).toBe("stale");
      expect(await heldUntil(world)).toBeNull();
      const now = world.clock.now();
      await settleWith(world, lease, COMPLETED, { holdMs: 2_000 });
      world.clock.advance(1_000);
      expect(await settleWith(world, lease, COMPLETED, { holdMs: 2_000 })).toBe("ok");
      expect(await heldUntil(world)).toBe(now + 2_000);
    });

    keeps("a job without a key ignores it", async (world) => {
      await world.addMany(2);
      const lease = await world.take();
      await settleWith(world, lease, COMPLETED, { holdMs: 60_000 });
      expect((await claimAndAsk(world)).jobs).toHaveLength(1);
    });

    keeps("each queue holds its own", async (world) => {
      await hold(world, await world.running(KEY), 60_000);
      await world.add({ ...KEY, queue: "other" });
      await starts(world, 1, { queues: ["default", "other"] });
    });

    keeps("waits for its running limit as well, once it is held no longer", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await world.addMany(3, KEY);
      const first = await world.take();
      await settleWith(world, first, COMPLETED, { holdMs: 1_000 });
      await startsNothing(world);
      world.clock.advance(1_000);
      await starts(world, 1);
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: null });
    });

    keeps("is held in a queue whose head start is not strict, too", async (world) => {
      await world.store.configure("default", { headStartMs: 0 });
      await hold(world, await world.running(KEY), 1_000);
      await world.add({ limitKey: "other" });
      await world.add();
      expect(countByKey((await claimAndAsk(world)).jobs)).toEqual({ other: 1, none: 1 });
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 1_000 });
      world.clock.advance(1_000);
      await starts(world, 1);
    });

    if (engine.forgets === undefined) {
      keeps("is held after a restart", async (world) => {
        await hold(world, await world.running(KEY), 1_000);
        await world.restart();
        expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 1_000 });
        world.clock.advance(1_000);
        await starts(world, 1);
      });
    }
  });

  describe("how many jobs of a key may wait", () => {
    keeps("pending, scheduled and retrying ones count, of all types; one more is refused and names the key", async (world) => {
      await setLimits(world, { perKey: { waiting: 3 } });
      const failing = await world.running({ ...KEY, maxRetries: 3 });
      await world.add(KEY);
      await world.add({ ...KEY, type: "another", delay: 60_000 });
      await world.fail(failing, 60_000);
      expect(await world.insert(world.job(KEY))).toEqual({ kind: "full", capacity: 3, limitKey: "k" });
      expect(await world.insert(world.job({ ...KEY, delay: 1_000 }))).toEqual({ kind: "full", capacity: 3, limitKey: "k" });
      await world.add({ limitKey: "other" });
      await world.add();
      await world.block(KEY);
      expect((await useOf(world, ["k"])).keys[0]!.waiting).toBe(3);
    });

    keeps("one that starts, is cancelled or removed makes room", async (world) => {
      await setLimits(world, { perKey: { waiting: 1 } });
      const first = await world.add(KEY);
      expect(await world.insert(world.job(KEY))).toMatchObject({ kind: "full" });
      await world.take();
      const second = await world.add(KEY);
      expect(await world.insert(world.job(KEY))).toMatchObject({ kind: "full" });
      await world.cancel(second.id);
      await world.add(KEY);
      expect(await world.insert(world.job(KEY))).toMatchObject({ kind: "full" });
      expect(await world.status(first.id)).toBe("running");
    });

    keeps("what a list has room for is taken, in its order", async (world) => {
      await setLimits(world, { perKey: { waiting: 2 } });
      const jobs = world.jobs(6, (index) => (index === 3 ? {} : KEY));
      const answers = await world.store.insert(jobs);
      expect(answers.map(({ kind }) => kind)).toEqual(["created", "created", "full", "created", "full", "full"]);
    });

    keeps("a key can have its own, or none", async (world) => {
      await setLimits(world, { perKey: { waiting: 1 } });
      await setKey(world, "large", { waiting: 2 });
      await setKey(world, "free", { waiting: null });
      const answer = async (limitKey: string): Promise<string[]> =>
        (await world.store.insert(world.jobs(3, { limitKey }))).map(({ kind }) => kind);
      expect(await answer("k")).toEqual(["created", "full", "full"]);
      expect(await answer("large")).toEqual(["created", "created", "full"]);
      expect(await answer("free")).toEqual(["created", "created", "created"]);
      await setKey(world, "only here", { waiting: 1 }, "without limits");
      const there = world.jobs(2, { limitKey: "only here", queue: "without limits" });
      expect((await world.store.insert(there)).map(({ kind }) => kind)).toEqual(["created", "full"]);
    });

    keeps("a refused job leaves nothing behind, and what is known is answered first", async (world) => {
      await setLimits(world, { perKey: { waiting: 1 } });
      const job = world.job({ ...KEY, idempotencyKey: "once", payload: 1 });
      expect(await world.insert(job)).toMatchObject({ kind: "created" });
      expect(await world.insert(job)).toMatchObject({ kind: "created" });
      expect(await world.insert(world.job({ ...KEY, idempotencyKey: "once", payload: 1 }))).toMatchObject({
        kind: "known",
        job: { id: job.id },
      });
      expect(await world.insert(world.job({ ...KEY, idempotencyKey: "once", payload: 2 }))).toMatchObject({ kind: "conflict", id: job.id });
      const refused = world.job({ ...KEY, idempotencyKey: "new", payload: 1 });
      expect(await world.insert(refused)).toMatchObject({ kind: "full" });
      expect(await world.status(refused.id)).toBeNull();
      await world.add({ idempotencyKey: "new", payload: 2 });
    });

    keeps("retries, releases, retries by hand and jobs that are unblocked always fit", async (world) => {
      await setLimits(world, { perKey: { waiting: 1 } });
      const released = await world.running({ ...KEY, maxRetries: 3 });
      const dead = await world.running(KEY);
      await world.add(KEY);
      expect(await world.release(released)).toBe("ok");
      await world.discard(dead);
      expect(await world.retry(dead.id)).toMatchObject({ kind: "ok" });
      expect((await useOf(world, ["k"])).keys[0]!.waiting).toBe(3);
      expect(await world.insert(world.job(KEY))).toMatchObject({ kind: "full" });
      await starts(world, 3);
      await world.add(KEY);
    });

    keeps("a limit that is lowered refuses, and one that is raised accepts at once", async (world) => {
      await setLimits(world, { perKey: { waiting: 5 } });
      await world.addMany(3, KEY);
      await setLimits(world, { perKey: { waiting: 2 } });
      expect(await world.insert(world.job(KEY))).toEqual({ kind: "full", capacity: 2, limitKey: "k" });
      await setLimits(world, { perKey: { waiting: 4 } });
      await world.add(KEY);
      expect(await world.insert(world.job(KEY))).toMatchObject({ kind: "full" });
    });

    keeps("is exact also beyond what is counted of a key for people", async (world) => {
      await setLimits(world, { perKey: { waiting: MAX_COUNTED_OF_KEY + 10 } });
      await world.addMany(MAX_COUNTED_OF_KEY + 9, KEY);
      const answers = await world.store.insert(world.jobs(3, KEY));
      expect(answers.map(({ kind }) => kind)).toEqual(["created", "full", "full"]);
      expect((await useOf(world, ["k"])).keys[0]!.waiting).toBeGreaterThanOrEqual(MAX_COUNTED_OF_KEY);
    });
  });
}
