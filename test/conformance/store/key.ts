import { describe, expect } from "vitest";
import { MAX_BATCH } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const KEEP_NOTHING = { ageMs: 0, count: 0, keepAtLeastMs: 0 };

async function pruneAll(world: World): Promise<void> {
  world.clock.advance(1);
  await world.store.prune([{ queue: "default", ...KEEP_NOTHING }], MAX_BATCH);
}

export function keySuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a key", () => {
    keeps("of a waiting job answers with that job as it is stored", async (world) => {
      const job = await world.add({ idempotencyKey: "k", payload: { a: 1, b: 2 }, priority: 5 });
      world.clock.advance(10);
      const again = world.job({ idempotencyKey: "k", payload: { b: 2, a: 1 }, priority: "critical", delay: 99 });
      expect(await world.insert(again)).toEqual({ kind: "known", job: await world.find(job.id) });
      expect(await world.status(again.id)).toBeNull();
      expect(await world.counts()).toEqual({ pending: 1 });
      expect(await world.total("enqueued")).toBe(1);
    });

    keeps("with another payload or type is a conflict that names the holder and changes nothing", async (world) => {
      const job = await world.add({ idempotencyKey: "k", payload: 1 });
      const before = await world.find(job.id);
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: 2 }))).toEqual({ kind: "conflict", id: job.id });
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: 1, type: "other" }))).toEqual({ kind: "conflict", id: job.id });
      expect(await world.find(job.id)).toEqual(before);
    });

    keeps("belongs to its queue alone", async (world) => {
      await world.add({ idempotencyKey: "k", queue: "a" });
      await world.add({ idempotencyKey: "k", queue: "b" });
    });

    keeps("twice in one list: the first wins", async (world) => {
      const jobs = [
        world.job({ idempotencyKey: "k", payload: 1 }),
        world.job({ idempotencyKey: "k", payload: 1 }),
        world.job({ idempotencyKey: "k", payload: 2 }),
      ];
      const answers = await world.store.insert(jobs);
      expect(answers).toMatchObject([
        { kind: "created" },
        { kind: "known", job: { id: jobs[0]!.id } },
        { kind: "conflict", id: jobs[0]!.id },
      ]);
    });

    keeps("S36: two hundred parallel inserts over two connections make one job, and all learn its id", async (world) => {
      const other = await world.elsewhere();
      const jobs = world.jobs(200, { idempotencyKey: "k" });
      const answers = await Promise.all(jobs.map((job, index) => (index % 2 === 0 ? world : other).insert(job)));
      const created = answers.flatMap((answer, index) => (answer.kind === "created" ? [jobs[index]!.id] : []));
      const known = answers.flatMap((answer) => (answer.kind === "known" ? [answer.job.id] : []));
      expect(created).toHaveLength(1);
      expect(known).toHaveLength(199);
      expect(new Set(known)).toEqual(new Set(created));
      expect(await world.counts()).toEqual({ pending: 1 });
    });

    keeps("lives while its job waits, runs, waits for its retry and is dead", async (world) => {
      const job = await world.add({ idempotencyKey: "k", keyTtl: 0, maxRetries: 1 });
      const isKnown = async (status: string): Promise<void> => {
        expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: job.id, status } });
      };
      await isKnown("pending");
      const lease = await world.take();
      await isKnown("running");
      await world.fail(lease, 100);
      await isKnown("retrying");
      world.clock.advance(100);
      await world.store.promote(1);
      await world.discard(await world.take());
      world.clock.advance(10 * 365 * 86_400_000);
      await isKnown("dead");
    });

    keeps("lives while its job is failed, however long ago", async (world) => {
      await world.ended("failed", { idempotencyKey: "k", keyTtl: 0 });
      world.clock.advance(10 * 365 * 86_400_000);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { status: "failed" } });
    });

    for (const status of ["completed", "cancelled"] as const) {
      keeps(`lives keyTtlMs beyond the end of a ${status} job, and not a millisecond more`, async (world) => {
        const job = await world.ended(status, { idempotencyKey: "k", keyTtl: 1_000 });
        world.clock.advance(999);
        expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: job.id } });
        world.clock.advance(1);
        expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "created" });
      });
    }

    keeps("with a ttl of 0 is unique only while its job is alive", async (world) => {
      const job = await world.add({ idempotencyKey: "k", keyTtl: 0 });
      await world.complete(await world.take());
      const next = await world.add({ idempotencyKey: "k", keyTtl: 0, payload: "another" });
      expect(next.id).not.toBe(job.id);
    });

    keeps("outlives its pruned job with its expiry, and tells id and last status", async (world) => {
      const job = await world.ended("completed", { idempotencyKey: "k", keyTtl: 1_000 });
      await pruneAll(world);
      expect(await world.status(job.id)).toBeNull();
      const again = world.job({ idempotencyKey: "k" });
      expect(await world.insert(again)).toEqual({ kind: "pruned", id: job.id, status: "completed" });
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: 2 }))).toEqual({ kind: "conflict", id: job.id });
      expect(await world.status(again.id)).toBeNull();
      world.clock.advance(998);
      expect(await world.insert(again)).toMatchObject({ kind: "pruned" });
      world.clock.advance(1);
      expect(await world.insert(again)).toMatchObject({ kind: "created" });
    });

    keeps("tells that a pruned job was cancelled", async (world) => {
      const job = await world.ended("cancelled", { idempotencyKey: "k" });
      await pruneAll(world);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toEqual({ kind: "pruned", id: job.id, status: "cancelled" });
    });

    keeps("is freed by removing its job (S38)", async (world) => {
      const job = await world.ended("dead", { idempotencyKey: "k" });
      await world.remove(job.id);
      await world.add({ idempotencyKey: "k", payload: "another" });
    });

    keeps("S38: removing or pruning the former holder leaves the key to its new one", async (world) => {
      const removed = await world.ended("completed", { idempotencyKey: "k", keyTtl: 0 });
      const pruned = await world.ended("completed", { idempotencyKey: "k", keyTtl: 0 });
      const holder = await world.add({ idempotencyKey: "k", keyTtl: 0 });
      expect(await world.remove(removed.id)).toMatchObject({ kind: "ok" });
      await pruneAll(world);
      expect(await world.status(pruned.id)).toBeNull();
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: holder.id } });
    });

    keeps("S37: of a refused insert is not kept", async (world) => {
      await world.store.configure("default", { capacity: 1 });
      await world.add();
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: 1 }))).toMatchObject({ kind: "full" });
      await world.complete(await world.take());
      await world.add({ idempotencyKey: "k", payload: 2 });
    });

    keeps("is looked at before the capacity: a full queue still knows its jobs", async (world) => {
      await world.store.configure("default", { capacity: 1 });
      const job = await world.add({ idempotencyKey: "k" });
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: job.id } });
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: 2 }))).toMatchObject({ kind: "conflict" });
    });

    keeps("a retry by hand within the ttl keeps the key alive for as long as the job lives", async (world) => {
      const job = await world.ended("cancelled", { idempotencyKey: "k", keyTtl: 1_000 });
      world.clock.advance(999);
      expect(await world.retry(job.id)).toMatchObject({ kind: "ok" });
      world.clock.advance(1_000_000);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: job.id } });
    });

    keeps("a retry by hand after the ttl goes on without the key for good", async (world) => {
      const job = await world.ended("cancelled", { idempotencyKey: "k", keyTtl: 1_000 });
      world.clock.advance(1_000);
      await world.retry(job.id);
      expect((await world.find(job.id)).idempotencyKey).toBeNull();
      const holder = await world.add({ idempotencyKey: "k" });
      await world.cancel(job.id);
      await world.remove(job.id);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: holder.id } });
    });

    keeps("a retry by hand never takes back a key that another job has by now", async (world) => {
      const old = await world.ended("cancelled", { idempotencyKey: "k", keyTtl: 0 });
      const holder = await world.add({ idempotencyKey: "k", keyTtl: 0 });
      await world.retry(old.id);
      expect((await world.find(old.id)).idempotencyKey).toBeNull();
      expect((await world.find(holder.id)).idempotencyKey).toBe("k");
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: holder.id } });
    });
  });
}
