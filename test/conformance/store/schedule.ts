import { describe, expect } from "vitest";
import type { NewJob } from "../../../src/core/job.ts";
import { JOB_DEFAULTS, createJob, readJobOptions } from "../../../src/core/job-options.ts";
import type { ScheduleRecord, ScheduleSpec } from "../../../src/core/schedule-record.ts";
import type { Tick } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type Wishes, type World } from "../world.ts";

const MINUTE_MS = 60_000;

function specOf(name: string, change: Partial<ScheduleSpec> = {}): ScheduleSpec {
  const options = { queue: "cron", priority: 3, tags: ["nightly"], meta: { a: 1 } };
  const {
    id: _id,
    delayMs: _d,
    runAt: _r,
    idempotencyKey: _k,
    keyTtlMs: _t,
    fingerprint: _f,
    facets: _facets,
    ...job
  } = createJob("", "report", { day: 1, __proto__x: "\u0000" }, readJobOptions(options, JOB_DEFAULTS, 0));
  return { name, timing: { kind: "every", everyMs: MINUTE_MS }, job, catchUp: "one", overlap: "allow", paused: false, ...change };
}

async function stored(world: World, name: string): Promise<ScheduleRecord | undefined> {
  return (await world.store.schedules([name])).schedules[0];
}

/** Stores a schedule whose next tick is a minute from now. */
async function put(world: World, name: string, change: Partial<ScheduleSpec> = {}): Promise<ScheduleRecord> {
  const expected = (await stored(world, name))?.version ?? null;
  expect(await world.store.putSchedule(specOf(name, change), world.clock.now() + MINUTE_MS, expected)).toBe(true);
  return (await stored(world, name))!;
}

function jobOf(world: World, wishes: Wishes = {}): NewJob {
  return world.job({ type: "report", queue: "cron", ...wishes });
}

/** Takes the next tick of a schedule as it is stored. */
function tickOf(world: World, schedule: ScheduleRecord, change: Partial<Tick> = {}): Tick {
  const { name, version, nextTick } = schedule;
  return { name, version, tick: nextTick, nextTick: nextTick! + MINUTE_MS, job: jobOf(world), ...change };
}

export function scheduleSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("schedules", () => {
    keeps("a schedule is stored as it was given", async (world) => {
      const spec = specOf("nightly", { timing: { kind: "cron", cron: "0 3 * * *", timeZone: "Europe/Berlin" }, overlap: "skip" });
      const now = world.clock.now();
      expect(await world.store.putSchedule(spec, now + 5, null)).toBe(true);
      const { now: told, schedules } = await world.store.schedules("all");
      expect(told).toBe(now);
      expect(schedules).toEqual([
        {
          ...spec,
          version: expect.any(Number) as unknown,
          nextTick: now + 5,
          lastTick: null,
          lastJobId: null,
          createdAt: now,
          updatedAt: now,
        },
      ]);
    });

    keeps("names are asked for one by one; what is not there is left out", async (world) => {
      await put(world, "a");
      await put(world, "b");
      await put(world, "c");
      const { schedules } = await world.store.schedules(["c", "nobody", "a"]);
      expect(schedules.map(({ name }) => name).sort()).toEqual(["a", "c"]);
      expect((await world.store.schedules([])).schedules).toEqual([]);
      expect((await world.store.schedules("all")).schedules.map(({ name }) => name).sort()).toEqual(["a", "b", "c"]);
    });

    keeps("a write is made only over the version that was seen", async (world) => {
      const first = await put(world, "a");
      expect(await world.store.putSchedule(specOf("a", { paused: true }), 1, null)).toBe(false);
      expect(await world.store.putSchedule(specOf("a", { paused: true }), 1, first.version + 1)).toBe(false);
      expect(await world.store.putSchedule(specOf("b"), 1, 1)).toBe(false);
      expect(await stored(world, "a")).toEqual(first);
      expect(await stored(world, "b")).toBeUndefined();
      world.clock.advance(10);
      expect(await world.store.putSchedule(specOf("a", { catchUp: "skip" }), null, first.version)).toBe(true);
      const second = (await stored(world, "a"))!;
      expect(second).toMatchObject({ catchUp: "skip", nextTick: null, createdAt: first.createdAt, updatedAt: world.clock.now() });
      expect(second.version).toBeGreaterThan(first.version);
      expect(await world.store.putSchedule(specOf("a"), 1, first.version)).toBe(false);
    });

    keeps("T07: of twenty that write at once over two connections, one does", async (world) => {
      const other = await world.elsewhere();
      const write = (expected: number | null): Promise<boolean[]> =>
        Promise.all(
          Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? world : other).store.putSchedule(specOf("a"), index, expected)),
        );
      expect((await write(null)).filter(Boolean)).toHaveLength(1);
      const { version } = (await stored(world, "a"))!;
      expect((await write(version)).filter(Boolean)).toHaveLength(1);
      expect((await world.store.schedules("all")).schedules).toHaveLength(1);
    });

    keeps("a new write keeps the last tick and the last job", async (world) => {
      const schedule = await put(world, "a");
      world.clock.advance(MINUTE_MS);
      const tick = tickOf(world, schedule);
      expect(await world.store.tick([tick])).toEqual(["ticked"]);
      const after = await put(world, "a", { paused: true });
      expect(after).toMatchObject({ lastTick: tick.tick, lastJobId: tick.job!.id, paused: true });
    });

    keeps("a removed schedule is gone, and its jobs stay", async (world) => {
      const schedule = await put(world, "a");
      const tick = tickOf(world, schedule);
      await world.store.tick([tick]);
      expect(await world.store.removeSchedule("a")).toBe(true);
      expect(await world.store.removeSchedule("a")).toBe(false);
      expect((await world.store.schedules("all")).schedules).toEqual([]);
      expect(await world.status(tick.job!.id)).toBe("pending");
      world.clock.advance(10 * MINUTE_MS);
      expect(await world.store.dueSchedules(10)).toMatchObject({ schedules: [], nextInMs: null });
    });

    keeps("a version is never used twice for a name, also after a removal", async (world) => {
      const versions: number[] = [];
      for (let round = 0; round < 3; round++) {
        versions.push((await put(world, "a")).version, (await put(world, "a")).version);
        await world.store.removeSchedule("a");
      }
      expect(new Set(versions).size).toBe(6);
      const again = await put(world, "a");
      for (const version of versions) {
        expect(await world.store.putSchedule(specOf("a"), 1, version)).toBe(false);
        expect(await world.store.tick([tickOf(world, { ...again, version })])).toEqual(["stale"]);
      }
      expect(again).toMatchObject({ lastTick: null, lastJobId: null });
    });
  });

  describe("due schedules", () => {
    keeps("are those whose tick has come, and the time until the next one", async (world) => {
      const start = world.clock.now();
      await world.store.putSchedule(specOf("early"), start + 1_000, null);
      await world.store.putSchedule(specOf("late"), start + 5_000, null);
      await world.store.putSchedule(specOf("never"), null, null);
      await world.store.putSchedule(specOf("paused", { paused: true }), start + 500, null);
      expect(await world.store.dueSchedules(10)).toEqual({ now: start, schedules: [], nextInMs: 1_000 });
      world.clock.advance(1_000);
      const due = await world.store.dueSchedules(10);
      expect(due).toEqual({ now: start + 1_000, schedules: [await stored(world, "early")], nextInMs: 4_000 });
      world.clock.advance(10_000);
      const names = (await world.store.dueSchedules(10)).schedules.map(({ name }) => name);
      expect(names.sort()).toEqual(["early", "late"]);
      expect((await world.store.dueSchedules(1)).schedules).toHaveLength(1);
    });

    keeps("none at all: nothing to wait for", async (world) => {
      expect(await world.store.dueSchedules(10)).toEqual({ now: world.clock.now(), schedules: [], nextInMs: null });
    });

    keeps("a schedule that was paused is not due, and is again once resumed", async (world) => {
      const schedule = await put(world, "a");
      world.clock.advance(MINUTE_MS);
      await world.store.putSchedule(specOf("a", { paused: true }), schedule.nextTick, schedule.version);
      expect(await world.store.dueSchedules(10)).toMatchObject({ schedules: [], nextInMs: null });
      const paused = (await stored(world, "a"))!;
      await world.store.putSchedule(specOf("a"), schedule.nextTick, paused.version);
      expect((await world.store.dueSchedules(10)).schedules.map(({ name }) => name)).toEqual(["a"]);
    });
  });

  describe("tick", () => {
    keeps("inserts the job and moves the schedule on, in one step", async (world) => {
      const schedule = await put(world, "a");
      world.clock.advance(MINUTE_MS);
      const tick = tickOf(world, schedule);
      expect(await world.store.tick([tick])).toEqual(["ticked"]);
      expect(await world.find(tick.job!.id)).toMatchObject({ status: "pending", type: "report", createdAt: world.clock.now() });
      expect(await stored(world, "a")).toMatchObject({ lastTick: tick.tick, nextTick: tick.nextTick, lastJobId: tick.job!.id });
      expect(await world.counts("cron")).toEqual({ pending: 1 });
      expect(await world.total("enqueued", "cron")).toBe(1);
      expect(await world.store.dueSchedules(10)).toMatchObject({ schedules: [], nextInMs: MINUTE_MS });
    });

    keeps("puts the job into the index of its facets", async (world) => {
      const job = jobOf(world, { payload: { customer: "globex" }, fields: ["customer"] });
      expect(await world.store.tick([tickOf(world, await put(world, "a"), { job })])).toEqual(["ticked"]);
      const { jobs } = await world.store.list({ queue: "cron", facets: { customer: "globex" }, limit: 10 });
      expect(jobs).toMatchObject([{ id: job.id, facets: { customer: "globex" } }]);
    });

    keeps("T03, T04: any number of processes may tick at once: one job a tick", async (world) => {
      const other = await world.elsewhere();
      await put(world, "a");
      for (let round = 1; round <= 5; round++) {
        world.clock.advance(MINUTE_MS);
        const seen = (await stored(world, "a"))!;
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? world : other).store.tick([tickOf(world, seen)])),
        );
        expect(answers.flat().filter((answer) => answer === "ticked")).toHaveLength(1);
        expect(answers.flat().filter((answer) => answer === "stale")).toHaveLength(9);
        expect(await world.counts("cron")).toEqual({ pending: round });
      }
    });

    keeps("a tick at or before the last one is ignored, also by one who read the schedule anew (T04)", async (world) => {
      const schedule = await put(world, "a");
      world.clock.advance(5 * MINUTE_MS);
      await world.store.tick([tickOf(world, schedule, { tick: schedule.nextTick! + MINUTE_MS })]);
      const seen = (await stored(world, "a"))!;
      const late = [tickOf(world, seen, { tick: seen.lastTick }), tickOf(world, seen, { tick: seen.lastTick! - MINUTE_MS })];
      expect(await world.store.tick(late)).toEqual(["stale", "stale"]);
      expect(await stored(world, "a")).toEqual(seen);
      expect(await world.counts("cron")).toEqual({ pending: 1 });
    });

    keeps("a tick over a version that is gone is ignored, and leaves no job", async (world) => {
      const schedule = await put(world, "a");
      await put(world, "a", { paused: true });
      const tick = tickOf(world, schedule);
      expect(await world.store.tick([tick])).toEqual(["stale"]);
      expect(await world.status(tick.job!.id)).toBeNull();
      expect(await world.store.tick([{ ...tick, name: "nobody" }])).toEqual(["stale"]);
    });

    keeps("the very tick sent again, its answer lost, was taken by this caller: ticked, and no second job", async (world) => {
      const schedule = await put(world, "a");
      const tick = tickOf(world, schedule);
      expect(await world.store.tick([tick])).toEqual(["ticked"]);
      const after = await stored(world, "a");
      expect(await world.store.tick([tick])).toEqual(["ticked"]);
      expect(await stored(world, "a")).toEqual(after);
      expect(await world.counts("cron")).toEqual({ pending: 1 });
      await put(world, "a", { paused: true });
      expect(await world.store.tick([tick])).toEqual(["ticked"]);
    });

    keeps("without a job the tick is taken without a run", async (world) => {
      const schedule = await put(world, "a");
      expect(await world.store.tick([tickOf(world, schedule, { job: null })])).toEqual(["ticked"]);
      expect(await stored(world, "a")).toMatchObject({
        lastTick: schedule.nextTick,
        nextTick: schedule.nextTick! + MINUTE_MS,
        lastJobId: null,
      });
      expect(await world.store.queues()).toEqual([]);
    });

    keeps("into a full queue it is skipped but taken", async (world) => {
      await world.store.configure("cron", { capacity: 1 });
      const schedule = await put(world, "a");
      const [first, second] = [tickOf(world, schedule), jobOf(world)];
      expect(await world.store.tick([first])).toEqual(["ticked"]);
      const seen = (await stored(world, "a"))!;
      expect(await world.store.tick([tickOf(world, seen, { job: second })])).toEqual(["full"]);
      expect(await world.status(second.id)).toBeNull();
      expect(await stored(world, "a")).toMatchObject({
        lastTick: seen.nextTick,
        nextTick: seen.nextTick! + MINUTE_MS,
        lastJobId: first.job!.id,
      });
      expect(await world.total("enqueued", "cron")).toBe(1);
    });

    keeps("a run by hand inserts a job and moves no tick; its repeat is the same run", async (world) => {
      const schedule = await put(world, "a");
      const byHand = tickOf(world, schedule, { tick: null, nextTick: null });
      expect(await world.store.tick([byHand])).toEqual(["ticked"]);
      expect(await world.status(byHand.job!.id)).toBe("pending");
      expect(await stored(world, "a")).toMatchObject({ lastTick: null, nextTick: schedule.nextTick });
      expect(await world.store.tick([byHand])).toEqual(["ticked"]);
      expect(await world.counts("cron")).toEqual({ pending: 1 });
      world.clock.advance(MINUTE_MS);
      expect(await world.store.tick([tickOf(world, (await stored(world, "a"))!)])).toEqual(["ticked"]);
    });

    keeps("answers come tick by tick, in order; one refusal is its own", async (world) => {
      const [a, b] = [await put(world, "a"), await put(world, "b")];
      const answers = await world.store.tick([tickOf(world, a), tickOf(world, { ...b, version: b.version + 100 }), tickOf(world, b)]);
      expect(answers).toEqual(["ticked", "stale", "ticked"]);
      expect(await world.store.tick([])).toEqual([]);
    });

    keeps("T10: a clock that is set back makes no tick happen twice", async (world) => {
      const schedule = await put(world, "a");
      world.clock.advance(MINUTE_MS);
      await world.store.tick([tickOf(world, schedule)]);
      world.clock.step(-60 * MINUTE_MS);
      const seen = (await stored(world, "a"))!;
      expect(await world.store.tick([tickOf(world, seen, { tick: schedule.nextTick })])).toEqual(["stale"]);
      expect(await world.counts("cron")).toEqual({ pending: 1 });
    });
  });
}
