import { describe, expect } from "vitest";
import { recordOf } from "../../../src/core/job.ts";
import { MAX_BATCH } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn } from "../world.ts";

const DAY_MS = 86_400_000;

export function insertSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("insert", () => {
    keeps("a job that is due now is pending, with every field as it was given", async (world) => {
      const now = world.clock.now();
      const job = world.job({
        type: "mail:send",
        payload: { to: ["a@example.org"], n: 1.5, none: null },
        queue: "mail",
        priority: -7,
        maxRetries: 9,
        maxLost: 7,
        retryDelay: "7s",
        backoff: "slowly",
        timeout: 0,
        idempotencyKey: "order-1",
        keyTtl: "3h",
        tags: ["b", "a"],
        meta: { traceparent: "00-1-2-01" },
        webhookUrl: "https://example.org/hook?a=1",
      });

      expect(await world.insert(job)).toEqual({ kind: "created", status: "pending", createdAt: now, runAt: now });
      expect(await world.find(job.id)).toEqual(recordOf(job, "pending", now, now));
    });

    keeps("how often a job may be lost is its own: as it was told, or 3, or 0 where it has no retries", async (world) => {
      const jobs = [{}, { maxRetries: 0 }, { maxRetries: 0, maxLost: 2 }, { maxLost: 0 }, { maxLost: 100 }].map((wish) => world.job(wish));
      await world.store.insert(jobs);
      const found = await world.store.find(jobs.map(({ id }) => id));
      expect(found.map((job) => [job?.maxRetries, job?.maxLost, job?.lostCount])).toEqual([
        [3, 3, 0],
        [0, 0, 0],
        [0, 2, 0],
        [3, 0, 0],
        [3, 100, 0],
      ]);
      expect((await world.claim()).map(({ maxLost }) => maxLost)).toEqual([3, 0, 2, 0, 100]);
      const listed = (await world.store.list({ limit: 10 })).jobs.map(({ maxLost }) => maxLost);
      expect(listed.sort((a, b) => a - b)).toEqual([0, 0, 2, 3, 100]);
    });

    keeps("the backoff of a job is its own, with and without other rare fields", async (world) => {
      const wishes = [{}, { backoff: "fixed" }, { backoff: "slowly", tags: ["x"], meta: { a: 1 } }];
      const jobs = wishes.map((wish) => world.job(wish));
      // Each alone: an engine may leave out what no job of a call has.
      for (const job of jobs) await world.insert(job);
      const backoffs = ["exponential", "fixed", "slowly"];
      expect((await world.store.list({ limit: 10 })).jobs.map(({ backoff }) => backoff).reverse()).toEqual(backoffs);
      const leases = await world.claim();
      expect(leases.map(({ backoff }) => backoff)).toEqual(backoffs);
      await world.settle(leases[1]!, { kind: "discard", error: BOOM, runMs: 1 });
      expect((await world.find(jobs[1]!.id)).backoff).toBe("fixed");
    });

    keeps("a job with a delay is scheduled for that long after the store's now", async (world) => {
      const job = world.job({ delay: 1_500 });
      const now = world.clock.now();
      expect(await world.insert(job)).toEqual({ kind: "created", status: "scheduled", createdAt: now, runAt: now + 1_500 });
      expect(await world.find(job.id)).toMatchObject({ status: "scheduled", runAt: now + 1_500, createdAt: now });
      expect(await world.claim()).toEqual([]);
    });

    keeps("a job with a time to come is scheduled for it, to the millisecond", async (world) => {
      const runAt = world.clock.now() + 12_345;
      const job = world.job({ runAt });
      expect(await world.insert(job)).toMatchObject({ status: "scheduled", runAt });
    });

    keeps("a time that has passed is now, and so is this very moment", async (world) => {
      const now = world.clock.now();
      for (const runAt of [now - DAY_MS, now]) {
        const job = world.job({ runAt });
        expect(await world.insert(job)).toEqual({ kind: "created", status: "pending", createdAt: now, runAt: now });
      }
    });

    keeps("T01: a delay longer than any timer neither runs early nor is cut", async (world) => {
      const now = world.clock.now();
      for (const delay of [2 ** 31 + 5_000, 2 ** 32 + 1_000, 400 * DAY_MS, 10 * 365.25 * DAY_MS]) {
        const job = await world.add({ delay });
        expect((await world.find(job.id)).runAt).toBe(now + delay);
      }
      world.clock.advance(2 ** 31);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 5_000 });
      expect(await world.claim()).toEqual([]);
    });

    keeps("the sequence follows the order of the list, also within one millisecond (S35)", async (world) => {
      const jobs = await world.addMany(300);
      expect((await world.claim()).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    });

    keeps("the sequence is the store's: ids that say another order change nothing (S35)", async (world) => {
      const jobs = world.jobs(20).reverse();
      await world.store.insert(jobs);
      expect((await world.claim()).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
    });

    keeps("a list of the greatest length is taken, an empty one too", async (world) => {
      expect(await world.store.insert([])).toEqual([]);
      await world.addMany(MAX_BATCH);
      expect(await world.counts()).toEqual({ pending: MAX_BATCH });
    });

    keeps("one list may go to many queues", async (world) => {
      const jobs = await world.addMany(30, (index) => ({ queue: `q${index % 7}` }));
      expect((await world.store.find(jobs.map(({ id }) => id))).map((job) => job?.queue)).toEqual(jobs.map(({ queue }) => queue));
      expect(await world.counts("q0")).toEqual({ pending: 5 });
      expect(await world.counts("q6")).toEqual({ pending: 4 });
    });

    keeps("each answer is its own item's, in order, whatever became of the neighbours", async (world) => {
      const known = await world.add({ idempotencyKey: "k", payload: 1 });
      await world.store.configure("small", { capacity: 0 });
      const answers = await world.store.insert([
        world.job(),
        world.job({ idempotencyKey: "k", payload: 1 }),
        world.job({ idempotencyKey: "k", payload: 2 }),
        world.job({ queue: "small" }),
        known,
        world.job({ delay: 10 }),
      ]);
      expect(answers.map(({ kind }) => kind)).toEqual(["created", "known", "conflict", "full", "created", "created"]);
      expect(await world.counts()).toEqual({ pending: 2, scheduled: 1 });
    });
  });

  describe("insert again", () => {
    keeps("a known id is the same job sent again: answered as the first time, and nothing changes (S39)", async (world) => {
      const job = world.job({ payload: "first" });
      const first = await world.insert(job);
      world.clock.advance(1_000);
      expect(await world.insert({ ...job, payload: '"second"' })).toEqual(first);
      expect(await world.store.insert([job, job])).toEqual([first, first]);
      expect((await world.find(job.id)).payload).toBe('"first"');
      expect(await world.counts()).toEqual({ pending: 1 });
      expect(await world.total("enqueued")).toBe(1);
    });

    keeps("one id twice in one list is one job", async (world) => {
      const job = world.job();
      const answers = await world.store.insert([job, job]);
      expect(answers.map(({ kind }) => kind)).toEqual(["created", "created"]);
      expect(await world.counts()).toEqual({ pending: 1 });
    });

    keeps("a known id leaves a running and an ended job alone", async (world) => {
      const lease = await world.running();
      const before = await world.find(lease.id);
      expect(await world.insert({ ...world.job(), id: lease.id })).toMatchObject({ kind: "created", createdAt: before.createdAt });
      expect(await world.find(lease.id)).toEqual(before);
      await world.complete(lease);
      expect(await world.insert({ ...world.job(), id: lease.id })).toMatchObject({ kind: "created" });
      expect(await world.status(lease.id)).toBe("completed");
    });

    keeps("the id is looked at before the key: it is the same job although another has its key now", async (world) => {
      const first = await world.add({ idempotencyKey: "k", keyTtl: 0 });
      await world.complete(await world.take());
      const second = await world.add({ idempotencyKey: "k", keyTtl: 0 });
      expect(await world.insert(first)).toMatchObject({ kind: "created" });
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: second.id } });
    });

    keeps("the id is looked at before the capacity: a lost answer is given again by a full queue", async (world) => {
      await world.store.configure("default", { capacity: 1 });
      const job = await world.add();
      expect(await world.insert(job)).toMatchObject({ kind: "created" });
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 1 });
    });
  });
}
