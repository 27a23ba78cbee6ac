import { describe, expect } from "vitest";
import type { Filter } from "../../../src/core/filter.ts";
import type { JobRecord, Status } from "../../../src/core/job.ts";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import { rank } from "../../../src/core/rank.ts";
import { type ListQuery, MAX_BATCH, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const ENDED = ["completed", "cancelled", "failed", "dead"] as const;
const QUEUES = ["a", "b", "c", "d"];

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

/** The ids on all pages of a list in the order of its state. */
async function byState(world: World, query: Omit<ListQuery, "limit">, limit = 3): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await world.store.list({ limit, ...query, sort: "state", cursor: cursor ?? undefined });
    expect(page.jobs.length).toBeLessThanOrEqual(limit);
    ids.push(...idsOf(page.jobs));
    cursor = page.cursor;
    expect(ids.length, "a list must come to an end").toBeLessThan(1_000);
  } while (cursor !== null);
  return ids;
}

/** The jobs of these statuses in the order of insertion, sorted again by `at`; negative for what comes latest first. */
function sorted<Job extends JobRecord>(jobs: readonly Job[], statuses: readonly Status[], at: (job: Job) => number): string[] {
  const wanted = jobs.map((job, index) => ({ job, index })).filter(({ job }) => statuses.includes(job.status));
  const isLatestFirst = wanted.some(({ job }) => at(job) < 0);
  return idsOf(
    wanted.sort((a, b) => at(a.job) - at(b.job) || (isLatestFirst ? b.index - a.index : a.index - b.index)).map(({ job }) => job),
  );
}

/** Ended jobs of every status in several queues, which ended in another order than they came in, some at the same moment. */
async function endSome(world: World): Promise<JobRecord[]> {
  const jobs = await world.addMany(24, (index) => ({ queue: QUEUES[index % 4]!, type: `t${index % 2}` }));
  for (let turn = 0; turn < jobs.length; turn++) {
    const job = jobs[(turn * 7) % jobs.length]!;
    const status = ENDED[turn % 4]!;
    const lease = await world.take({ queues: [job.queue], types: [job.type] });
    const held = { ...lease, deadLetters: status !== "failed" };
    await (status === "cancelled" ? world.cancel(lease.id) : status === "completed" ? world.complete(held) : world.discard(held));
    if (turn % 3 === 0) world.clock.advance(10);
  }
  return Promise.all(jobs.map(({ id }) => world.find(id)));
}

export function listOrderSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a list in the order of its state", () => {
    keeps("ended jobs: latest end first, of the same moment the latest inserted, over all queues", async (world) => {
      const jobs = await endSome(world);
      for (const status of [["dead"], ["completed"], ["completed", "cancelled"], ["failed", "dead"], [...ENDED]] as Status[][]) {
        const expected = sorted(jobs, status, ({ completedAt }) => -completedAt!);
        expect(await byState(world, { status })).toEqual(expected);
        expect(await byState(world, { status }, 100)).toEqual(expected);
        const here = idsOf(jobs.filter(({ queue, type }) => queue === "b" && type === "t1"));
        expect(await byState(world, { status, queue: "b", type: "t1" }, 2)).toEqual(expected.filter((id) => here.includes(id)));
      }
    });

    keeps("an ended job that was retried comes at its new end, once", async (world) => {
      const first = await world.ended("completed");
      const again = await world.ended("cancelled");
      const last = await world.ended("completed");
      await world.retry(again.id);
      expect(await byState(world, { status: ["completed", "cancelled"] })).toEqual([last.id, first.id]);
      await world.cancel(again.id);
      expect(await byState(world, { status: ["completed", "cancelled"] })).toEqual([last.id, again.id, first.id]);
      world.clock.advance(5);
      await world.retry(again.id);
      await world.cancel(again.id);
      expect(await byState(world, { status: ["completed", "cancelled"] })).toEqual([again.id, last.id, first.id]);
    });

    keeps("pending jobs: next in line first, by rank over all queues and types", async (world) => {
      await world.store.configure("b", { headStartMs: 60_000 });
      await world.store.configure("c", { headStartMs: 0 });
      const heads = { a: 2 ** 43, b: 60_000, c: 0, d: 2 ** 43 } as Record<string, number>;
      const ids: string[] = [];
      for (let moment = 0; moment < 5; moment++) {
        const some = await world.addMany(8, (index) => ({
          queue: QUEUES[index % 4]!,
          type: `t${index % 3}`,
          priority: ((index * 5 + moment) % 4) - 1,
        }));
        ids.push(...idsOf(some));
        if (moment % 2 === 1) world.clock.advance(30_000);
      }
      const jobs = await Promise.all(ids.map((id) => world.find(id)));
      const ranked = (some: readonly JobRecord[]): string[] =>
        idsOf(
          some
            .map((job, index) => ({ id: job.id, index, rank: rank(job.runAt, job.priority, heads[job.queue]!) }))
            .sort((a, b) => a.rank - b.rank || a.index - b.index),
        );
      expect(await byState(world, { status: ["pending"] })).toEqual(ranked(jobs));
      expect(await byState(world, { status: ["pending"], type: "t1" })).toEqual(ranked(jobs.filter(({ type }) => type === "t1")));
      const inB = ranked(jobs.filter(({ queue }) => queue === "b"));
      expect(await byState(world, { status: ["pending"], queue: "b" }, 4)).toEqual(inB);
      const taken = await world.claim({ queues: ["b"] });
      expect(idsOf(taken)).toEqual(inB);
      expect(await byState(world, { status: ["pending"], queue: "b" })).toEqual([]);
    });

    keeps("scheduled and retrying jobs: soonest due first, of the same moment the first inserted", async (world) => {
      const jobs = await world.addMany(12, (index) => ({
        queue: QUEUES[index % 4]!,
        delay: 1_000 * (1 + ((index * 5) % 4)),
        maxRetries: 3,
      }));
      const lease = await world.running({ maxRetries: 3 });
      await world.fail(lease, 2_000);
      const other = await world.running({ maxRetries: 3, queue: "b" });
      await world.fail(other, 500);
      const all = await Promise.all([...idsOf(jobs), lease.id, other.id].map((id) => world.find(id)));
      for (const status of [["scheduled"], ["retrying"], ["scheduled", "retrying"]] as Status[][]) {
        expect(await byState(world, { status })).toEqual(sorted(all, status, ({ runAt }) => runAt));
      }
      const inB = idsOf(all.filter(({ queue }) => queue === "b"));
      const expected = sorted(all, ["scheduled", "retrying"], ({ runAt }) => runAt).filter((id) => inB.includes(id));
      expect(await byState(world, { status: ["scheduled", "retrying"], queue: "b" }, 2)).toEqual(expected);
    });

    keeps("any other statuses come newest created first", async (world) => {
      const old = await world.running();
      world.clock.advance(5);
      const young = await world.running();
      const waits = await world.add();
      await world.extend(old, 1_000_000);
      expect(await byState(world, { status: ["running"] })).toEqual([young.id, old.id]);
      expect(await byState(world, { status: ["running", "pending"] }, 2)).toEqual([waits.id, young.id, old.id]);
      expect(await byState(world, {}, 2)).toEqual([waits.id, young.id, old.id]);
      expect(await byState(world, { status: [] })).toEqual([]);
      const blocked = await world.block();
      expect(await byState(world, { status: ["blocked"] })).toEqual([blocked.id]);
    });

    keeps("goes with every other filter, and with a search", async (world) => {
      const jobs = await world.addMany(30, (index) => ({
        queue: QUEUES[index % 4]!,
        priority: index % 5,
        tags: index % 3 === 0 ? ["three"] : [],
        payload: index % 4 === 1 ? "needle" : "hay",
      }));
      const expected = await byState(world, { status: ["pending"] }, 100);
      const wanted = (test: (index: number) => boolean): string[] => expected.filter((id) => test(jobs.findIndex((job) => job.id === id)));
      expect(await byState(world, { status: ["pending"], tag: "three" })).toEqual(wanted((index) => index % 3 === 0));
      expect(await byState(world, { status: ["pending"], q: "NEEDLE" })).toEqual(wanted((index) => index % 4 === 1));
      expect(await byState(world, { status: ["pending"], priority: { min: 2, max: 3 } })).toEqual(
        wanted((index) => index % 5 === 2 || index % 5 === 3),
      );
      for (const job of jobs) await world.cancel(job.id);
      const cancelled = jobs.toReversed().filter((_, index) => (29 - index) % 3 === 0 && (29 - index) % 4 === 1);
      expect(await byState(world, { status: ["cancelled"], tag: "three", q: "needle" }, 1)).toEqual(idsOf(cancelled));
    });

    keeps("leaves internal jobs out unless asked for them", async (world) => {
      const [mine] = await world.addMany(1);
      const own = await world.add({ queue: "default~webhooks", type: "millrace:webhook" });
      expect(await byState(world, { status: ["pending"] })).toEqual([mine!.id]);
      expect(await byState(world, { status: ["pending"], internal: true })).toEqual([mine!.id, own.id]);
      await world.cancel(mine!.id);
      await world.cancel(own.id);
      expect(await byState(world, { status: ["cancelled"] })).toEqual([mine!.id]);
      expect(await byState(world, { status: ["cancelled"], internal: true })).toEqual([own.id, mine!.id]);
    });

    keeps("what neither came nor left nor changed while one paged is seen exactly once", async (world) => {
      const jobs = await world.addMany(40, (index) => ({ queue: QUEUES[index % 4]! }));
      for (const [index, job] of jobs.entries()) {
        await world.cancel(job.id);
        if (index % 5 === 0) world.clock.advance(1);
      }
      const seen: string[] = [];
      let cursor: string | null = null;
      for (let round = 0; cursor !== null || round === 0; round++) {
        const page = await world.store.list({ limit: 4, status: ["cancelled"], sort: "state", cursor: cursor ?? undefined });
        seen.push(...idsOf(page.jobs));
        cursor = page.cursor;
        world.clock.advance(round % 2);
        await world.ended("cancelled", { queue: QUEUES[round % 4]! });
        await world.remove(jobs[39 - round]!.id); // one that was seen already
        await world.retry(jobs[round]!.id); // one that leaves
      }
      const steady = idsOf(jobs.slice(15, 25)).reverse();
      expect(seen.filter((id) => steady.includes(id))).toEqual(steady);
      expect(new Set(seen).size).toBe(seen.length);
    });

    keeps("has a cursor of its own: one of another order is refused", async (world) => {
      for (const queue of QUEUES) {
        await world.ended("cancelled", { queue });
        await world.addMany(2, { queue });
        await world.addMany(2, { queue, delay: 10_000 });
      }
      const queries: ListQuery[] = [
        { limit: 1 },
        { limit: 1, sort: "state", status: ["cancelled"] },
        { limit: 1, sort: "state", status: ["pending"] },
        { limit: 1, sort: "state", status: ["scheduled"] },
      ];
      const cursors = await Promise.all(queries.map(async (query) => (await world.store.list(query)).cursor!));
      for (const [at, query] of queries.entries()) {
        for (const [from, cursor] of cursors.entries()) {
          expect(cursor).not.toBeNull();
          const again = world.store.list({ ...query, cursor });
          if (at === from) expect((await again).jobs).toHaveLength(1);
          else await expect(again).rejects.toMatchObject({ code: "invalid_cursor" });
        }
      }
      for (const cursor of ["", "E", "mE", "sE1.", "rE1.1.1", "pP-.1", "'; drop table jobs; --"]) {
        for (const query of queries) await expect(world.store.list({ ...query, cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
      }
    });
  });

  describe("many jobs behind many others", () => {
    keeps("pending jobs are in order, however unevenly their types come", async (world) => {
      const jobs = await world.addMany(500, (index) => ({
        type: index < 200 ? "early" : `t${index % 7}`,
        tags: index % 3 === 0 ? ["x"] : [],
      }));
      expect(await byState(world, { status: ["pending"] }, 100)).toEqual(idsOf(jobs));
      const tagged = jobs.filter(({ tags }) => tags.length > 0);
      expect(await byState(world, { status: ["pending"], tag: "x" }, 100)).toEqual(idsOf(tagged));
    });

    keeps("a page is full at once in either order, and a count counts the wanted ones", async (world) => {
      const many = MAX_CANDIDATES + 500;
      const wanted = await world.addMany(many, (index) => ({ type: index % 2 === 0 ? "even" : "odd", queue: QUEUES[index % 2]! }));
      const others = await world.addMany(many);
      const cancel = async (jobs: typeof others): Promise<void> => {
        for (let from = 0; from < jobs.length; from += MAX_BATCH) {
          let left = idsOf(jobs.slice(from, from + MAX_BATCH));
          while (left.length > 0) {
            const answers = await world.store.change(left, CANCEL);
            // A try that the server was slow to answer may still hold some when they are asked for again.
            left = left.filter((_, index) => answers[index]!.kind === "locked");
          }
        }
      };
      await cancel(others.slice(0, -300));
      world.clock.advance(1_000);
      const late = world.clock.now();
      await cancel(others.slice(-300));
      const page = async (query: Omit<ListQuery, "limit">): Promise<string[]> =>
        idsOf((await world.store.list({ limit: 50, ...query })).jobs);
      for (const status of ["completed", "dead", "scheduled", "retrying", "running"] as const) {
        expect(await world.store.list({ limit: 50, status: [status] })).toEqual({ jobs: [], cursor: null });
        expect(await world.store.list({ limit: 50, status: [status], sort: "state" })).toEqual({ jobs: [], cursor: null });
      }
      expect(await page({ status: ["pending"], sort: "state" })).toEqual(idsOf(wanted.slice(0, 50)));
      expect(await page({ status: ["pending"] })).toEqual(idsOf(wanted.slice(-50)).reverse());
      const even = wanted.filter((_, index) => index % 2 === 0);
      expect(await page({ status: ["pending"], type: "even", sort: "state" })).toEqual(idsOf(even.slice(0, 50)));
      expect(await page({ status: ["cancelled"], sort: "state" })).toEqual(idsOf(others.slice(-50)).reverse());
      expect(await world.store.count({ status: ["pending"], type: "even" })).toEqual({ count: even.length, isCapped: false });
      expect(await world.store.count({ status: ["pending"], queue: "b", priority: { min: 0, max: 0 } })).toEqual({
        count: many - even.length,
        isCapped: false,
      });
      expect(await world.store.count({ status: ["pending"], priority: { min: 0, max: 0 } })).toEqual({
        count: MAX_CANDIDATES,
        isCapped: true,
      });
      expect(await world.store.count({ status: ["pending"], from: 0 })).toEqual({ count: MAX_CANDIDATES, isCapped: true });
      expect(await world.store.count({ status: ["pending", "cancelled"], tag: "none" })).toEqual({ count: 0, isCapped: true });
      expect(await world.store.count({ status: ["cancelled"], endedFrom: late })).toEqual({ count: 300, isCapped: false });
      expect(await world.store.count({ endedFrom: late, priority: { min: 0, max: 0 } })).toEqual({ count: 300, isCapped: false });
      expect(await world.store.count({ status: ["cancelled"], endedTo: late })).toEqual({ count: MAX_CANDIDATES, isCapped: true });
      await cancel(wanted.slice(-500));
      expect(await world.store.count({ status: ["pending", "running"] })).toEqual({ count: MAX_CANDIDATES, isCapped: false });
    });
  });

  describe("the time of its end", () => {
    keeps("is a filter of lists and counts, which jobs that have not ended never match", async (world) => {
      const jobs = await endSome(world);
      await world.running();
      await world.add();
      const back = await world.ended("dead", { queue: "e" });
      await world.retry(back.id);
      const times = [...new Set(jobs.map(({ completedAt }) => completedAt!))].sort((a, b) => a - b);
      const [from, to] = [times[2]!, times[5]!];
      const ranges: Filter[] = [
        { endedFrom: from },
        { endedTo: to },
        { endedFrom: from, endedTo: to },
        { endedFrom: from, endedTo: to, status: ["dead"] },
        { endedFrom: from, endedTo: to, status: ["completed", "cancelled"], queue: "a" },
        { endedFrom: from, status: ["pending", "dead"] },
        { endedFrom: from, status: ["pending"] },
        { endedFrom: to, endedTo: from },
        { endedFrom: from, tag: "none" },
      ];
      for (const filter of ranges) {
        const matching = jobs.filter(
          ({ status, queue, completedAt }) =>
            completedAt! >= (filter.endedFrom ?? 0) &&
            completedAt! < (filter.endedTo ?? Infinity) &&
            (filter.status?.includes(status) ?? true) &&
            queue === (filter.queue ?? queue) &&
            filter.tag === undefined,
        );
        expect(await byState(world, filter)).toEqual(sorted(matching, ENDED, ({ completedAt }) => -completedAt!));
        expect(idsOf((await world.store.list({ ...filter, limit: 100 })).jobs)).toEqual(idsOf(matching).reverse());
        expect({ filter, ...(await world.store.count(filter)) }).toEqual({ filter, count: matching.length, isCapped: false });
        if (filter.status?.includes("dead") === false) continue;
        const { groups } = await world.store.errorGroups({ ...filter, status: ["dead"], limit: 10 });
        const dead = matching.filter(({ status }) => status === "dead").length;
        expect({ filter, count: groups.reduce((sum, { count }) => sum + count, 0) }).toEqual({ filter, count: dead });
      }
    });
  });
}
