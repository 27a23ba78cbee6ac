import { describe, expect } from "vitest";
import type { NewJob } from "../../../src/core/job.ts";
import { STRICT_HEAD_START_MS } from "../../../src/core/rank.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

async function oldest(world: World): Promise<Record<string, number>> {
  const { now, lanes } = await world.store.oldest();
  expect(now).toBe(world.clock.now());
  return Object.fromEntries(lanes.map(({ queue, type, runAt }) => [`${queue} ${type}`, now - runAt]));
}

export function waitingSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("oldest", () => {
    keeps("tells of each queue and type with pending jobs how long one waits already, of others nothing", async (world) => {
      expect(await oldest(world)).toEqual({});
      await world.add({ queue: "a" });
      await world.add({ queue: "later", delay: 60_000 });
      await world.ended("completed", { queue: "done" });
      world.clock.advance(500);
      await world.add({ queue: "a" });
      await world.add({ queue: "b" });
      world.clock.advance(200);
      expect(await oldest(world)).toEqual({ "a task": 700, "b task": 200 });
      await world.take({ queues: ["a"] });
      expect(await oldest(world)).toEqual({ "a task": 200, "b task": 200 });
    });

    keeps("counts from when a job was due, not from when it was made", async (world) => {
      await world.add({ delay: 1_000 });
      world.clock.advance(3_000);
      await world.store.promote(10);
      expect(await oldest(world)).toEqual({ "default task": 2_000 });
    });

    keeps("sees the one that others of higher priority keep waiting, in each lane", async (world) => {
      await world.add({ type: "slow", priority: -100 });
      world.clock.advance(100);
      await world.add({ type: "slow", priority: 5 });
      await world.add({ type: "fast", priority: 0 });
      world.clock.advance(100);
      await world.add({ type: "slow", priority: 100 });
      await world.add({ type: "fast", priority: 20 });
      expect(await oldest(world)).toEqual({ "default slow": 200, "default fast": 100 });
      await world.claim({ types: ["slow"], limit: 3 });
      expect(await oldest(world)).toEqual({ "default fast": 100 });
    });

    keeps("is told also while a queue is being ranked anew", async (world) => {
      await world.store.configure("default", { headStartMs: 60_000 });
      for (const priority of [0, 20, 100]) await world.add({ priority });
      world.clock.advance(300);
      await world.store.configure("default", { headStartMs: STRICT_HEAD_START_MS });
      expect(await oldest(world)).toEqual({ "default task": 300 });
    });

    keeps("sees the first of a queue whose head start is short", async (world) => {
      await world.store.configure("default", { headStartMs: 1_000 });
      await world.rerank();
      await world.add({ priority: 3 });
      world.clock.advance(300);
      await world.add({ priority: 3 });
      expect(await oldest(world)).toEqual({ "default task": 300 });
    });
  });

  describe("ahead", () => {
    const positions = (world: World, jobs: readonly NewJob[], types: readonly string[] | "*" = "*"): Promise<(number | null)[]> =>
      Promise.all(jobs.map(({ id }) => world.store.ahead(id, types, 1_000)));

    keeps("counts what would be claimed before, in the order of claims", async (world) => {
      const jobs = await world.addMany(30, (index) => ({ type: `t${index % 3}`, priority: (index % 4) * 10 }));
      await world.addMany(5, { queue: "other" });
      const before = await positions(world, jobs);
      const claimed = await world.claim();
      expect(jobs.map(({ id }) => claimed.findIndex((lease) => lease.id === id))).toEqual(before);
    });

    keeps("counts only the types that are named, each once", async (world) => {
      const jobs = await world.addMany(12, (index) => ({ type: `t${index % 3}` }));
      const last = jobs.slice(-1);
      expect(await positions(world, last, ["t2"])).toEqual([3]);
      expect(await positions(world, last, ["t2", "t0", "t2", "never seen"])).toEqual([7]);
      expect(await positions(world, last, [])).toEqual([0]);
      expect(await positions(world, last)).toEqual([11]);
    });

    keeps("follows a short head start", async (world) => {
      await world.store.configure("default", { headStartMs: 1_000 });
      await world.rerank();
      const jobs: NewJob[] = [];
      for (let index = 0; index < 12; index++) {
        jobs.push(await world.add({ type: `t${index % 2}`, priority: (index * 5) % 7 }));
        world.clock.advance(1_500);
      }
      const before = await positions(world, jobs);
      const claimed = await world.claim();
      expect(jobs.map(({ id }) => claimed.findIndex((lease) => lease.id === id))).toEqual(before);
    });

    keeps("counts no further than it is told", async (world) => {
      const jobs = await world.addMany(50, (index) => ({ type: `t${index % 2}` }));
      expect(await world.store.ahead(jobs[49]!.id, "*", 20)).toBe(20);
      expect(await world.store.ahead(jobs[10]!.id, "*", 20)).toBe(10);
    });

    keeps("is nothing for a job that is not pending", async (world) => {
      const running = await world.running();
      const later = await world.add({ delay: 1_000 });
      const done = await world.ended("cancelled");
      for (const id of [running.id, later.id, done.id, world.newId()]) expect(await world.store.ahead(id, "*", 10)).toBeNull();
      await world.release(running);
      expect(await world.store.ahead(running.id, "*", 10)).toBe(0);
    });
  });
}
