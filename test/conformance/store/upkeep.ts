import { describe, expect } from "vitest";
import { bucketOf } from "../../../src/core/histogram.ts";
import { MAX_BATCH, type PruneRule } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS, type World } from "../world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

function ruleOf(change: Partial<PruneRule> = {}): PruneRule {
  return { queue: "default", ageMs: Number.MAX_SAFE_INTEGER, count: Number.MAX_SAFE_INTEGER, keepAtLeastMs: 0, ...change };
}

async function prune(world: World, change: Partial<PruneRule>, limit = MAX_BATCH): Promise<number> {
  return (await world.store.prune([ruleOf(change)], limit)).removed;
}

/** Ended jobs, oldest end first, ten milliseconds apart; completed and cancelled in turn. */
async function endedJobs(world: World, count: number, queue = "default"): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    ids.push((await world.ended(index % 2 === 0 ? "completed" : "cancelled", { queue })).id);
    world.clock.advance(10);
  }
  return ids;
}

async function left(world: World, ids: readonly string[]): Promise<boolean[]> {
  return (await world.store.find(ids)).map((job) => job !== null);
}

export function upkeepSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("promote", () => {
    keeps("makes due jobs pending, scheduled and retrying alike, and leaves their due time", async (world) => {
      const scheduled = await world.add({ delay: 1_000 });
      const retrying = await world.running({ maxRetries: 3 });
      await world.fail(retrying, 2_000);
      const later = await world.add({ delay: 60_000 });
      const due = (await world.find(retrying.id)).runAt;
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 1_000 });
      world.clock.advance(2_500);
      expect(await world.store.promote(10)).toEqual({ moved: 2, nextInMs: 57_500 });
      expect(await world.status(scheduled.id)).toBe("pending");
      expect(await world.find(retrying.id)).toMatchObject({ status: "pending", runAt: due, retryCount: 1, attempt: 1, fence: 1 });
      expect(await world.status(later.id)).toBe("scheduled");
      expect(await world.counts()).toEqual({ pending: 2, scheduled: 1 });
    });

    keeps("of more than the limit the longest due go first, and more is due at once", async (world) => {
      const jobs = await world.addMany(5, (index) => ({ delay: 5_000 - index * 1_000 }));
      world.clock.advance(10_000);
      expect(await world.store.promote(2)).toEqual({ moved: 2, nextInMs: 0 });
      expect((await world.claim()).map(({ id }) => id)).toEqual([jobs[4]!.id, jobs[3]!.id]);
      expect(await world.store.promote(3)).toEqual({ moved: 3, nextInMs: null });
      expect(await world.store.promote(3)).toEqual({ moved: 0, nextInMs: null });
    });

    keeps("tells which jobs became pending, when it is asked to", async (world) => {
      const [one, other] = await world.addMany(2, (index) => ({ type: index === 0 ? "a" : "b", queue: `q${index}`, delay: 1_000 }));
      await world.add({ delay: 60_000 });
      expect(await world.store.promote(10, true)).toEqual({ moved: 0, nextInMs: 1_000, jobs: [] });
      world.clock.advance(1_500);
      const { jobs, ...answer } = await world.store.promote(10, true);
      expect(answer).toEqual({ moved: 2, nextInMs: 58_500 });
      expect(jobs).toHaveLength(2);
      expect(jobs).toEqual(
        expect.arrayContaining([
          { id: one!.id, type: "a", queue: "q0" },
          { id: other!.id, type: "b", queue: "q1" },
        ]),
      );
    });

    keeps("a job is due at its very millisecond, not before", async (world) => {
      await world.add({ delay: 10 });
      world.clock.advance(9);
      expect(await world.store.promote(1)).toEqual({ moved: 0, nextInMs: 1 });
      world.clock.advance(1);
      expect(await world.store.promote(1)).toEqual({ moved: 1, nextInMs: null });
    });

    keeps("reaches every queue", async (world) => {
      const jobs = await world.addMany(20, (index) => ({ queue: `q${index}`, delay: 100 + index }));
      expect((await world.store.promote(100)).nextInMs).toBe(100);
      world.clock.advance(1_000);
      expect(await world.store.promote(100)).toEqual({ moved: 20, nextInMs: null });
      const queues = jobs.map(({ queue }) => queue);
      expect(await world.claim({ queues })).toHaveLength(20);
    });

    keeps("S18: three movers at once move each job exactly once", async (world) => {
      const jobs = await world.addMany(150, (index) => ({ delay: 1 + index }));
      const other = await world.elsewhere();
      world.clock.advance(1_000);
      const moves = await Promise.all([world.store.promote(100), other.store.promote(100), world.store.promote(100)]);
      expect(moves.reduce((sum, { moved }) => sum + moved, 0)).toBe(150);
      expect((await world.claim()).map(({ id }) => id)).toEqual(jobs.map(({ id }) => id));
      expect(await world.counts()).toEqual({ running: 150 });
    });

    keeps("a cancelled job is not promoted", async (world) => {
      const job = await world.add({ delay: 10 });
      await world.cancel(job.id);
      world.clock.advance(10);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
    });

    keeps("T10: delayed jobs survive a clock that is set back and forth", async (world) => {
      const job = await world.add({ delay: 1_000 });
      world.clock.step(-HOUR_MS);
      await world.store.promote(10);
      world.clock.step(2 * HOUR_MS);
      await world.store.promote(10);
      expect(await world.status(job.id)).toBe("pending");
    });
  });

  describe("T10: a clock that steps", () => {
    keeps("never grants one fence twice, and never revives an old one", async (world) => {
      const first = await world.running({ retryDelay: 0, maxRetries: 9 });
      world.clock.step(HOUR_MS);
      for (const seen of (await world.expired(10)).jobs) await world.lose(seen);
      await world.store.promote(10);
      const second = await world.take();
      world.clock.step(-2 * HOUR_MS);
      expect(await world.lose(second)).toBe("stale");
      expect(await world.complete(first)).toBe("stale");
      expect(await world.claim()).toEqual([]);
      expect(second.fence).toBeGreaterThan(first.fence + 1);
      expect(await world.complete(second)).toBe("ok");
    });

    keeps("leaves keys unique", async (world) => {
      const job = await world.add({ idempotencyKey: "k" });
      world.clock.step(-HOUR_MS);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: job.id } });
      world.clock.step(2 * HOUR_MS);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: job.id } });
    });
  });

  describe("expired", () => {
    keeps("nothing runs: nothing to wait for", async (world) => {
      await world.add();
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
    });

    keeps("is bounded by its limit", async (world) => {
      await world.addMany(5);
      await world.claim();
      world.clock.advance(LEASE_MS);
      expect((await world.expired(3)).jobs).toHaveLength(3);
      expect((await world.expired(10)).jobs).toHaveLength(5);
    });

    keeps("shows summaries: the error of the attempt before, without its stack", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await world.fail(lease, 0);
      await world.store.promote(1);
      await world.take();
      world.clock.advance(LEASE_MS);
      const [job] = (await world.expired(10)).jobs;
      expect(job).toMatchObject({ id: lease.id, status: "running", retryCount: 1, error: { message: "boom", stack: null } });
      expect(job).not.toHaveProperty("payload");
    });
  });

  describe("prune", () => {
    keeps("removes what ended more than ageMs ago", async (world) => {
      const ids = await endedJobs(world, 6); // ended 60, 50, 40, 30, 20 and 10 ms ago
      expect(await prune(world, { ageMs: 35 })).toBe(3);
      expect(await left(world, ids)).toEqual([false, false, false, true, true, true]);
      expect(await prune(world, { ageMs: 35 })).toBe(0);
    });

    keeps("removes what is beyond the newest, completed and cancelled counted together", async (world) => {
      const ids = await endedJobs(world, 6);
      expect(await prune(world, { count: 2 })).toBe(4);
      expect(await left(world, ids)).toEqual([false, false, false, false, true, true]);
    });

    keeps("whichever bound is passed first counts", async (world) => {
      const ids = await endedJobs(world, 6);
      expect(await prune(world, { ageMs: 45, count: 3 })).toBe(3);
      expect(await prune(world, { ageMs: 25, count: 3 })).toBe(1);
      expect(await left(world, ids)).toEqual([false, false, false, false, true, true]);
    });

    keeps("never takes one within keepAtLeastMs of its end", async (world) => {
      const ids = await endedJobs(world, 6);
      expect(await prune(world, { ageMs: 0, count: 0, keepAtLeastMs: 35 })).toBe(3);
      expect(await left(world, ids)).toEqual([false, false, false, true, true, true]);
    });

    keeps("takes the earliest ended first, up to the limit", async (world) => {
      const ids = await endedJobs(world, 6);
      expect(await prune(world, { ageMs: 0, count: 0 }, 2)).toBe(2);
      expect(await left(world, ids)).toEqual([false, false, true, true, true, true]);
      expect(await prune(world, { count: 1 }, 2)).toBe(2);
      expect(await left(world, ids)).toEqual([false, false, false, false, true, true]);
    });

    keeps("works by rule: each queue has its own, a queue without one is left alone", async (world) => {
      const a = await endedJobs(world, 4, "a");
      const b = await endedJobs(world, 4, "b");
      const c = await endedJobs(world, 4, "c");
      const rules = [ruleOf({ queue: "a", count: 1 }), ruleOf({ queue: "b", count: 3 }), ruleOf({ queue: "nowhere", count: 0 })];
      expect(await world.store.prune(rules, MAX_BATCH)).toEqual({ removed: 4 });
      expect(await left(world, a)).toEqual([false, false, false, true]);
      expect(await left(world, b)).toEqual([false, true, true, true]);
      expect(await left(world, c)).toEqual([true, true, true, true]);
      expect(await world.store.prune([ruleOf({ queue: "a", count: 0 }), ruleOf({ queue: "b", count: 0 })], 2)).toEqual({ removed: 2 });
      expect(await world.store.prune([], 10)).toEqual({ removed: 0 });
    });

    keeps("leaves dead, failed, running and waiting jobs alone, however old they are", async (world) => {
      const ids = [(await world.ended("dead")).id, (await world.ended("failed")).id, (await world.running()).id];
      ids.push((await world.add()).id, (await world.add({ delay: 10 })).id);
      world.clock.advance(1_000 * HOUR_MS);
      expect(await prune(world, { ageMs: 0, count: 0 })).toBe(0);
      expect(await left(world, ids)).toEqual([true, true, true, true, true]);
    });

    keeps("takes history and logs with the job, and totals stay", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await world.note(lease, ["a line"]);
      await world.fail(lease, 0);
      await world.store.promote(1);
      await world.complete(await world.take());
      world.clock.advance(1);
      expect(await prune(world, { ageMs: 0 })).toBe(1);
      expect(await world.store.attempts(lease.id)).toEqual([]);
      expect(await world.store.logs(lease.id, 0, 10)).toEqual([]);
      expect(await world.counts()).toEqual({});
      expect(await world.total("completed")).toBe(1);
      expect((await world.store.list({ limit: 10 })).jobs).toEqual([]);
    });

    keeps("by two at once removes each job once", async (world) => {
      await endedJobs(world, 30);
      const other = await world.elsewhere();
      const removed = await Promise.all([prune(world, { count: 5 }, 20), prune(other, { count: 5 }, 20), prune(world, { count: 5 }, 20)]);
      expect(removed.reduce((sum, count) => sum + count)).toBe(25);
      const { completed = 0, cancelled = 0 } = await world.counts();
      expect(completed + cancelled).toBe(5);
    });

    keeps("a job that was retried by hand counts from its new end", async (world) => {
      const job = await world.ended("cancelled");
      world.clock.advance(1_000);
      await world.retry(job.id);
      await world.complete(await world.take());
      world.clock.advance(10);
      expect(await prune(world, { ageMs: 500 })).toBe(0);
      expect(await world.status(job.id)).toBe("completed");
    });
  });

  describe("sweep", () => {
    const KEEP = { minutesMs: 2 * HOUR_MS, hoursMs: 48 * HOUR_MS };
    const KEEP_ALL = { minutesMs: 48 * HOUR_MS, hoursMs: 1_000 * HOUR_MS };

    keeps("drops minutes and hours of counters past their keep, never the totals", async (world) => {
      const start = world.clock.now();
      await world.add();
      world.clock.advance(24 * HOUR_MS);
      await world.add();
      const rows = async (step: "minute" | "hour"): Promise<number[]> =>
        (await world.store.counters({ step, from: 0, to: start + 1_000 * HOUR_MS })).rows.map(({ at }) => at).sort((a, b) => a - b);
      expect(await rows("minute")).toEqual([start, start + 24 * HOUR_MS]);
      expect((await world.store.sweep(KEEP, MAX_BATCH)).removed).toBeGreaterThan(0);
      expect(await rows("minute")).toEqual([start + 24 * HOUR_MS]);
      expect(await rows("hour")).toEqual([start, start + 24 * HOUR_MS]);
      world.clock.advance(36 * HOUR_MS);
      await world.store.sweep(KEEP, MAX_BATCH);
      expect(await rows("minute")).toEqual([]);
      expect(await rows("hour")).toEqual([start + 24 * HOUR_MS]);
      expect(await world.total("enqueued")).toBe(2);
    });

    keeps("moves histograms from their minutes, cell by cell, and hours have each run once at any time", async (world) => {
      const start = world.clock.now(); // the start of an hour
      const run = async (queue: string, runMs: number): Promise<void> => {
        await world.settle(await world.running({ queue }), { kind: "completed", result: null, runMs });
      };
      await run("a", 10);
      await run("b", 10);
      world.clock.advance(MINUTE_MS);
      await run("a", 10);
      await run("a", 1_000);
      world.clock.advance(HOUR_MS);
      await run("a", 10);
      const all = { from: 0, to: start + 1_000 * HOUR_MS };
      const runs = async (step: "minute" | "hour-times"): Promise<Record<string, Record<string, number>>> => {
        const rows = (await world.store.counters({ step, ...all })).rows.filter(({ times }) => times.run !== undefined);
        return Object.fromEntries(
          rows.map(({ queue, at, times }) => [`${queue} ${(at - start) / MINUTE_MS}`, Object.fromEntries(times.run!)]),
        );
      };
      const [short, long] = [bucketOf(10), bucketOf(1_000)];
      const byMinute = {
        "a 0": { [short]: 1 },
        "b 0": { [short]: 1 },
        "a 1": { [short]: 1, [long]: 1 },
        "a 61": { [short]: 1 },
      };
      const byHour = { "a 0": { [short]: 2, [long]: 1 }, "b 0": { [short]: 1 }, "a 60": { [short]: 1 } };
      await world.store.sweep(KEEP_ALL, 1);
      expect(await runs("hour-times")).toEqual(byHour);
      for (let removed = 1; removed > 0;) {
        ({ removed } = await world.store.sweep(KEEP_ALL, 1));
        expect(await runs("hour-times")).toEqual(byHour);
      }
      // The second minute began just an hour ago.
      expect(await runs("minute")).toEqual({ "a 1": byMinute["a 1"], "a 61": byMinute["a 61"] });
      world.clock.advance(MINUTE_MS);
      for (let round = 0; round < 10; round++) await world.store.sweep(KEEP_ALL, 1);
      expect(await runs("minute")).toEqual({ "a 61": byMinute["a 61"] });
      expect(await runs("hour-times")).toEqual(byHour);
      const { rows } = await world.store.counters({ step: "minute", ...all });
      expect(rows.reduce((total, { counts }) => total + (counts.completed ?? 0), 0)).toBe(5);
      const mine = await world.store.counters({ step: "hour-times", ...all, queue: "b" });
      expect(mine.rows.map(({ queue, at, counts }) => [queue, at, counts])).toEqual([["b", start, {}]]);
      const second = await world.store.counters({ step: "hour-times", from: start + 1, to: start + 2 * HOUR_MS, queue: "a" });
      expect(second.rows.map(({ at }) => at)).toEqual([start + HOUR_MS]);

      world.clock.advance(2 * HOUR_MS);
      await world.store.sweep(KEEP_ALL, MAX_BATCH);
      expect(await runs("minute")).toEqual({});
      expect(await runs("hour-times")).toEqual(byHour);
      world.clock.advance(48 * HOUR_MS);
      await world.store.sweep(KEEP, MAX_BATCH);
      expect(await runs("hour-times")).toEqual({});
    });

    keeps("drops no minute before its histogram is in its hour", async (world) => {
      const start = world.clock.now();
      await world.settle(await world.running(), { kind: "completed", result: null, runMs: 10 });
      world.clock.advance(5 * HOUR_MS);
      await world.store.sweep({ minutesMs: 0, hoursMs: 48 * HOUR_MS }, 1);
      for (let round = 0; round < 5; round++) await world.store.sweep({ minutesMs: 0, hoursMs: 48 * HOUR_MS }, 1);
      const { rows } = await world.store.counters({ step: "hour-times", from: start, to: start + HOUR_MS });
      expect(rows.map(({ times }) => [times.run?.size, times.wait?.size])).toEqual([[1, 1]]);
    });

    keeps("drops no key that lives, and frees none early", async (world) => {
      const waiting = await world.add({ idempotencyKey: "waiting", queue: "w" });
      const dead = await world.ended("dead", { idempotencyKey: "dead", keyTtl: 0 });
      const done = await world.ended("completed", { idempotencyKey: "done", keyTtl: 1_000 });
      const pruned = await world.ended("completed", { idempotencyKey: "pruned", keyTtl: 10_000, queue: "p" });
      world.clock.advance(999);
      await prune(world, { queue: "p", ageMs: 0 });
      await world.store.sweep(KEEP, MAX_BATCH);
      const answer = (idempotencyKey: string, queue = "default") => world.insert(world.job({ idempotencyKey, queue }));
      expect(await answer("waiting", "w")).toMatchObject({ kind: "known", job: { id: waiting.id } });
      expect(await answer("dead")).toMatchObject({ kind: "known", job: { id: dead.id } });
      expect(await answer("done")).toMatchObject({ kind: "known", job: { id: done.id } });
      expect(await answer("pruned", "p")).toMatchObject({ kind: "pruned", id: pruned.id });
      world.clock.advance(10_000);
      await world.store.sweep(KEEP, MAX_BATCH);
      expect(await answer("done")).toMatchObject({ kind: "created" });
      expect(await answer("pruned", "p")).toMatchObject({ kind: "created" });
    });

    keeps("C02: expired keys of pruned jobs are dropped, batch by batch, until nothing is left", async (world) => {
      await world.addMany(25, (index) => ({ idempotencyKey: `k${index}`, keyTtl: 1_000 }));
      for (const lease of await world.claim()) await world.complete(lease);
      world.clock.advance(1);
      expect(await prune(world, { ageMs: 0 })).toBe(25);
      expect(await world.store.sweep(KEEP, 10)).toEqual({ removed: 0 });
      world.clock.advance(1_000);
      const rounds: number[] = [];
      do rounds.push((await world.store.sweep(KEEP, 10)).removed);
      while (rounds.at(-1)! > 0 && rounds.length < 20);
      expect(rounds).toEqual([10, 10, 5, 0]);
    });

    keeps("of an empty store removes nothing", async (world) => {
      expect(await world.store.sweep(KEEP, MAX_BATCH)).toEqual({ removed: 0 });
    });

    keeps("touches no job", async (world) => {
      const job = await world.ended("completed");
      const waiting = await world.add();
      world.clock.advance(1_000 * HOUR_MS);
      await world.store.sweep({ minutesMs: 0, hoursMs: 0 }, MAX_BATCH);
      expect(await left(world, [job.id, waiting.id])).toEqual([true, true]);
      expect(await world.counts()).toEqual({ completed: 1, pending: 1 });
    });
  });
}
