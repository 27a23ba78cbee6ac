import { describe, expect } from "vitest";
import { withGroup } from "../../../src/core/error-group.ts";
import type { JobSummaryRecord, NewJob } from "../../../src/core/job.ts";
import { type ListQuery, MAX_BATCH, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS, type World } from "../world.ts";

/** Every page of a list, one after the other. */
async function pages(world: World, query: ListQuery): Promise<JobSummaryRecord[][]> {
  const found: JobSummaryRecord[][] = [];
  let cursor: string | null = null;
  do {
    const page = await world.store.list({ ...query, cursor: cursor ?? undefined });
    expect(page.jobs.length).toBeLessThanOrEqual(query.limit);
    found.push(page.jobs);
    cursor = page.cursor;
    expect(found.length, "a list must come to an end").toBeLessThan(500);
  } while (cursor !== null);
  return found;
}

async function ids(world: World, query: Omit<ListQuery, "limit"> = {}): Promise<string[]> {
  return (await pages(world, { limit: 100, ...query })).flat().map(({ id }) => id);
}

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

export function querySuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("find", () => {
    keeps("jobs come in the order of the ids, null for each that is not there", async (world) => {
      const [a, b] = await world.addMany(2);
      const found = await world.store.find([b!.id, world.newId(), a!.id, b!.id]);
      expect(found.map((job) => job?.id ?? null)).toEqual([b!.id, null, a!.id, b!.id]);
      expect(await world.store.find([])).toEqual([]);
    });

    keeps("a call of the greatest size is answered whole", async (world) => {
      const jobs = await world.addMany(MAX_BATCH);
      const found = await world.store.find(idsOf(jobs));
      expect(found.map((job) => job?.id)).toEqual(idsOf(jobs));
    });

    keeps("I26: sees every commit that was answered before, from any connection", async (world) => {
      const other = await world.elsewhere();
      for (let round = 0; round < 10; round++) {
        const job = await world.add();
        expect(await other.status(job.id)).toBe("pending");
        await other.cancel(job.id);
        expect(await world.status(job.id)).toBe("cancelled");
      }
    });
  });

  describe("list", () => {
    keeps("the newest created comes first, of the same moment the latest inserted", async (world) => {
      const jobs: NewJob[] = [];
      for (let moment = 0; moment < 4; moment++) {
        jobs.push(...(await world.addMany(3, { priority: moment % 2, delay: (moment % 3) * 1_000 })));
        world.clock.advance(5);
      }
      expect(await ids(world)).toEqual(idsOf(jobs).reverse());
    });

    keeps("a page holds at most its limit, and the cursor goes on right behind it", async (world) => {
      const jobs = await world.addMany(10);
      const found = await pages(world, { limit: 3 });
      expect(found.flat().map(({ id }) => id)).toEqual(idsOf(jobs).reverse());
      expect(found[0]).toHaveLength(3);
      expect((await world.store.list({ limit: 100 })).cursor).toBeNull();
    });

    keeps("a store without jobs is one empty page", async (world) => {
      expect(await world.store.list({ limit: 10 })).toEqual({ jobs: [], cursor: null });
    });

    keeps("C16: shows summaries: no payload, no result, no stack", async (world) => {
      const done = await world.ended("completed", { payload: "big", tags: ["t"], meta: { a: 1 } });
      const dead = await world.ended("dead");
      const { jobs } = await world.store.list({ limit: 10 });
      const { payload: _p, result: _r, ...summary } = dead;
      expect(jobs[0]).toEqual({ ...summary, error: withGroup({ ...BOOM, stack: null }) });
      const { payload: _payload, result: _result, ...completed } = done;
      expect(jobs[1]).toEqual(completed);
    });

    keeps("filters: status, type, queue, priority, tag and time, each alone and all together", async (world) => {
      const start = world.clock.now();
      const jobs = await world.addMany(12, (index) => ({
        type: `t${index % 2}`,
        queue: `q${index % 3}`,
        priority: index,
        tags: index % 4 === 0 ? ["four", `n${index}`] : [],
      }));
      world.clock.advance(1_000);
      const late = await world.add({ delay: 10 });
      await world.cancel(jobs[5]!.id);
      const matching = (test: (job: NewJob, index: number) => boolean): string[] => idsOf(jobs.filter(test)).reverse();

      expect(await ids(world, { status: ["scheduled"] })).toEqual([late.id]);
      expect(await ids(world, { status: ["cancelled", "scheduled"] })).toEqual([late.id, jobs[5]!.id]);
      expect(await ids(world, { status: [] })).toEqual([]);
      expect(await ids(world, { type: "t1" })).toEqual(matching((_, index) => index % 2 === 1));
      expect(await ids(world, { queue: "q2" })).toEqual(matching((_, index) => index % 3 === 2));
      expect(await ids(world, { queue: "nowhere" })).toEqual([]);
      expect(await ids(world, { type: "nothing" })).toEqual([]);
      expect(await ids(world, { priority: { min: 3, max: 5 } })).toEqual(matching(({ priority }) => priority >= 3 && priority <= 5));
      expect(await ids(world, { tag: "four" })).toEqual(matching((_, index) => index % 4 === 0));
      expect(await ids(world, { tag: "n8" })).toEqual([jobs[8]!.id]);
      expect(await ids(world, { tag: "n" })).toEqual([]);
      expect(await ids(world, { from: start + 1_000 })).toEqual([late.id]);
      expect(await ids(world, { to: start + 1_000 })).toEqual(idsOf(jobs).reverse());
      expect(await ids(world, { from: start, to: start })).toEqual([]);
      expect(
        await ids(world, {
          status: ["pending"],
          type: "t0",
          queue: "q1",
          tag: "four",
          priority: { min: 4, max: 4 },
          from: start,
          to: start + 1,
        }),
      ).toEqual([jobs[4]!.id]);
    });

    keeps("a status filter follows the jobs as they move", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      expect(await ids(world, { status: ["running"] })).toEqual([lease.id]);
      await world.fail(lease, 100);
      expect(await ids(world, { status: ["running"] })).toEqual([]);
      expect(await ids(world, { status: ["retrying"] })).toEqual([lease.id]);
      world.clock.advance(100);
      await world.store.promote(1);
      expect(await ids(world, { status: ["pending"], queue: "default" })).toEqual([lease.id]);
      await world.complete(await world.take());
      expect(await ids(world, { status: ["completed"], type: "task" })).toEqual([lease.id]);
      await world.remove(lease.id);
      expect(await ids(world, {})).toEqual([]);
    });

    keeps("what neither came nor left nor changed while one paged is seen exactly once", async (world) => {
      const jobs = await world.addMany(40);
      const seen: string[] = [];
      let cursor: string | null = null;
      let round = 0;
      do {
        const page = await world.store.list({ limit: 4, cursor: cursor ?? undefined });
        seen.push(...idsOf(page.jobs));
        cursor = page.cursor;
        world.clock.advance(round % 2);
        await world.addMany(3);
        await world.cancel(jobs[39 - round]!.id); // one that was seen already
        await world.remove(jobs[39 - round]!.id);
        round++;
      } while (cursor !== null);
      const steady = idsOf(jobs.slice(0, 25)).reverse();
      expect(seen.filter((id) => steady.includes(id))).toEqual(steady);
      expect(new Set(seen).size).toBe(seen.length);
    });

    keeps("a page that looked at many jobs in vain still leads to the one that matches", async (world) => {
      const wanted = await world.add({ tags: ["wanted"] });
      await world.addMany(MAX_CANDIDATES + 1_000, (index) => ({ priority: index % 3 }));
      const found = await pages(world, { tag: "wanted", limit: 10 });
      expect(found.flat().map(({ id }) => id)).toEqual([wanted.id]);
      expect(await ids(world, { status: ["cancelled"] })).toEqual([]);
      expect(found.length).toBeLessThanOrEqual(4);
    });

    for (const cursor of ["", "x", "%", "null", "0", "eyJhIjoxfQ", "999999999999999999999", "'; drop table jobs; --", "\u0000"]) {
      keeps(`B15: a cursor that is not one is refused: ${JSON.stringify(cursor)}`, async (world) => {
        await world.add();
        await expect(world.store.list({ limit: 10, cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
      });
    }
  });

  describe("attempts", () => {
    keeps("a job that never ran has none, and neither has one that is not there", async (world) => {
      const job = await world.add();
      expect(await world.store.attempts(job.id)).toEqual([]);
      expect(await world.store.attempts(world.newId())).toEqual([]);
    });

    keeps("the running attempt has no end yet", async (world) => {
      const lease = await world.running({}, { workerId: "w" });
      expect(await world.store.attempts(lease.id)).toEqual([
        { number: 1, workerId: "w", startedAt: lease.startedAt, endedAt: null, durationMs: null, outcome: "running", error: null },
      ]);
    });

    keeps("all come in order, one for each that was not given back, each with its own worker and end", async (world) => {
      const { id } = await world.add({ maxRetries: 5, retryDelay: 0 });
      const expected = [];
      for (let number = 1; number <= 3; number++) {
        const lease = await world.take({ workerId: `w-${number}` });
        world.clock.advance(number);
        await world.settle(lease, { kind: "failed", error: { ...BOOM, message: `boom ${number}` }, runMs: number * 10 });
        expected.push({
          number,
          workerId: `w-${number}`,
          startedAt: lease.startedAt,
          endedAt: world.clock.now(),
          durationMs: number * 10,
          outcome: "failed",
          error: withGroup({ ...BOOM, message: `boom ${number}` }),
        });
        await world.store.promote(1);
        const back = await world.take({ workerId: "gives back" });
        await (number % 2 === 0 ? world.release(back) : world.snooze(back, 1_000));
        world.clock.advance(1_000);
        await world.store.promote(1);
      }
      expect(await world.store.attempts(id)).toEqual(expected);
      const last = await world.take({ workerId: "last" });
      expect(await world.store.attempts(id)).toMatchObject([...expected, { number: 4, outcome: "running", workerId: "last" }]);
      expect(last.attempt).toBe(4);
    });
  });

  describe("logs", () => {
    keeps("come from after a number, in order, at most as many as asked for", async (world) => {
      const lease = await world.running();
      await world.note(
        lease,
        Array.from({ length: 10 }, (_, index) => `line ${index + 1}`),
      );
      const numbers = async (after: number, limit: number): Promise<number[]> =>
        (await world.store.logs(lease.id, after, limit)).map(({ number }) => number);
      expect(await numbers(0, 3)).toEqual([1, 2, 3]);
      expect(await numbers(3, 100)).toEqual([4, 5, 6, 7, 8, 9, 10]);
      expect(await numbers(10, 100)).toEqual([]);
      expect(await world.store.logs(world.newId(), 0, 10)).toEqual([]);
    });

    keeps("stay with an ended job and through a retry by hand", async (world) => {
      const lease = await world.running({}, { leaseMs: LEASE_MS });
      await world.note(lease, ["kept"]);
      await world.discard(lease);
      await world.retry(lease.id);
      expect(await world.store.logs(lease.id, 0, 10)).toMatchObject([{ number: 1, text: "kept" }]);
    });
  });
}
