import { describe, expect } from "vitest";
import { type JobRecord, type JobSummaryRecord, type Status, TERMINAL } from "../../../src/core/job.ts";
import { CANCEL, RETRY } from "../../../src/core/lifecycle.ts";
import { MAX_BATCH } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS, type World } from "../world.ts";

/** A job without its bodies and its stack, as answers show it. */
function summaryOf(job: JobRecord): JobSummaryRecord {
  const { payload: _payload, result: _result, ...summary } = job;
  return summary.error === null ? summary : { ...summary, error: { ...summary.error, stack: null } };
}

/** One job in each status. */
async function oneOfEach(world: World): Promise<Record<Status, string>> {
  const retrying = await world.running({ maxRetries: 3 });
  await world.fail(retrying, 1_000);
  const ids = {
    retrying: retrying.id,
    completed: (await world.ended("completed")).id,
    dead: (await world.ended("dead")).id,
    failed: (await world.ended("failed")).id,
    cancelled: (await world.ended("cancelled")).id,
    running: (await world.running()).id,
    pending: (await world.add()).id,
    scheduled: (await world.add({ delay: 1_000 })).id,
    blocked: (await world.block()).id,
  };
  for (const [status, id] of Object.entries(ids)) expect(await world.status(id)).toBe(status);
  return ids;
}

export function changeSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("cancel", () => {
    for (const was of ["pending", "scheduled", "retrying", "blocked"] as const) {
      keeps(`a ${was} job is cancelled at once, and never starts again (S30)`, async (world) => {
        const id = (await oneOfEach(world))[was];
        const before = await world.find(id);
        world.clock.advance(10);
        const now = world.clock.now();
        const after = { ...before, status: "cancelled" as const, fence: before.fence + 1, completedAt: now, updatedAt: now };
        expect(await world.cancel(id)).toEqual({ kind: "ok", was, job: summaryOf(after) });
        expect(await world.find(id)).toEqual(after);
        world.clock.advance(10_000);
        await world.store.promote(100);
        expect((await world.claim()).map((lease) => lease.id)).not.toContain(id);
      });
    }

    keeps("a running job is cancelled at once: its attempt ends as cancelled, its lease with it", async (world) => {
      const lease = await world.running();
      const before = await world.find(lease.id);
      world.clock.advance(250);
      const now = world.clock.now();
      expect(await world.cancel(lease.id)).toMatchObject({ kind: "ok", was: "running", job: { status: "cancelled", fence: 2 } });
      expect(await world.find(lease.id)).toEqual({
        ...before,
        status: "cancelled",
        fence: 2,
        completedAt: now,
        updatedAt: now,
        runMs: 250,
        error: expect.objectContaining({ kind: "cancelled" }) as unknown,
      });
      expect(await world.store.attempts(lease.id)).toMatchObject([
        { number: 1, outcome: "cancelled", endedAt: now, durationMs: 250, error: { kind: "cancelled" } },
      ]);
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
      expect(await world.total("cancelled")).toBe(1);
    });

    keeps("a waiting job that is cancelled keeps the error of its last attempt, and no attempt is made up", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await world.fail(lease, 1_000);
      await world.cancel(lease.id);
      expect(await world.find(lease.id)).toMatchObject({ status: "cancelled", error: BOOM, runMs: 5 });
      expect(await world.store.attempts(lease.id)).toMatchObject([{ number: 1, outcome: "failed" }]);
      const fresh = await world.ended("cancelled");
      expect(fresh.error).toBeNull();
      expect(await world.store.attempts(fresh.id)).toEqual([]);
    });

    for (const status of ["completed", "dead", "failed", "cancelled"] as const) {
      keeps(`a ${status} job is refused and stays as it is`, async (world) => {
        const id = (await oneOfEach(world))[status];
        const before = await world.find(id);
        expect(await world.cancel(id)).toEqual({ kind: "refused", status });
        expect(await world.find(id)).toEqual(before);
      });
    }

    keeps("answers come id by id, in order; an id twice is done once; an unknown one is missing", async (world) => {
      const done = await world.ended("completed");
      const job = await world.add();
      const answers = await world.store.change([world.newId(), job.id, done.id, job.id], CANCEL);
      expect(answers).toMatchObject([
        { kind: "missing" },
        { kind: "ok", was: "pending" },
        { kind: "refused", status: "completed" },
        { kind: "refused", status: "cancelled" },
      ]);
      expect(await world.total("cancelled")).toBe(1);
      expect(await world.store.change([], CANCEL)).toEqual([]);
    });

    keeps("S30: a cancel and a completion at once: exactly one of them happened", async (world) => {
      const other = await world.elsewhere();
      for (let round = 0; round < 20; round++) {
        const lease = await world.running();
        const completing = round % 2 === 0 ? null : other.complete(lease);
        const cancelling = world.cancel(lease.id);
        const [cancel, complete] = await Promise.all([cancelling, completing ?? other.complete(lease)]);
        const status = await world.status(lease.id);
        expect(cancel).toMatchObject(status === "cancelled" ? { kind: "ok", was: "running" } : { kind: "refused", status: "completed" });
        expect(complete).toBe(status === "cancelled" ? "cancelled" : "ok");
      }
      expect((await world.total("completed")) + (await world.total("cancelled"))).toBe(20);
    });

    keeps("S30: a cancel and a claim at once: the job never runs after the cancel was answered", async (world) => {
      const other = await world.elsewhere();
      for (let round = 0; round < 20; round++) {
        const { id } = await world.add();
        const [cancel, leases] = await Promise.all([world.cancel(id), other.claim({ limit: 1 })]);
        expect(cancel).toMatchObject({ kind: "ok", was: leases.length === 1 ? "running" : "pending" });
        expect(await world.status(id)).toBe("cancelled");
        for (const lease of leases) expect(await other.complete(lease)).toBe("cancelled");
      }
    });

    keeps("a call of the greatest size cancels them all", async (world) => {
      const jobs = await world.addMany(MAX_BATCH);
      const answers = await world.store.change(
        jobs.map(({ id }) => id),
        CANCEL,
      );
      expect(answers.filter(({ kind }) => kind !== "ok")).toEqual([]);
      expect(await world.counts()).toEqual({ cancelled: MAX_BATCH });
    });
  });

  describe("retry by hand", () => {
    for (const was of ["dead", "failed", "cancelled"] as const) {
      keeps(`a ${was} job starts a new life: pending and due now, retries at 0, attempt and fence go on`, async (world) => {
        const id = (await oneOfEach(world))[was];
        const before = await world.find(id);
        world.clock.advance(1_000_000);
        const now = world.clock.now();
        const after = { ...before, status: "pending" as const, retryCount: 0, lostCount: 0, runAt: now, updatedAt: now, completedAt: null };
        expect(await world.retry(id)).toEqual({ kind: "ok", was, job: summaryOf(after) });
        expect(await world.find(id)).toEqual(after);
      });
    }

    keeps("with a payload, the job has it from then on: the next claim, lists and searches see no other", async (world) => {
      const payload = '{"to":"bob \\u0000","id":9007199254740993}';
      const edit = { ...RETRY, edit: { payload, facets: null } };
      const wishes = { payload: { to: "ann" }, idempotencyKey: "k", tags: ["red"], meta: { a: 1 }, delay: 10 } as const;
      const { id } = await world.add(wishes);
      await world.cancel(id);
      const other = (await world.ended("dead", { queue: "mail", payload: { to: "ann" } })).id;
      const pending = (await world.add({ queue: "mail", payload: { to: "ann" } })).id;
      const before = await world.find(id);
      const now = world.clock.now();
      const after = { ...before, status: "pending" as const, runAt: now, updatedAt: now, completedAt: null };
      expect(await world.store.change([id, pending, other, world.newId()], edit)).toEqual([
        { kind: "ok", was: "cancelled", job: summaryOf(after) },
        { kind: "refused", status: "pending" },
        expect.objectContaining({ kind: "ok", was: "dead" }),
        { kind: "missing" },
      ]);
      expect(await world.find(id)).toEqual({ ...after, payload });
      expect((await world.find(pending)).payload).toBe('{"to":"ann"}');
      expect((await (await world.elsewhere()).store.list({ q: "9007199254740993", limit: 9 })).jobs).toHaveLength(2);
      expect(await world.take()).toMatchObject({ id, payload });
    });

    keeps("with a payload, the key still stands for the request that made the job", async (world) => {
      const first = world.job({ payload: 1, idempotencyKey: "k" });
      await world.insert(first);
      await world.cancel(first.id);
      await world.store.change([first.id], { ...RETRY, edit: { payload: "2", facets: null } });
      const again = world.job({ payload: 1, idempotencyKey: "k" });
      expect(await world.insert(again)).toMatchObject({ kind: "known", job: { id: first.id, payload: "2" } });
      const asEdited = world.job({ payload: 2, idempotencyKey: "k" });
      expect(await world.insert(asEdited)).toEqual({ kind: "conflict", id: first.id });
    });

    keeps("the retries that were spent are to be had again; the history goes on", async (world) => {
      const lease = await world.running({ maxRetries: 1 });
      await world.fail(lease, 0);
      await world.store.promote(1);
      await world.fail(await world.take());
      expect(await world.find(lease.id)).toMatchObject({ status: "dead", retryCount: 1, attempt: 2 });
      world.clock.advance(10);
      await world.retry(lease.id);
      const third = await world.take();
      expect(third).toMatchObject({ attempt: 3, fence: 3, retryCount: 0 });
      await world.fail(third, 0);
      expect(await world.status(lease.id)).toBe("retrying");
      expect((await world.store.attempts(lease.id)).map(({ number, outcome }) => [number, outcome])).toEqual([
        [1, "failed"],
        [2, "failed"],
        [3, "failed"],
      ]);
    });

    keeps("the last attempt of the former life stays in the history as it was", async (world) => {
      const lease = await world.running();
      world.clock.advance(100);
      await world.cancel(lease.id);
      const before = await world.store.attempts(lease.id);
      world.clock.advance(100);
      await world.retry(lease.id);
      expect(await world.store.attempts(lease.id)).toEqual(before);
      await world.complete(await world.take());
      expect((await world.store.attempts(lease.id)).slice(0, 1)).toEqual(before);
      expect(await world.store.attempts(lease.id)).toHaveLength(2);
    });

    keeps("a job that never ran has no attempt to remember", async (world) => {
      const job = await world.ended("cancelled");
      await world.retry(job.id);
      expect(await world.store.attempts(job.id)).toEqual([]);
      await world.cancel(job.id);
      await world.retry(job.id);
      expect((await world.take()).attempt).toBe(1);
    });

    keeps("an attempt that the history has already is not put there twice", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await world.fail(lease, 1_000);
      await world.cancel(lease.id);
      await world.retry(lease.id);
      expect(await world.store.attempts(lease.id)).toMatchObject([{ number: 1, outcome: "failed", error: BOOM }]);
    });

    for (const status of ["scheduled", "pending", "running", "retrying", "completed"] as const) {
      keeps(`S31: a ${status} job is refused: no second life`, async (world) => {
        const id = (await oneOfEach(world))[status];
        const before = await world.find(id);
        expect(await world.retry(id)).toEqual({ kind: "refused", status });
        expect(await world.find(id)).toEqual(before);
      });
    }

    keeps("S32: two that retry all dead letters at once open one new life each", async (world) => {
      const ids: string[] = [];
      for (let index = 0; index < 20; index++) ids.push((await world.ended("dead")).id);
      const other = await world.elsewhere();
      const [mine, theirs] = await Promise.all([world.store.change(ids, RETRY), other.store.change(ids, RETRY)]);
      const kinds = mine.map((answer, index) => [answer.kind, theirs[index]!.kind].sort().join());
      expect(new Set(kinds)).toEqual(new Set(["ok,refused"]));
      expect(await world.counts()).toEqual({ pending: 20 });
    });

    keeps("S32: retry and purge at once: each dead letter is either alive or gone", async (world) => {
      const ids: string[] = [];
      for (let index = 0; index < 20; index++) ids.push((await world.ended("dead")).id);
      const other = await world.elsewhere();
      const [retried, removed] = await Promise.all([world.store.change(ids, RETRY), other.store.remove(ids, TERMINAL)]);
      const found = await world.store.find(ids);
      for (const [index] of ids.entries()) {
        const alive = found[index] !== null;
        expect(retried[index]!.kind).toBe(alive ? "ok" : "missing");
        expect(removed[index]).toMatchObject(alive ? { kind: "refused", status: "pending" } : { kind: "ok", was: "dead" });
      }
    });

    keeps("a retry always fits, also into a full queue", async (world) => {
      const dead = await world.ended("dead");
      await world.store.configure("default", { capacity: 1 });
      await world.add();
      expect(await world.retry(dead.id)).toMatchObject({ kind: "ok" });
      expect(await world.counts()).toEqual({ pending: 2 });
    });
  });

  describe("run now", () => {
    for (const was of ["scheduled", "retrying"] as const) {
      keeps(`a ${was} job is pending at once, and its retries stay used`, async (world) => {
        const id = (await oneOfEach(world))[was];
        const before = await world.find(id);
        world.clock.advance(10);
        const now = world.clock.now();
        const after = { ...before, status: "pending" as const, runAt: now, updatedAt: now };
        expect(await world.runNow(id)).toEqual({ kind: "ok", was, job: summaryOf(after) });
        expect(await world.find(id)).toEqual(after);
        world.clock.advance(10_000);
        expect((await world.store.promote(10)).moved).toBe(1); // the other of the two
        expect((await world.claim()).map((lease) => lease.id)).toContain(id);
      });
    }

    for (const status of ["pending", "running", "completed", "dead", "failed", "cancelled"] as const) {
      keeps(`a ${status} job is refused`, async (world) => {
        const id = (await oneOfEach(world))[status];
        expect(await world.runNow(id)).toEqual({ kind: "refused", status });
        expect(await world.status(id)).toBe(status);
      });
    }
  });

  describe("remove", () => {
    for (const was of ["completed", "dead", "failed", "cancelled"] as const) {
      keeps(`a ${was} job goes, with its history and its logs`, async (world) => {
        const id = (await oneOfEach(world))[was];
        const before = await world.find(id);
        expect(await world.remove(id)).toEqual({ kind: "ok", was, job: summaryOf(before) });
        expect(await world.store.find([id])).toEqual([null]);
        expect(await world.store.attempts(id)).toEqual([]);
        expect(await world.remove(id)).toEqual({ kind: "missing" });
        expect((await world.counts())[was]).toBeUndefined();
      });
    }

    keeps("a job whose status is not one that was named stays: it was retried and completed since it was listed as dead", async (world) => {
      const id = (await oneOfEach(world)).completed;
      expect(await world.remove(id, ["dead"])).toEqual({ kind: "refused", status: "completed" });
      expect(await world.status(id)).toBe("completed");
    });

    keeps("nothing of a removed job is found again under another one", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await world.note(lease, ["secret"]);
      await world.fail(lease, 0);
      await world.cancel(lease.id);
      await world.remove(lease.id);
      expect(await world.store.logs(lease.id, 0, 10)).toEqual([]);
      expect(await world.store.attempts(lease.id)).toEqual([]);
      const next = await world.add();
      expect(await world.store.logs(next.id, 0, 10)).toEqual([]);
      expect(await world.store.attempts(next.id)).toEqual([]);
      expect((await world.store.list({ limit: 10 })).jobs.map(({ id }) => id)).toEqual([next.id]);
    });

    for (const status of ["scheduled", "pending", "running", "retrying"] as const) {
      keeps(`a ${status} job is refused and stays`, async (world) => {
        const id = (await oneOfEach(world))[status];
        expect(await world.remove(id)).toEqual({ kind: "refused", status });
        expect(await world.status(id)).toBe(status);
      });
    }

    keeps("totals do not shrink by it (I15)", async (world) => {
      const job = await world.ended("dead");
      await world.remove(job.id);
      expect([await world.total("enqueued"), await world.total("dead")]).toEqual([1, 1]);
      expect(await world.counts()).toEqual({});
    });

    keeps("answers come id by id, in order", async (world) => {
      const [a, b] = [await world.ended("completed"), await world.add()];
      expect(await world.store.remove([b.id, a.id, a.id, world.newId()], TERMINAL)).toMatchObject([
        { kind: "refused", status: "pending" },
        { kind: "ok" },
        { kind: "missing" },
        { kind: "missing" },
      ]);
      expect(await world.store.remove([], TERMINAL)).toEqual([]);
    });

    keeps("late words about a removed job are stale", async (world) => {
      const lease = await world.running();
      await world.complete(lease);
      await world.remove(lease.id);
      expect(await world.complete(lease)).toBe("stale");
      expect(await world.extend(lease)).toBe("stale");
      expect(await world.note(lease, ["late"])).toBe("stale");
      world.clock.advance(LEASE_MS);
      expect((await world.expired(10)).jobs).toEqual([]);
    });
  });
}
