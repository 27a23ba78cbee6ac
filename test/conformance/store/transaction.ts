import { describe, expect } from "vitest";
import type { Context } from "../../../src/client/client.ts";
import { FLOW_QUEUE, FLOW_TYPE } from "../../../src/core/flow.ts";
import type { Job } from "../../../src/core/job.ts";
import type { LeaseAnswer, Note, TransactionVerbs } from "../../../src/store/store.ts";
import type { Engine, OwnTransaction } from "../harness.ts";
import { keepsOn, settlementOf, type World } from "../world.ts";
import { openClient } from "./client-of-world.ts";

async function begin(world: World): Promise<OwnTransaction & { verbs: TransactionVerbs }> {
  const own = await world.opened.begin!();
  return { ...own, verbs: world.store.within(own.tx)! };
}

/** Runs a job whose handler logs, completes it in a transaction, ends that, and then does something else. */
async function runWithin(world: World, end: "commit" | "rollback", then: (ctx: Context) => void | Promise<void> = () => {}): Promise<Kept> {
  const client = openClient(world);
  const worker = client.work({
    t: async (_: unknown, ctx) => {
      for (let line = 1; line <= 300; line++) ctx.log(`line ${line}`);
      ctx.progress(40);
      ctx.progress(80, "nearly");
      const own = await world.opened.begin!();
      await ctx.complete("done", { tx: own.tx });
      ctx.log("after complete");
      await own[end]();
      await then(ctx);
    },
  });
  const { id } = await client.enqueue("t", null, { maxRetries: 0 });
  const { status, progress } = await client.wait(id, { timeout: "20s" });
  await worker.stop();
  return { status, progress, lines: (await client.logs(id, { limit: 1000 })).map(({ text }) => text) };
}

type Kept = Pick<Job, "status" | "progress"> & { readonly lines: readonly string[] };

const LINES = Array.from({ length: 300 }, (_, index) => `line ${index + 1}`);

export function transactionSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  if (engine.hasTransactions !== true) {
    describe("a transaction of the caller's own", () => {
      keeps("is nothing that this engine could take part in, and it says so", async (world) => {
        expect(world.opened.begin).toBeUndefined();
        expect(world.store.within({})).toBeNull();
      });
    });
    return;
  }

  describe("a transaction of the caller's own", () => {
    keeps("a job inserted in it exists when it commits, and not before", async (world) => {
      const { verbs, commit } = await begin(world);
      const jobs = [world.job({ idempotencyKey: "k", payload: "\u0000" }), world.job(), world.job({ delay: 1_000 })];
      expect((await verbs.insert(jobs)).map(({ kind }) => kind)).toEqual(["created", "created", "created"]);
      expect(await world.store.find(jobs.map(({ id }) => id))).toEqual([null, null, null]);
      await commit();
      expect(await world.counts()).toEqual({ pending: 2, scheduled: 1 });
      expect(await world.total("enqueued")).toBe(3);
      expect((await world.claim()).map(({ id }) => id)).toEqual([jobs[0]!.id, jobs[1]!.id]);
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: "\u0000" }))).toMatchObject({
        kind: "known",
        job: { id: jobs[0]!.id },
      });
    });

    keeps("S36: rolled back, it leaves nothing: no job, no key, no count", async (world) => {
      await world.add();
      const { verbs, rollback } = await begin(world);
      const job = world.job({ idempotencyKey: "k" });
      await verbs.insert([job]);
      await rollback();
      expect(await world.status(job.id)).toBeNull();
      expect(await world.counts()).toEqual({ pending: 1 });
      expect(await world.total("enqueued")).toBe(1);
      await world.add({ idempotencyKey: "k", payload: "another" });
    });

    keeps("a flow that is inserted in it is there after its commit, and leaves nothing after a rollback", async (world) => {
      for (const end of ["rollback", "commit"] as const) {
        const own = await begin(world);
        const job = { ...world.job({ queue: FLOW_QUEUE, type: FLOW_TYPE, idempotencyKey: "k" }), blocked: true };
        const start = { kind: "flow", id: job.id, work: "start", names: ["a"] } as const;
        const member = { name: "a", plan: '{"text":"\\u0000 ☃"}', state: "{}" };
        const flow = { head: "head", members: [member, { ...member, name: "b" }], notices: [start] };
        expect(await own.verbs.insert([world.job(), { ...job, flow }])).toMatchObject([{ kind: "created" }, { kind: "created" }]);
        expect(await world.store.readFlows([{ id: job.id }])).toEqual([null]);
        await own[end]();
        const notices = (await world.store.notices(10)).map(({ notice }) => notice);
        const [page] = await world.store.readFlows([{ id: job.id, names: ["a"] }]);
        if (end === "commit") {
          expect(page).toMatchObject({ version: 1, head: "head", members: [member] });
          expect(notices).toEqual([start]);
        } else {
          expect(page).toBeNull();
          expect(notices).toEqual([]);
        }
      }
      expect(await world.counts(FLOW_QUEUE)).toEqual({ blocked: 1 });
    });

    keeps("after a rollback new queues and types work as if nothing had been", async (world) => {
      const { verbs, rollback } = await begin(world);
      await verbs.insert([world.job({ queue: "new", type: "new" })]);
      await rollback();
      expect(await world.store.queues()).toEqual([]);
      const job = await world.add({ queue: "newer", type: "newer" });
      await world.add({ queue: "new", type: "new" });
      expect(await world.take({ queues: ["newer"], types: ["newer"] })).toMatchObject({ id: job.id, queue: "newer", type: "newer" });
    });

    keeps("keys hold in it: known, conflict, and the first of two equal ones wins", async (world) => {
      const stored = await world.add({ idempotencyKey: "k", payload: 1 });
      const { verbs, commit } = await begin(world);
      const own = world.job({ idempotencyKey: "own", payload: 1 });
      const answers = await verbs.insert([
        world.job({ idempotencyKey: "k", payload: 1 }),
        world.job({ idempotencyKey: "k", payload: 2 }),
        own,
        world.job({ idempotencyKey: "own", payload: 1 }),
      ]);
      await commit();
      expect(answers).toMatchObject([
        { kind: "known", job: { id: stored.id } },
        { kind: "conflict", id: stored.id },
        { kind: "created" },
        { kind: "known", job: { id: own.id } },
      ]);
      expect(await world.counts()).toEqual({ pending: 2 });
    });

    keeps("a queue that is full by what is committed refuses", async (world) => {
      await world.store.configure("default", { capacity: 1 });
      await world.add();
      const { verbs, commit } = await begin(world);
      expect(await verbs.insert([world.job()])).toEqual([{ kind: "full", capacity: 1 }]);
      await commit();
      expect(await world.counts()).toEqual({ pending: 1 });
    });

    keeps("a job settled in it is settled when it commits", async (world) => {
      const lease = await world.running();
      const { verbs, commit } = await begin(world);
      const settlement = settlementOf(lease, { kind: "completed", result: '"done"', runMs: 5 });
      expect(await verbs.settle([settlement, { ...settlement, fence: 99 }])).toEqual(["ok", "stale"]);
      expect(await world.status(lease.id)).toBe("running");
      await commit();
      expect(await world.find(lease.id)).toMatchObject({ status: "completed", result: '"done"', runMs: 5 });
      expect(await world.counts()).toEqual({ completed: 1 });
      expect(await world.total("completed")).toBe(1);
      expect(await world.complete(lease, '"done"')).toBe("ok");
    });

    keeps("a settlement that is rolled back never was: the lease still holds", async (world) => {
      const lease = await world.running();
      const { verbs, rollback } = await begin(world);
      await verbs.settle([settlementOf(lease, { kind: "completed", result: null, runMs: 5 })]);
      await rollback();
      expect(await world.status(lease.id)).toBe("running");
      expect(await world.total("completed")).toBe(0);
      expect(await world.discard(lease)).toBe("ok");
    });

    keeps("notes written in it before a settlement are kept with its commit, and gone with its rollback", async (world) => {
      const [kept, dropped] = [await world.running(), await world.running()];
      for (const [{ id, fence }, end] of [
        [kept, "commit"],
        [dropped, "rollback"],
      ] as const) {
        await world.store.note([{ id, fence, progress: { percent: 10, note: null }, lines: ["before"] }]);
        const own = await begin(world);
        const note = { id, fence, progress: { percent: 90, note: "nearly" }, lines: ["\u0000 in it"] };
        expect(await own.verbs.note([note, { ...note, progress: null, lines: ["and more"] }, { ...note, fence: 99 }])).toEqual([
          "ok",
          "ok",
          "stale",
        ]);
        await own.verbs.settle([settlementOf(end === "commit" ? kept : dropped, { kind: "completed", result: null, runMs: 5 })]);
        expect(await own.verbs.note([note])).toEqual(["stale"]);
        await own[end]();
      }
      expect((await world.store.logs(kept.id, 0, 10)).map(({ text }) => text)).toEqual(["before", "\u0000 in it", "and more"]);
      expect(await world.find(kept.id)).toMatchObject({ status: "completed", progress: { percent: 90, note: "nearly" } });
      expect((await world.store.logs(dropped.id, 0, 10)).map(({ text }) => text)).toEqual(["before"]);
      expect(await world.find(dropped.id)).toMatchObject({ status: "running", progress: { percent: 10, note: null } });
    });

    keeps("what a handler logged before it completed its job in it is kept, as if it had returned", async (world) => {
      expect(await runWithin(world, "commit")).toEqual({ status: "completed", progress: { percent: 80, note: "nearly" }, lines: LINES });
    });

    keeps("what is being written when the handler completes its job in it is kept, once", async (world) => {
      const writing = Promise.withResolvers<void>();
      const note = (notes: readonly Note[]): Promise<LeaseAnswer[]> => {
        writing.resolve();
        return world.store.note(notes);
      };
      const client = openClient(world, { note });
      client.work({
        t: async (_: unknown, ctx) => {
          const own = await world.opened.begin!();
          ctx.log("first");
          // Where a transaction holds more than its rows, this write waits for its end.
          await writing.promise;
          ctx.log("second");
          await ctx.complete("done", { tx: own.tx });
          await own.commit();
        },
      });
      const { id } = await client.enqueue("t");
      expect(await client.wait(id, { timeout: "20s" })).toMatchObject({ status: "completed" });
      expect((await client.logs(id)).map(({ text }) => text)).toEqual(["first", "second"]);
    });

    keeps("what a handler logged is kept once if it rolls back, and then returns or throws", async (world) => {
      const lines = [...LINES, "after complete"];
      const progress = { percent: 80, note: "nearly" };
      expect(await runWithin(world, "rollback")).toEqual({ status: "completed", progress, lines });
      const threw = await runWithin(world, "rollback", () => Promise.reject(new Error("no")));
      expect(threw).toEqual({ status: "dead", progress, lines });
    });

    keeps("its commit is heard of as any other", async (world) => {
      const heard = new Promise<void>((resolve) => {
        world.store.watch((hint) => {
          if (hint.topic === "work" && hint.queue === "mail") resolve();
        });
      });
      const { verbs, commit } = await begin(world);
      await verbs.insert([world.job({ queue: "mail" })]);
      await commit();
      await heard;
    });

    keeps("what is no open transaction on this data is refused", async (world) => {
      for (const tx of [undefined, null, {}, 1, "begin", { prepare: 1 }]) {
        expect(() => world.store.within(tx)).toThrow(expect.objectContaining({ code: "invalid_transaction" }));
      }
      const { tx, commit } = await begin(world);
      await commit();
      expect(() => world.store.within(tx)).toThrow(expect.objectContaining({ code: "invalid_transaction" }));
      const another = await engine.open({ clock: world.clock });
      try {
        const foreign = await another.begin!();
        expect(() => world.store.within(foreign.tx)).toThrow(expect.objectContaining({ code: "invalid_transaction" }));
        await foreign.rollback();
      } finally {
        await another.destroy();
      }
    });
  });
}
