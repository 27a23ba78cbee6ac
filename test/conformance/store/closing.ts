import { describe, expect } from "vitest";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { claimOf, keepsOn, LEASE_MS } from "../world.ts";
import { result, signalTo } from "./durable-work.ts";

const CALLS: Record<string, (store: Store) => Promise<unknown>> = {
  insert: (store) => store.insert([]),
  exchange: (store) => store.exchange([], [claimOf()]),
  extend: (store) => store.extend([{ id: "0199d3a0-0000-7000-8000-000000000000", fence: 1, leaseMs: 1 }]),
  note: (store) => store.note([{ id: "0199d3a0-0000-7000-8000-000000000000", fence: 1, progress: null, lines: [] }]),
  keepSteps: (store) => store.keepSteps([{ id: "0199d3a0-0000-7000-8000-000000000000", fence: 1, steps: [result("a")] }]),
  readSteps: (store) => store.readSteps("0199d3a0-0000-7000-8000-000000000000", null, null),
  endSteps: (store) => store.endSteps([signalTo("0199d3a0-0000-7000-8000-000000000000", "w")]),
  notices: (store) => store.notices(1),
  dropNotices: (store) => store.dropNotices(["1"]),
  change: (store) => store.change(["0199d3a0-0000-7000-8000-000000000000"], CANCEL),
  remove: (store) => store.remove(["0199d3a0-0000-7000-8000-000000000000"], ["dead"]),
  find: (store) => store.find(["0199d3a0-0000-7000-8000-000000000000"]),
  list: (store) => store.list({ limit: 1 }),
  promote: (store) => store.promote(1),
  expired: (store) => store.expired(1),
  queues: (store) => store.queues(),
  configure: (store) => store.configure("q", { paused: true }),
  counters: (store) => store.counters({ step: "all" }),
  schedules: (store) => store.schedules("all"),
  workers: (store) => store.workers(),
};

export function closingSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("close", () => {
    keeps("may be called twice, also at once", async (world) => {
      await Promise.all([world.store.close(), world.store.close()]);
      await world.store.close();
    });

    for (const [name, call] of Object.entries(CALLS)) {
      // A call with nothing in it has nothing to refuse.
      if (name === "insert") continue;
      keeps(`later calls fail with closed: ${name}`, async (world) => {
        await world.store.close();
        await expect(call(world.store)).rejects.toMatchObject({ code: "closed" });
      });
    }

    keeps("a later insert fails with closed and leaves nothing", async (world) => {
      const other = await world.elsewhere();
      const job = world.job();
      await world.store.close();
      await expect(world.insert(job)).rejects.toMatchObject({ code: "closed" });
      if (other.store !== world.store) expect(await other.status(job.id)).toBeNull();
    });

    keeps("calls under way finish", async (world) => {
      const other = await world.elsewhere();
      const jobs = world.jobs(50);
      const answers = Promise.all(jobs.map((job) => world.insert(job)));
      const closed = world.store.close();
      expect((await answers).filter(({ kind }) => kind === "created")).toHaveLength(50);
      await closed;
      if (other.store !== world.store) expect(await other.counts()).toEqual({ pending: 50 });
    });

    keeps("the store says how many batches are worth sending at once", async (world) => {
      expect([1, 2]).toContain(world.store.inFlight);
    });

    keeps("the store says whether its data can be opened a second time", async (world) => {
      expect(world.store.shareable).toBe(world.opened.reopen !== undefined);
    });
  });

  if (engine.forgets === undefined) {
    describe("a restart", () => {
      keeps("keeps jobs, history, logs, keys, settings, tallies and counters", async (world) => {
        await world.store.configure("default", { capacity: 9, headStartMs: 1_000, deadLetters: false });
        const lease = await world.running({ idempotencyKey: "k", maxRetries: 3, payload: "\u0000" });
        await world.note(lease, ["a line"], 5);
        await world.fail(lease, 10);
        const dead = await world.ended("dead");
        await world.add();
        const look = async (): Promise<unknown> => ({
          jobs: await world.store.find([lease.id, dead.id]),
          list: (await world.store.list({ limit: 10 })).jobs,
          attempts: await world.store.attempts(lease.id),
          logs: await world.store.logs(lease.id, 0, 10),
          queues: await world.store.queues(),
          totals: await world.store.counters({ step: "all" }),
        });
        const before = await look();
        await world.restart();
        expect(await look()).toEqual(before);
        expect(await world.insert(world.job({ idempotencyKey: "k", payload: "\u0000" }))).toMatchObject({
          kind: "known",
          job: { id: lease.id },
        });
      });

      keeps("keeps leases and their fences: the holder finishes as if nothing had been", async (world) => {
        const [lost, held] = [await world.running(), await world.running()];
        await world.restart();
        expect(await world.complete(held)).toBe("ok");
        expect(await world.complete(held)).toBe("ok");
        world.clock.advance(LEASE_MS);
        expect((await world.expired(10)).jobs.map(({ id }) => id)).toEqual([lost.id]);
      });

      keeps("C21: keeps a pause", async (world) => {
        await world.add();
        await world.store.configure("default", { paused: true });
        await world.restart();
        await world.add();
        expect(await world.claim()).toEqual([]);
        await world.store.configure("default", { paused: false });
        expect(await world.claim()).toHaveLength(2);
      });

      keeps("keeps the order of what waits", async (world) => {
        const first = await world.addMany(5);
        await world.restart();
        const second = await world.addMany(5);
        expect((await world.claim()).map(({ id }) => id)).toEqual([...first, ...second].map(({ id }) => id));
      });

      keeps("keeps what is due, and goes on with a rerank that was cut off", async (world) => {
        await world.add({ delay: 1_000 });
        const low = await world.add({ priority: -1 });
        world.clock.advance(100);
        const jobs = await world.addMany(6, { priority: 1 });
        await world.store.configure("default", { headStartMs: 0 });
        await world.store.rerank("default", 2);
        await world.restart();
        await world.rerank("default", 2);
        expect((await world.claim()).map(({ id }) => id)).toEqual([low.id, ...jobs.map(({ id }) => id)]);
        expect(await world.store.promote(1)).toEqual({ moved: 0, nextInMs: 900 });
      });
    });
  } else {
    describe(`a restart keeps nothing: ${engine.forgets}`, () => {
      keeps("two stores of this engine know nothing of each other", async (world) => {
        const job = await world.add({ idempotencyKey: "k" });
        expect(world.opened.reopen).toBeUndefined();
        const another = await engine.open({ clock: world.clock });
        try {
          expect(await another.store.find([job.id])).toEqual([null]);
          expect(await another.store.queues()).toEqual([]);
        } finally {
          await another.destroy();
        }
      });
    });
  }
}
