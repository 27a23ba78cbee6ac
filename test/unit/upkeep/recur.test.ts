import { describe, expect, test } from "vitest";
import { JOB_DEFAULTS } from "../../../src/core/job-options.ts";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import { nextTick } from "../../../src/core/schedule.ts";
import { readSchedule } from "../../../src/core/schedule-input.ts";
import { openWorld, START, type World } from "./open-upkeep.ts";

const MINUTE = 60_000;

async function schedule({ store, clock }: World, options: object): Promise<void> {
  const spec = readSchedule({ name: "s", type: "t", ...options }, JOB_DEFAULTS, clock.now());
  await store.putSchedule(spec, nextTick(spec.timing, clock.now()), null);
}

async function jobsOf({ store }: World): Promise<{ id: string; createdAt: number }[]> {
  const { jobs } = await store.list({ limit: 1000 });
  return jobs.map(({ id, createdAt }) => ({ id, createdAt })).reverse();
}

const madeAt = async (world: World): Promise<number[]> => (await jobsOf(world)).map(({ createdAt }) => (createdAt - START) / MINUTE);

describe("recur", () => {
  test("makes one job a tick, at its time", async () => {
    const world = await openWorld();
    world.start();
    await schedule(world, { cron: "*/2 * * * *", payload: { a: 1 }, queue: "q", priority: 5 });
    await world.clock.advance("5m");
    expect(await madeAt(world)).toEqual([2, 4]);
    expect((await world.store.list({ limit: 1 })).jobs[0]).toMatchObject({ type: "t", queue: "q", priority: 5, status: "pending" });
    expect((await world.store.schedules(["s"])).schedules[0]).toMatchObject({ lastTick: START + 4 * MINUTE, nextTick: START + 6 * MINUTE });
  });

  test("keeps up with a tick a second, and announces each job", async () => {
    const world = await openWorld();
    world.start();
    await schedule(world, { every: "1s" });
    await world.clock.advance("10s");
    expect(await jobsOf(world)).toHaveLength(10);
    expect(world.events.map((event) => event.event)).toEqual(Array.from({ length: 10 }, () => "job:created"));
  });

  test("by three processes makes each tick once", async () => {
    const world = await openWorld();
    for (let process = 0; process < 3; process++) world.start();
    await schedule(world, { cron: "* * * * *" });
    await world.clock.advance("10m");
    expect(await madeAt(world)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("is woken by a new schedule, and looks by itself when that hint is lost", async () => {
    const world = await openWorld();
    world.store.watch = () => () => {};
    world.start();
    await world.clock.advance(1);
    await schedule(world, { every: "1s" });
    await world.clock.advance("6s");
    expect((await jobsOf(world)).length).toBeGreaterThan(0);
  });

  test.each([
    ["one", 1],
    ["skip", 0],
  ] as const)("after downtime with catchUp %s makes %d runs for all the ticks that were missed", async (catchUp, runs) => {
    const world = await openWorld();
    await schedule(world, { cron: "0 * * * *", catchUp });
    await world.clock.advance("630m");
    world.start();
    await world.clock.settle();
    expect(await jobsOf(world)).toHaveLength(runs);
    expect(world.events.map((event) => event.event)).toEqual([catchUp === "one" ? "job:created" : "schedule:skipped"]);
    await world.clock.advance("30m");
    expect(await jobsOf(world)).toHaveLength(runs + 1);
    expect((await world.store.schedules(["s"])).schedules[0]!.lastTick).toBe(START + 660 * MINUTE);
  });

  test("does not spin, nor sleep long, when another process took every tick that it saw", async () => {
    const world = await openWorld();
    await schedule(world, { every: "1s" });
    const tick = world.store.tick.bind(world.store);
    world.store.tick = async (ticks) => ticks.map(() => "stale" as const);
    world.start();
    await world.clock.advance("1s");
    expect(world.calls.get("dueSchedules")).toBeLessThan(5);
    world.store.tick = tick;
    await world.clock.advance("250ms");
    expect(await jobsOf(world)).toHaveLength(1);
  });

  test("under skip does not take a tick for missed that it reaches a little late", async () => {
    const world = await openWorld();
    await schedule(world, { cron: "* * * * *", catchUp: "skip" });
    await world.clock.advance(MINUTE + 20_000);
    world.start();
    await world.clock.settle();
    expect(await jobsOf(world)).toHaveLength(1);
  });

  test("skips a tick while the last run is unfinished, if told so, and says it", async () => {
    const world = await openWorld();
    world.start();
    await schedule(world, { cron: "* * * * *", overlap: "skip" });
    await world.clock.advance("3m");
    const [job] = await jobsOf(world);
    expect(await madeAt(world)).toEqual([1]);
    expect(world.events.filter((event) => event.event === "schedule:skipped")).toMatchObject([
      { schedule: "s", queue: "default", reason: "the last run is unfinished" },
      { schedule: "s" },
    ]);
    await world.store.change([job!.id], CANCEL);
    await world.clock.advance("1m");
    expect(await madeAt(world)).toEqual([1, 4]);
  });

  test("takes a tick into a full queue without a run, says it, and goes on with the next", async () => {
    const world = await openWorld();
    await world.store.configure("small", { capacity: 1 });
    world.start();
    await schedule(world, { cron: "* * * * *", queue: "small" });
    await world.clock.advance("2m");
    expect(await madeAt(world)).toEqual([1]);
    expect(world.events.at(-1)).toMatchObject({ event: "schedule:skipped", schedule: "s", queue: "small", reason: "the queue is full" });
    await world.store.configure("small", { capacity: null });
    await world.clock.advance("1m");
    expect(await madeAt(world)).toEqual([1, 3]);
  });

  test("leaves a paused schedule alone", async () => {
    const world = await openWorld();
    world.start();
    const spec = readSchedule({ name: "s", type: "t", every: "1s" }, JOB_DEFAULTS, START);
    await world.store.putSchedule({ ...spec, paused: true }, START + 1000, null);
    await world.clock.advance("10s");
    expect(await jobsOf(world)).toEqual([]);
  });
});
