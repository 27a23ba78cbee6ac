import { describe, expect } from "vitest";
import { TERMINAL } from "../../../src/core/job.ts";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import { MAX_TYPES } from "../../../src/core/work-limits.ts";
import { MAX_BATCH } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { claimOf, keepsOn, LEASE_MS, settlementOf } from "../world.ts";

export function claimSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("claim", () => {
    keeps("a job taken is running: fence and attempt + 1, a lease from now, its worker, its queue's word", async (world) => {
      const job = await world.add({ payload: { a: 1 } });
      const before = await world.find(job.id);
      world.clock.advance(70);
      const now = world.clock.now();
      const expected = { ...before, status: "running", fence: 1, attempt: 1, startedAt: now, updatedAt: now, workerId: "w-7" };
      expect(await world.take({ workerId: "w-7", leaseMs: 5_000 })).toEqual({ ...expected, leaseUntil: now + 5_000, deadLetters: true });
      expect(await world.find(job.id)).toEqual(expected);
    });

    keeps("fence and attempt go on counting from claim to claim", async (world) => {
      const first = await world.running({ maxRetries: 5 });
      await world.fail(first, 0);
      await world.store.promote(1);
      expect(await world.take({ workerId: "w-2" })).toMatchObject({ id: first.id, fence: 2, attempt: 2, retryCount: 1, workerId: "w-2" });
    });

    keeps("a claim clears the progress of the attempt before", async (world) => {
      const lease = await world.running();
      await world.note(lease, [], 40);
      await world.fail(lease, 0);
      await world.store.promote(1);
      expect((await world.take()).progress).toBeNull();
      expect((await world.find(lease.id)).progress).toBeNull();
    });

    keeps("the answer tells whether the queue has dead letters", async (world) => {
      await world.store.configure("default", { deadLetters: false });
      expect((await world.running()).deadLetters).toBe(false);
    });

    keeps("a claim takes no more than its limit, and fewer means that there were no more", async (world) => {
      await world.addMany(5);
      expect(await world.claim({ limit: 0 })).toEqual([]);
      expect(await world.claim({ limit: 3 })).toHaveLength(3);
      expect(await world.claim({ limit: 3 })).toHaveLength(2);
      expect(await world.claim({ limit: 3 })).toEqual([]);
    });

    keeps("a claim of the greatest size is answered whole", async (world) => {
      const jobs = await world.addMany(MAX_BATCH + 1);
      expect((await world.claim({ limit: MAX_BATCH })).map(({ id }) => id)).toEqual(jobs.slice(0, MAX_BATCH).map(({ id }) => id));
    });

    keeps("queues are asked in the order of the claim, each until it is empty", async (world) => {
      const a = await world.addMany(2, { queue: "a", priority: "low" });
      const b = await world.addMany(2, { queue: "b", priority: "critical" });
      const taken = await world.claim({ queues: ["a", "b"], limit: 3 });
      expect(taken.map(({ id }) => id)).toEqual([a[0]!.id, a[1]!.id, b[0]!.id]);
      expect((await world.claim({ queues: ["b", "a"] })).map(({ id }) => id)).toEqual([b[1]!.id]);
    });

    keeps("a queue that is named twice gives its jobs once", async (world) => {
      await world.addMany(3, { queue: "a" });
      expect(await world.claim({ queues: ["a", "a"] })).toHaveLength(3);
    });

    keeps("a claim of an unknown queue finds nothing, and does not make it known", async (world) => {
      expect(await world.claim({ queues: ["nowhere"] })).toEqual([]);
      expect(await world.store.queues()).toEqual([]);
    });

    keeps("several claims of one call each get their own, none twice", async (world) => {
      const jobs = await world.addMany(5);
      const claims = [claimOf({ limit: 2, workerId: "a" }), claimOf({ limit: 2, workerId: "b" }), claimOf({ limit: 2, workerId: "c" })];
      const { claimed } = await world.store.exchange([], claims);
      expect(claimed.map((leases) => leases.map(({ workerId }) => workerId))).toEqual([["a", "a"], ["b", "b"], ["c"]]);
      expect(new Set(claimed.flat().map(({ id }) => id))).toEqual(new Set(jobs.map(({ id }) => id)));
    });

    keeps("settlements go before claims: what one makes room for, the same call may take", async (world) => {
      const lease = await world.running();
      const next = await world.add();
      const settlement = settlementOf(lease, { kind: "completed", result: "1", runMs: 1 });
      const { settled, claimed } = await world.store.exchange([settlement], [claimOf()]);
      expect(settled).toEqual(["ok"]);
      expect(claimed.map((leases) => leases.map(({ id }) => id))).toEqual([[next.id]]);
    });

    keeps("a claim of no job, no queue or no type takes nothing, and goes beside one that does", async (world) => {
      const job = await world.add();
      const nothing = [{ limit: 0 }, { queues: [] }, { types: [] }, { limit: 0, again: true }, { queues: [], again: true }];
      const claims = nothing.map((wishes, index) => claimOf({ ...wishes, turn: index + 1, workerId: `w-${index}` }));
      for (const claim of claims) expect((await world.store.exchange([], [claim])).claimed).toEqual([[]]);
      const { claimed } = await world.store.exchange([], [...claims, claimOf()]);
      expect(claimed.map((jobs) => jobs.map(({ id }) => id))).toEqual([...claims.map(() => []), [job.id]]);
    });

    keeps("calls about no job at all answer nothing", async (world) => {
      const { store } = world;
      const calls = [
        store.insert([]),
        store.extend([]),
        store.note([]),
        store.change([], CANCEL),
        store.remove([], TERMINAL),
        store.find([]),
      ];
      expect(await Promise.all([...calls, store.tick([]), store.spend([]), store.marked([]), store.readSchemas([])])).toEqual(
        Array.from({ length: 10 }, () => []),
      );
      await Promise.all([store.putSchemas([], 1_000), store.writeAudit([]), store.publish([])]);
      expect((await store.schedules([])).schedules).toEqual([]);
    });

    keeps("an exchange of nothing answers nothing", async (world) => {
      expect(await world.store.exchange([], [])).toEqual({ settled: [], claimed: [] });
    });

    keeps("no job is given to two claims, over two connections at once", async (world) => {
      const jobs = await world.addMany(400);
      const other = await world.elsewhere();
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? world : other).claim({ limit: 10, workerId: `w-${index}` })),
      );
      const taken = answers.flat().map(({ id }) => id);
      expect(new Set(taken).size).toBe(taken.length);
      expect(new Set(taken)).toEqual(new Set(jobs.map(({ id }) => id)));
      expect(await world.counts()).toEqual({ running: 400 });
    });

    keeps("jobs that are scheduled, retrying, running or ended are not taken", async (world) => {
      await world.fail(await world.running(), 1_000);
      await world.running();
      await world.ended("completed");
      await world.ended("dead");
      await world.ended("cancelled");
      await world.add({ delay: 1 });
      expect(await world.claim()).toEqual([]);
    });

    keeps("a due job is taken only once it was promoted, by nobody's clock but the store's", async (world) => {
      await world.add({ delay: 1_000 });
      world.clock.advance(999);
      expect((await world.store.promote(10)).moved).toBe(0);
      world.clock.advance(1);
      expect((await world.store.promote(10)).moved).toBe(1);
      expect(await world.claim()).toHaveLength(1);
    });

    keeps("a claim whose answer was lost is given what it was granted, with its lease renewed (S39)", async (world) => {
      await world.addMany(4, (index) => ({ queue: index % 2 === 0 ? "a" : "b" }));
      const claim = { workerId: "far", queues: ["a", "b"], limit: 3, turn: 7, local: false };
      const first = await world.claim(claim);
      expect(first).toHaveLength(3);
      expect(await world.claim({ ...claim, workerId: "other", limit: 1 })).toHaveLength(1);
      world.clock.advance(5_000);
      const again = await world.claim({ ...claim, again: true });
      const marks = (leases: typeof first): unknown[] =>
        leases.map(({ id, fence, attempt, startedAt }) => [id, fence, attempt, startedAt].join(" ")).sort();
      expect(marks(again)).toEqual(marks(first));
      expect(again.map(({ leaseUntil }) => leaseUntil)).toEqual(again.map(() => world.clock.now() + LEASE_MS));
      await world.complete(again[0]!);
      expect(marks(await world.claim({ ...claim, again: true }))).toEqual(marks(again.slice(1)));
      expect(await world.claim({ ...claim, turn: 8 })).toEqual([]);
    });

    keeps("a claim that arrives after its repeat was answered takes nothing, and neither does a late repeat (S39)", async (world) => {
      await world.addMany(9, (index) => ({ queue: index % 2 === 0 ? "a" : "b" }));
      const claim = { workerId: "far", queues: ["a", "b"], limit: 3, turn: 7, local: false };
      const granted = await world.claim({ ...claim, again: true });
      expect(granted).toHaveLength(3);
      expect(await world.claim(claim)).toEqual([]);
      for (const lease of granted) await world.complete(lease);
      expect(await world.claim(claim)).toEqual([]);
      expect(await world.claim({ ...claim, again: true })).toEqual([]);
      expect(await world.claim({ ...claim, workerId: "other" })).toHaveLength(3);
      expect(await world.claim({ ...claim, turn: 8 })).toHaveLength(3);
    });

    keeps("claims that are not counted are never taken for repeats", async (world) => {
      await world.addMany(2);
      const claim = { workerId: "far", limit: 1, turn: 0, local: false };
      const [first] = await world.claim(claim);
      const [second] = await world.claim({ ...claim, again: true });
      expect(second!.id).not.toBe(first!.id);
      await world.add();
      expect(await world.claim(claim)).toHaveLength(1);
    });

    keeps("a claim that is local is as good a lease as any other", async (world) => {
      const job = await world.add();
      const lease = await world.take({ local: true });
      expect(lease).toMatchObject({ id: job.id, fence: 1, leaseUntil: world.clock.now() + LEASE_MS });
      expect(await world.complete(lease)).toBe("ok");
    });
  });

  describe("pause", () => {
    keeps("a paused queue gives nothing; all else goes on (C21)", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      const scheduled = await world.add({ delay: 10 });
      await world.store.configure("default", { paused: true });
      const job = await world.add();
      world.clock.advance(10);
      expect(await world.store.promote(10)).toMatchObject({ moved: 1 });
      expect(await world.claim()).toEqual([]);
      expect(await world.extend(lease)).toBe("ok");
      expect(await world.complete(lease)).toBe("ok");
      expect(await world.status(scheduled.id)).toBe("pending");
      await world.store.configure("default", { paused: false });
      expect((await world.claim()).map(({ id }) => id)).toEqual([job.id, scheduled.id]);
    });

    keeps("a paused queue is passed over for the next one", async (world) => {
      await world.add({ queue: "a" });
      const b = await world.add({ queue: "b" });
      await world.store.configure("a", { paused: true });
      expect((await world.claim({ queues: ["a", "b"] })).map(({ id }) => id)).toEqual([b.id]);
    });

    keeps("a pause from another connection holds at once (C21)", async (world) => {
      await world.add();
      const other = await world.elsewhere();
      expect(await other.store.queues()).toHaveLength(1);
      await other.store.configure("default", { paused: true });
      expect(await world.claim()).toEqual([]);
    });
  });

  describe("lanes", () => {
    keeps("a worker takes only the types it handles, in order over all of them", async (world) => {
      const jobs = await world.addMany(9, (index) => ({ type: `t${index % 3}` }));
      const taken = await world.claim({ types: ["t2", "t0"] });
      expect(taken.map(({ id }) => id)).toEqual(jobs.filter(({ type }) => type !== "t1").map(({ id }) => id));
      expect((await world.claim()).map(({ type }) => type)).toEqual(["t1", "t1", "t1"]);
    });

    keeps("no type at all, or one that nobody ever sent, finds nothing", async (world) => {
      await world.add();
      expect(await world.claim({ types: [] })).toEqual([]);
      expect(await world.claim({ types: ["other"] })).toEqual([]);
      expect(await world.claim({ types: ["other", "task", "task"] })).toHaveLength(1);
    });

    keeps("types that differ only in case or by a glob are different", async (world) => {
      await world.addMany(3, (index) => ({ type: ["Task", "task.", "task:a"][index]! }));
      expect(await world.claim({ types: ["task"] })).toEqual([]);
      expect((await world.claim({ types: ["Task"] })).map(({ type }) => type)).toEqual(["Task"]);
    });

    keeps("a thousand jobs that nobody handles do not stand in the way of the others", async (world) => {
      await world.addMany(1_000, { type: "unhandled", priority: "critical" });
      const jobs = await world.addMany(3, { type: "handled", priority: "low" });
      expect((await world.claim({ types: ["handled"], limit: 2 })).map(({ id }) => id)).toEqual([jobs[0]!.id, jobs[1]!.id]);
    });

    keeps("more types than a statement has room for are merged by rank all the same", async (world) => {
      const jobs = await world.addMany(400, (index) => ({ type: `t${(index * 37) % 200}`, priority: index % 2 }));
      const expected = [1, 0].flatMap((priority) => jobs.filter((job) => job.priority === priority)).map(({ id }) => id);
      const types = Array.from({ length: 200 }, (_, index) => `t${index}`);
      const taken = [...(await world.claim({ limit: 3 })), ...(await world.claim({ limit: 150, types })), ...(await world.claim())];
      expect(taken.map(({ id }) => id)).toEqual(expected);
    });

    keeps("a claim may name as many types as a worker can have", async (world) => {
      const types = Array.from({ length: MAX_TYPES }, (_, index) => `type-${index}`);
      const job = await world.add({ type: types.at(-1)! });
      expect((await world.take({ types })).id).toBe(job.id);
    });

    keeps("the star merges many lanes by rank", async (world) => {
      const jobs = await world.addMany(60, (index) => ({ type: `t${index % 20}`, priority: index % 3 }));
      const expected = [2, 1, 0].flatMap((priority) => jobs.filter((job) => job.priority === priority)).map(({ id }) => id);
      const taken = [...(await world.claim({ limit: 25 })), ...(await world.claim({ limit: 25 })), ...(await world.claim({ limit: 25 }))];
      expect(taken.map(({ id }) => id)).toEqual(expected);
    });
  });
}
