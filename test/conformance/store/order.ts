import { describe, expect } from "vitest";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const MINUTE_MS = 60_000;

/** Claims one by one, as a worker with a single slot would, and tells the ids in order. */
async function drain(world: World, types: readonly string[] | "*" = "*"): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const [lease] = await world.claim({ limit: 1, types });
    if (lease === undefined) return ids;
    ids.push(lease.id);
  }
}

export function orderSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("order", () => {
    keeps("priority is strict by default: the highest first, first come first served inside a priority (S34)", async (world) => {
      const priorities = [0, 20, -100, 10, 0, 100, -10, 20, 0, 99, -99];
      const jobs = [];
      for (const priority of priorities) {
        jobs.push(await world.add({ priority }));
        world.clock.advance(3_600_000);
      }
      const expected = [...jobs].sort((a, b) => b.priority - a.priority).map(({ id }) => id);
      expect(await drain(world)).toEqual(expected);
    });

    keeps("jobs that come in while others are taken find their place (S34)", async (world) => {
      const [a, b] = await world.addMany(2, { priority: 0 });
      expect((await world.take()).id).toBe(a!.id);
      const urgent = await world.add({ priority: 1 });
      const later = await world.add({ priority: 0 });
      expect(await drain(world)).toEqual([urgent.id, b!.id, later.id]);
    });

    keeps("with a head start of a minute a job overtakes what came at most its distance in minutes before", async (world) => {
      await world.store.configure("default", { headStartMs: MINUTE_MS });
      const early = await world.add({ priority: 0 });
      world.clock.advance(9 * MINUTE_MS);
      const middle = await world.add({ priority: 0 });
      world.clock.advance(MINUTE_MS);
      const tie = await world.add({ priority: 10 }); // exactly ten minutes after `early`: a tie, which the sequence decides
      world.clock.advance(1);
      const late = await world.add({ priority: 10 });
      expect(await drain(world)).toEqual([early.id, tie.id, late.id, middle.id]);
    });

    keeps("with a head start of nothing, time alone decides", async (world) => {
      await world.store.configure("default", { headStartMs: 0 });
      const first = await world.add({ priority: "low" });
      world.clock.advance(1);
      const second = await world.add({ priority: "critical" });
      expect(await drain(world)).toEqual([first.id, second.id]);
    });

    keeps("a low job is not starved under a head start (I11)", async (world) => {
      await world.store.configure("default", { headStartMs: MINUTE_MS });
      const low = await world.add({ priority: -10 });
      for (let minute = 0; minute < 31; minute++) {
        await world.add({ priority: 20 });
        world.clock.advance(MINUTE_MS);
      }
      // Thirty minutes is its distance: every urgent job of the first thirty goes before it, the later one behind it.
      expect((await drain(world)).indexOf(low.id)).toBe(30);
    });

    keeps("a released job keeps its place (S33)", async (world) => {
      const jobs = await world.addMany(3);
      const lease = await world.take();
      world.clock.advance(1_000);
      await world.add({ priority: 0 });
      await world.release(lease);
      expect((await drain(world)).slice(0, 3)).toEqual(jobs.map(({ id }) => id));
    });

    keeps("a released job keeps its priority (S33)", async (world) => {
      const urgent = await world.running({ priority: "critical" });
      const other = await world.add();
      await world.release(urgent);
      expect(await drain(world)).toEqual([urgent.id, other.id]);
    });

    keeps("a retried job ranks from its due time, not from its promotion nor its creation (S33)", async (world) => {
      const failing = await world.running({ maxRetries: 3 });
      await world.fail(failing, 2_000);
      world.clock.advance(1_000);
      const before = await world.add();
      world.clock.advance(2_000);
      const after = await world.add();
      world.clock.advance(60_000);
      await world.store.promote(10);
      expect(await drain(world)).toEqual([before.id, failing.id, after.id]);
    });

    keeps("a scheduled job ranks from its due time, however late it is promoted", async (world) => {
      const scheduled = await world.add({ delay: 1_000 });
      world.clock.advance(5_000);
      const later = await world.add();
      await world.store.promote(10);
      expect(await drain(world)).toEqual([scheduled.id, later.id]);
    });

    keeps("a lost job keeps its priority (S33)", async (world) => {
      const lease = await world.running({ priority: 7, retryDelay: 0 });
      await world.add({ priority: 8 });
      world.clock.advance(60_000);
      await world.add({ priority: 6 });
      expect(await world.lose(lease)).toBe("ok");
      await world.store.promote(10);
      expect((await drain(world)).indexOf(lease.id)).toBe(1);
    });

    keeps("a retry by hand ranks now: behind those that waited", async (world) => {
      const dead = await world.ended("dead");
      world.clock.advance(10);
      const waiting = await world.add();
      world.clock.advance(10);
      await world.retry(dead.id);
      world.clock.advance(10);
      const newer = await world.add();
      expect(await drain(world)).toEqual([waiting.id, dead.id, newer.id]);
    });

    keeps("a job that is run now ranks now", async (world) => {
      const scheduled = await world.add({ delay: 3_600_000 });
      world.clock.advance(10);
      const waiting = await world.add();
      world.clock.advance(10);
      await world.runNow(scheduled.id);
      world.clock.advance(10);
      const newer = await world.add();
      expect(await drain(world)).toEqual([waiting.id, scheduled.id, newer.id]);
    });

    keeps("equal ranks go by sequence over all types", async (world) => {
      const jobs = await world.addMany(40, (index) => ({ type: `t${(index * 7) % 5}` }));
      expect(await drain(world)).toEqual(jobs.map(({ id }) => id));
    });
  });

  describe("rerank", () => {
    keeps("a new head start reorders what waits already, in batches that come to an end", async (world) => {
      const urgent: string[] = [];
      const plain: string[] = [];
      for (let index = 0; index < 20; index++) {
        plain.push((await world.add({ priority: 0, type: `t${index % 3}` })).id);
        urgent.push((await world.add({ priority: 1, type: `t${index % 3}` })).id);
        world.clock.advance(1_000);
      }
      await world.store.configure("default", { headStartMs: 0 });
      await world.rerank("default", 7);
      expect(await world.store.rerank("default", 7)).toBe(false);
      expect(await drain(world)).toEqual(plain.flatMap((id, index) => [id, urgent[index]!]));
    });

    keeps("back to strict: the head start can be raised again", async (world) => {
      await world.store.configure("default", { headStartMs: 0 });
      const first = await world.add({ priority: 0 });
      world.clock.advance(1_000);
      const second = await world.add({ priority: 1 });
      await world.store.configure("default", { headStartMs: 2 ** 43 });
      await world.rerank();
      expect(await drain(world)).toEqual([second.id, first.id]);
    });

    keeps("a head start that did not change asks for nothing", async (world) => {
      await world.addMany(10);
      expect(await world.store.rerank("default", 100)).toBe(false);
      await world.store.configure("default", { headStartMs: 2 ** 43, capacity: 1_000 });
      expect(await world.store.rerank("default", 100)).toBe(false);
      expect(await world.store.rerank("nowhere", 100)).toBe(false);
    });

    keeps("jobs that enter pending before rerank is done have the new rank already", async (world) => {
      const released = await world.running({ priority: 0 });
      const scheduled = await world.add({ priority: 5, delay: 1_000 });
      world.clock.advance(500);
      await world.addMany(5, { priority: 3 });
      await world.store.configure("default", { headStartMs: 0 });
      world.clock.advance(1_000);
      const late = await world.add({ priority: 100 });
      await world.release(released);
      await world.store.promote(10);
      await world.rerank("default", 2);
      const order = await drain(world);
      expect(order[0]).toBe(released.id);
      expect(order.slice(-2)).toEqual([scheduled.id, late.id]);
    });

    keeps("no job is lost or doubled while ranks change under claims", async (world) => {
      const jobs = await world.addMany(50, (index) => ({ priority: index % 5 }));
      const taken: string[] = [];
      for (let round = 0; round < 5; round++) {
        await world.store.configure("default", { headStartMs: round * 1_000 });
        await world.store.rerank("default", 9);
        taken.push(...(await world.claim({ limit: 5 })).map(({ id }) => id));
        await world.store.rerank("default", 9);
        taken.push(...(await world.claim({ limit: 5 })).map(({ id }) => id));
      }
      expect(taken).toHaveLength(50);
      expect(new Set(taken)).toEqual(new Set(jobs.map(({ id }) => id)));
    });
  });
}
