import { describe, expect } from "vitest";
import type { NewJob } from "../../../src/core/job.ts";
import { OPEN } from "../../../src/core/lifecycle.ts";
import type { ReplaceAnswer } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { setLimits } from "./limit-steps.ts";
import { keepsOn, type Wishes, type World } from "../world.ts";

const other = (world: World, job: NewJob, wishes: Wishes): NewJob => ({
  ...world.job({ queue: job.queue, type: job.type, ...wishes }),
  id: job.id,
});

async function replace(world: World, ...jobs: readonly NewJob[]): Promise<ReplaceAnswer[]> {
  return world.store.replace(jobs);
}

export function replaceSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a job in place of another", () => {
    keeps("that waits has all that the new one says, and its due time", async (world) => {
      const job = await world.add({ payload: "old", tags: ["a"], fields: ["n"], priority: -10, delay: 60_000 });
      const wishes = { payload: { n: "5" }, tags: ["b"], meta: { m: 1 }, priority: 20, webhookUrl: "https://example.com/x", fields: ["n"] };
      expect(await replace(world, other(world, job, wishes))).toEqual(["ok"]);
      expect(await world.find(job.id)).toMatchObject({
        status: "pending",
        payload: '{"n":"5"}',
        tags: ["b"],
        meta: '{"m":1}',
        priority: 20,
        webhookUrl: "https://example.com/x",
        facets: { n: "5" },
        fence: 0,
      });
      expect(await world.counts()).toEqual({ pending: 1 });
      const later = { ...other(world, job, { payload: "later" }), runAt: world.clock.now() + 5_000 };
      expect(await replace(world, later)).toEqual(["ok"]);
      expect(await world.find(job.id)).toMatchObject({ status: "scheduled", runAt: world.clock.now() + 5_000, facets: null, tags: [] });
      expect(await world.claim()).toEqual([]);
      world.clock.advance(5_000);
      await world.store.promote(10);
      expect(await world.take()).toMatchObject({ id: job.id, payload: '"later"', attempt: 1 });
      expect(await world.counts()).toEqual({ running: 1 });
    });

    keeps("that is blocked stays blocked, in a full queue too", async (world) => {
      await world.store.configure("default", { capacity: 1 });
      const blocked = await world.block({ payload: 1 });
      const waiting = await world.add({ payload: 2 });
      expect(await replace(world, other(world, blocked, { payload: 3 }), other(world, waiting, { payload: 4 }))).toEqual(["ok", "ok"]);
      expect(await world.find(blocked.id)).toMatchObject({ status: "blocked", payload: "3" });
      expect(await world.find(waiting.id)).toMatchObject({ status: "pending", payload: "4" });
      await world.store.change([blocked.id], OPEN);
      expect((await world.claim()).map(({ payload }) => payload).toSorted()).toEqual(["3", "4"]);
    });

    keeps("that was ever claimed, ended or is not there is not replaced", async (world) => {
      const done = await world.ended("completed");
      const cancelled = await world.ended("cancelled");
      const released = await world.running({ payload: "r" });
      await world.release(released);
      const runs = await world.add({ payload: "runs" });
      const claimed = await world.claim({ limit: 2 });
      expect(claimed.map(({ id }) => id).toSorted()).toEqual([released.id, runs.id].toSorted());
      await world.release(claimed.find(({ id }) => id === released.id)!);
      const jobs = [released, done, cancelled, runs].map(({ id }) => ({ ...world.job({ payload: "new" }), id }));
      expect(await replace(world, ...jobs, world.job())).toEqual(["refused", "refused", "refused", "refused", "missing"]);
      expect((await world.find(runs.id)).payload).toBe('"runs"');
    });

    keeps("of two for one place in a call, the second has it", async (world) => {
      const [job, beside] = [await world.add(), await world.add({ delay: 1_000 })];
      const three = ["1", "2", "3"].map((payload) => ({ ...other(world, job, {}), payload }));
      const jobs = [three[0]!, { ...other(world, beside, {}), payload: "4" }, three[1]!, world.job(), three[2]!];
      expect(await replace(world, ...jobs)).toEqual(["ok", "ok", "ok", "missing", "ok"]);
      expect((await world.store.find([job.id, beside.id])).map((found) => found!.payload)).toEqual(["3", "4"]);
      expect((await world.store.list({ limit: 10 })).jobs).toHaveLength(2);
      expect(await world.counts()).toEqual({ pending: 2 });
    });

    keeps("with a limit key leaves the line of the one before, and enters its own", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      const job = await world.add({ payload: 1, limitKey: "a" });
      expect(await replace(world, other(world, job, { payload: 2, limitKey: "b" }))).toEqual(["ok"]);
      const use = await world.store.limitUse("default", ["a", "b"]);
      expect(use!.keys.map(({ key, waiting }) => [key, waiting])).toEqual([
        ["a", 0],
        ["b", 1],
      ]);
      expect(await world.take()).toMatchObject({ id: job.id, limitKey: "b", payload: "2" });
    });

    keeps("is claimed as one or as the other, never both, by many at once", async (world) => {
      const elsewhere = await world.elsewhere();
      for (let round = 0; round < 20; round++) {
        const job = await world.add({ payload: "old" });
        const [answers, claimed] = await Promise.all([
          replace(world, other(world, job, { payload: "new" })),
          elsewhere.claim({ limit: 1, turn: 0 }),
        ]);
        const leases = [...claimed, ...(await world.claim({ limit: 5, turn: 0 }))];
        expect(leases).toHaveLength(1);
        const { payload } = leases[0]!;
        expect([answers[0], payload]).toEqual(answers[0] === "ok" ? ["ok", '"new"'] : ["refused", '"old"']);
        await world.complete(leases[0]!);
      }
    });
  });

  keeps("how late a job may start is kept with it, among other rare fields and alone", async (world) => {
    const [alone, beside] = [
      { ...world.job(), startWithinMs: 5_000 },
      { ...world.job({ tags: ["x"], maxRetries: 7 }), startWithinMs: 1 },
    ];
    await world.store.insert([alone, beside, world.job()]);
    expect((await world.find(alone.id)).startWithinMs).toBe(5_000);
    expect((await world.find(beside.id)).startWithinMs).toBe(1);
    expect((await world.claim()).map(({ startWithinMs }) => startWithinMs)).toEqual([5_000, 1, null]);
  });
}
