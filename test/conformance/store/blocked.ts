import { describe, expect } from "vitest";
import { recordOf } from "../../../src/core/job.ts";
import { type Move, OPEN, type Transition } from "../../../src/core/lifecycle.ts";
import type { Hint, Settlement } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { type Held, keepsOn, type World } from "../world.ts";

/** Opens a job for a later time. */
const openLater = (delayMs: number): Move => ({ ...OPEN, transition: { ...OPEN.transition, to: "scheduled", delayMs } });

/** A wait in the middle of the work: the attempt is given back. */
const SUSPENDED: Transition = { ...OPEN.transition, to: "blocked", giveBackAttempt: true, delayMs: null };

function suspension({ id, fence }: Held, change: Partial<Transition> = {}): Settlement {
  return { id, fence, outcome: "release", transition: { ...SUSPENDED, ...change }, ifExpired: false };
}

async function suspend(world: World, held: Held, change: Partial<Transition> = {}): Promise<void> {
  expect(await world.store.exchange([suspension(held, change)], [])).toEqual({ settled: ["ok"], claimed: [] });
}

export function blockedSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a blocked job", () => {
    keeps("comes in as it was given, and counts as enqueued", async (world) => {
      const now = world.clock.now();
      const job = world.job({ queue: "mail", priority: 12, delay: 5_000, tags: ["a"], meta: { b: 1 }, maxRetries: 7 });
      const blocked = { ...job, blocked: true };
      expect(await world.insert(blocked)).toEqual({ kind: "created", status: "blocked", createdAt: now, runAt: now });
      expect(await world.find(job.id)).toEqual(recordOf(job, "blocked", now, now));
      expect(await world.total("enqueued", "mail")).toBe(1);
      expect((await world.queue("mail")).counts).toEqual([{ status: "blocked", level: "high", count: 1 }]);
      world.clock.advance(50);
      expect(await world.insert(blocked), "a repeat").toEqual({ kind: "created", status: "blocked", createdAt: now, runAt: now });
      expect(await world.counts("mail")).toEqual({ blocked: 1 });
    });

    keeps("comes in beside others in one list, each by its own status", async (world) => {
      const jobs = [
        world.job(),
        { ...world.job(), blocked: true },
        world.job({ delay: 500 }),
        { ...world.job(), blocked: true },
        world.job(),
      ];
      const answers = await world.store.insert(jobs);
      const statuses = ["pending", "blocked", "scheduled", "blocked", "pending"];
      expect(answers.map((answer) => answer.kind === "created" && answer.status)).toEqual(statuses);
      expect((await world.store.find(jobs.map(({ id }) => id))).map((job) => job?.status)).toEqual(statuses);
      expect(await world.counts()).toEqual({ pending: 2, scheduled: 1, blocked: 2 });
    });

    keeps("is never claimed, promoted, reclaimed or pruned", async (world) => {
      const job = await world.block();
      world.clock.advance(400 * 86_400_000);
      expect(await world.claim()).toEqual([]);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
      expect(await world.store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10)).toEqual({ removed: 0 });
      expect((await world.store.oldest()).lanes).toEqual([]);
      expect(await world.store.ahead(job.id, "*", 10)).toBeNull();
      expect(await world.status(job.id)).toBe("blocked");
    });

    keeps("neither counts against a capacity nor is refused by one, and always fits when it opens", async (world) => {
      await world.store.configure("default", { capacity: 2 });
      const early = await world.block();
      await world.add();
      await world.add();
      const late = await world.block();
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 2 });
      const mixed = await world.store.insert([world.job(), { ...world.job(), blocked: true }, world.job()]);
      expect(mixed.map(({ kind }) => kind)).toEqual(["full", "created", "full"]);
      expect(await world.store.change([early.id, late.id], OPEN)).toMatchObject([{ kind: "ok" }, { kind: "ok" }]);
      expect(await world.counts()).toEqual({ pending: 4, blocked: 1 });
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 2 });
    });

    keeps("keeps its key while it is blocked, however long", async (world) => {
      const job = await world.block({ idempotencyKey: "k", keyTtl: 1_000 });
      world.clock.advance(86_400_000);
      await world.store.sweep({ minutesMs: 0, hoursMs: 0 }, 100);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({
        kind: "known",
        job: { id: job.id, status: "blocked" },
      });
      expect(await world.insert(world.job({ idempotencyKey: "k", payload: 2 }))).toEqual({ kind: "conflict", id: job.id });
      await world.cancel(job.id);
      world.clock.advance(1_000);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "created" });
    });

    keeps("opens: it is pending, ranks from then on, and is claimed like any other", async (world) => {
      const job = await world.block({ priority: 3 });
      const before = await world.find(job.id);
      const first = await world.add({ priority: 3 });
      world.clock.advance(1_000);
      const now = world.clock.now();
      const answer = (await world.store.change([job.id], OPEN))[0]!;
      const after = { ...before, status: "pending" as const, runAt: now, updatedAt: now };
      expect(answer).toMatchObject({ kind: "ok", was: "blocked", job: { id: job.id, status: "pending", runAt: now } });
      expect(await world.find(job.id)).toEqual(after);
      expect(await world.counts()).toEqual({ pending: 2 });
      const leases = await world.claim();
      expect(leases.map(({ id }) => id)).toEqual([first.id, job.id]);
      expect(await world.complete(leases[1]!, "1")).toBe("ok");
      expect(await world.find(job.id)).toMatchObject({ status: "completed", attempt: 1, fence: 1, result: "1" });
      expect(await world.counts()).toEqual({ running: 1, completed: 1 });
    });

    keeps("rings for work when it opens, and for its time when it opens later; not when it comes in", async (world) => {
      const heard: Hint[] = [];
      const stop = world.store.watch((hint) => heard.push(hint));
      const [now, later] = [await world.block(), await world.block()];
      expect(heard).not.toContainEqual({ topic: "work", queue: "default" });
      await world.store.change([now.id], OPEN);
      expect(heard).toContainEqual({ topic: "work", queue: "default" });
      expect(heard).not.toContainEqual({ topic: "due", inMs: 1_234 });
      await world.store.change([later.id], openLater(1_234));
      expect(heard).toContainEqual({ topic: "due", inMs: 1_234 });
      stop();
    });

    keeps("opens later: it is scheduled until then", async (world) => {
      const job = await world.block();
      world.clock.advance(1_000);
      expect(await world.store.change([job.id], openLater(2_000))).toMatchObject([{ kind: "ok", was: "blocked" }]);
      expect(await world.find(job.id)).toMatchObject({ status: "scheduled", runAt: world.clock.now() + 2_000 });
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 2_000 });
      world.clock.advance(2_000);
      expect(await world.store.promote(10)).toEqual({ moved: 1, nextInMs: null });
      expect((await world.take()).id).toBe(job.id);
    });

    keeps("is opened once; others are refused", async (world) => {
      const [job, pending] = [await world.block(), await world.add()];
      const answers = await world.store.change([job.id, pending.id, job.id, world.newId()], OPEN);
      expect(answers).toMatchObject([
        { kind: "ok", was: "blocked" },
        { kind: "refused", status: "pending" },
        { kind: "refused", status: "pending" },
        { kind: "missing" },
      ]);
    });

    keeps("is cancelled at once, and starts a new life by a retry", async (world) => {
      const job = await world.block();
      expect(await world.cancel(job.id)).toMatchObject({ kind: "ok", was: "blocked", job: { status: "cancelled", fence: 1, error: null } });
      expect(await world.store.attempts(job.id)).toEqual([]);
      expect(await world.counts()).toEqual({ cancelled: 1 });
      expect(await world.total("cancelled")).toBe(1);
      expect(await world.retry(job.id)).toMatchObject({ kind: "ok", was: "cancelled" });
      expect((await world.take()).id).toBe(job.id);
    });

    keeps("is not retried, run at once or removed", async (world) => {
      const job = await world.block();
      const refused = { kind: "refused", status: "blocked" };
      expect([await world.retry(job.id), await world.runNow(job.id), await world.remove(job.id)]).toEqual([refused, refused, refused]);
      expect(await world.status(job.id)).toBe("blocked");
    });

    keeps("is listed and counted by its status, in its queue, among others", async (world) => {
      const [one, two, other] = [
        await world.block(),
        await world.block({ priority: -1, tags: ["x"] }),
        await world.block({ queue: "other" }),
      ];
      const pending = await world.add();
      const done = await world.ended("completed", { queue: "done" });
      const idsOf = async (filter: object): Promise<string[]> => {
        const { jobs } = await world.store.list({ ...filter, limit: 10 });
        expect(await world.store.count(filter)).toEqual({ count: jobs.length, isCapped: false });
        return jobs.map(({ id }) => id);
      };
      expect(await idsOf({ status: ["blocked"] })).toEqual([other.id, two.id, one.id]);
      expect(await idsOf({ status: ["blocked"], queue: "default" })).toEqual([two.id, one.id]);
      expect(await idsOf({ status: ["blocked"], tag: "x" })).toEqual([two.id]);
      expect(await idsOf({ status: ["blocked", "completed", "pending"] })).toEqual([done.id, pending.id, other.id, two.id, one.id]);
      expect(await idsOf({ status: ["completed", "dead", "failed", "cancelled"] })).toEqual([done.id]);
      expect(await idsOf({ status: ["pending", "scheduled", "retrying", "running"] })).toEqual([pending.id]);
      const first = await world.store.list({ status: ["blocked"], limit: 2 });
      const second = await world.store.list({ status: ["blocked"], limit: 2, cursor: first.cursor! });
      expect([...first.jobs, ...second.jobs].map(({ id, status }) => [id, status])).toEqual(
        [other, two, one].map(({ id }) => [id, "blocked"]),
      );
      expect(await world.store.errorGroups({ status: ["dead", "failed"], limit: 10 })).toEqual({
        groups: [],
        isCapped: false,
        hasMore: false,
      });
    });

    keeps("takes no note and no lease", async (world) => {
      const job = await world.block();
      expect(await world.extend({ id: job.id, fence: 0 })).toBe("stale");
      expect(await world.note({ id: job.id, fence: 0 }, ["a"])).toBe("stale");
    });

    keeps("may follow a settlement", async (world) => {
      const lease = await world.running();
      const followUp = { ...world.job({ queue: "default~webhooks" }), blocked: true };
      const settlement = { ...suspension(lease), followUp };
      expect((await world.store.exchange([settlement], [])).settled).toEqual(["ok"]);
      expect(await world.status(followUp.id)).toBe("blocked");
    });

    keeps(`${engine.forgets === undefined ? "is still blocked" : "is gone with its store"} after a restart`, async (world) => {
      const job = await world.block({ idempotencyKey: "k" });
      if (engine.forgets !== undefined) return expect(world.restart()).rejects.toThrow("cannot restart");
      await world.restart();
      expect(await world.status(job.id)).toBe("blocked");
      expect(await world.store.change([job.id], OPEN)).toMatchObject([{ kind: "ok" }]);
      expect((await world.take()).id).toBe(job.id);
    });

    if (engine.hasTransactions === true) {
      keeps("comes in with the caller's own transaction", async (world) => {
        const { tx, commit } = await world.opened.begin!();
        const job = { ...world.job({ idempotencyKey: "k" }), blocked: true };
        expect(await world.store.within(tx)!.insert([job])).toMatchObject([{ kind: "created", status: "blocked" }]);
        await commit();
        expect(await world.status(job.id)).toBe("blocked");
        expect(await world.counts()).toEqual({ blocked: 1 });
      });
    }
  });

  describe("a running job that becomes blocked", () => {
    keeps("gives back its lease and its attempt, and goes on when it is opened", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await world.note(lease, ["began"]);
      world.clock.advance(300);
      await suspend(world, lease);
      const job = await world.find(lease.id);
      expect(job).toMatchObject({ status: "blocked", attempt: 0, fence: 1, completedAt: null, updatedAt: world.clock.now(), error: null });
      expect(await world.counts()).toEqual({ blocked: 1 });
      expect(await world.store.attempts(lease.id)).toEqual([]);
      world.clock.advance(86_400_000);
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(await world.store.list({ status: ["blocked"], limit: 10 })).toMatchObject({ jobs: [{ id: lease.id, status: "blocked" }] });
      await world.store.change([lease.id], OPEN);
      const again = await world.take();
      expect(again).toMatchObject({ id: lease.id, attempt: 1, fence: 2 });
      expect(await world.complete(again)).toBe("ok");
      expect(await world.store.logs(lease.id, 0, 10)).toMatchObject([{ text: "began" }]);
      expect(await world.counts()).toEqual({ completed: 1 });
    });

    keeps("is told ok for a repeat; later writes of that lease are stale", async (world) => {
      const lease = await world.running();
      await suspend(world, lease);
      await suspend(world, lease);
      expect(await world.extend(lease)).toBe("stale");
      expect(await world.complete(lease)).toBe("stale");
      await world.store.change([lease.id], OPEN);
      const again = await world.take();
      expect(await world.complete(lease)).toBe("stale");
      expect(await world.complete(again)).toBe("ok");
    });

    keeps("puts an attempt that ends with it into the history", async (world) => {
      const lease = await world.running();
      await suspend(world, lease, { giveBackAttempt: false, endsAttempt: true, runMs: 7 });
      expect(await world.find(lease.id)).toMatchObject({ status: "blocked", attempt: 1, runMs: 7 });
      expect(await world.store.attempts(lease.id)).toMatchObject([{ number: 1, durationMs: 7, endedAt: world.clock.now() }]);
    });

    keeps("is cancelled without the error of a running one", async (world) => {
      const lease = await world.running();
      await suspend(world, lease);
      expect(await world.cancel(lease.id)).toMatchObject({
        kind: "ok",
        was: "blocked",
        job: { status: "cancelled", fence: 2, error: null },
      });
      expect(await world.complete(lease), "no cancel ended this lease").toBe("stale");
      expect(await world.counts()).toEqual({ cancelled: 1 });
    });

    keeps("keeps its key", async (world) => {
      const lease = await world.running({ idempotencyKey: "k", keyTtl: 0 });
      await suspend(world, lease);
      world.clock.advance(1_000);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({ kind: "known", job: { id: lease.id } });
    });
  });
}
