import { describe, expect } from "vitest";
import { STATUSES } from "../../../src/core/job.ts";
import { callEnder, CALLERS, type StepEnd } from "../../../src/core/steps.ts";
import type { Hint } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, settlementOf } from "../world.ts";
import {
  call,
  keep,
  LIVING,
  read,
  result,
  signal,
  signalTo,
  sleep,
  stepOf,
  stepsOf,
  suspend,
  suspended,
  taken,
  wait,
} from "./durable-work.ts";
import { idsOf } from "./limit-steps.ts";

/** How the end of a called job is told. */
const failure = (by: string): Partial<StepEnd> => ({ kind: "call", state: "failed", value: '{"name":"Error"}', by, from: CALLERS });
const success = (by: string): Partial<StepEnd> => ({ kind: "call", state: "done", value: "5", by, from: CALLERS });

export function stepEndsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a step that is ended from outside", () => {
    keeps("wakes the blocked job that waits for it: pending, due now, ranked from now", async (world) => {
      const lease = await suspended(world, [wait("w", 60_000), wait("v")], { type: "mail", queue: "q" });
      const start = world.clock.now();
      world.clock.advance(500);
      const first = await world.add({ type: "mail", queue: "q" });
      world.clock.advance(500);
      const now = world.clock.now();
      expect(await signal(world, lease.id, "w", { value: '{"by":"ann"}', by: "s1" })).toEqual(taken(true, { type: "mail", queue: "q" }));
      expect(await stepOf(world, lease.id, "w")).toEqual({
        name: "w",
        kind: "wait",
        state: "done",
        value: '{"by":"ann"}',
        until: start + 60_000,
        startedAt: start,
        endedAt: now,
        attempt: 1,
        by: "s1",
        detail: null,
      });
      expect(await world.find(lease.id)).toMatchObject({ status: "pending", runAt: now, updatedAt: now, attempt: 0, fence: 1 });
      expect(await world.counts("q")).toEqual({ pending: 2 });
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(idsOf(await world.claim({ queues: ["q"] }))).toEqual([first.id, lease.id]);
    });

    keeps("sends the hint `work` if it woke the job", async (world) => {
      const lease = await suspended(world, [wait("w"), wait("v")], { queue: "mail" });
      const heard: Hint[] = [];
      const stop = world.store.watch((hint) => heard.push(hint));
      await signal(world, lease.id, "w");
      expect(heard).toContainEqual({ topic: "work", queue: "mail" });
      stop();
    });

    keeps("wakes it once: the next end of another of its waits is kept beside", async (world) => {
      const lease = await suspended(world, [wait("w"), wait("v")]);
      expect(await signal(world, lease.id, "w")).toEqual(taken(true));
      expect(await signal(world, lease.id, "v")).toEqual(taken(false));
      const again = await world.take();
      expect((await read(world, lease.id, again.fence)).steps).toMatchObject([{ state: "done" }, { state: "done" }]);
    });

    keeps("wakes it by any of its open steps, also by one that an earlier attempt waited for", async (world) => {
      const lease = await suspended(world, [wait("w"), wait("v")]);
      await signal(world, lease.id, "v");
      const again = await world.take();
      expect(await suspend(world, again, wait("u"))).toBe("ok");
      expect(await signal(world, lease.id, "w")).toEqual(taken(true));
    });

    keeps("that nobody waits for yet is kept, and does not wake a blocked job", async (world) => {
      const lease = await suspended(world, [wait("w")]);
      expect(await signal(world, lease.id, "early", { value: "1" })).toEqual(taken(false));
      expect(await world.status(lease.id)).toBe("blocked");
      expect(await stepOf(world, lease.id, "early")).toMatchObject({ state: "done", kind: "wait", value: "1", until: null, detail: null });
      await signal(world, lease.id, "w");
      await suspend(world, await world.take(), wait("early", 1_000));
      expect(await world.status(lease.id)).toBe("pending");
      expect(await stepOf(world, lease.id, "early")).toMatchObject({ state: "done", value: "1", until: null });
    });

    keeps("before any attempt is kept with attempt 0, whatever the job waits for, and marks that it has steps", async (world) => {
      const [pending, scheduled, blocked] = [await world.add({ queue: "a" }), await world.add({ delay: 1_000 }), await world.block()];
      for (const job of [pending, scheduled, blocked]) {
        const before = await world.find(job.id);
        expect(before.hasSteps).toBe(false);
        expect(await signal(world, job.id, "w")).toEqual(taken(false, { queue: job.queue }));
        expect(await stepOf(world, job.id, "w")).toMatchObject({ attempt: 0, startedAt: world.clock.now(), endedAt: world.clock.now() });
        expect(await world.find(job.id)).toEqual({ ...before, hasSteps: true });
      }
      const lease = await world.take({ queues: ["a"] });
      expect(lease.hasSteps).toBe(true);
      expect((await read(world, lease.id, lease.fence)).steps).toMatchObject([{ name: "w", state: "done", value: '"yes"' }]);
    });

    keeps("does not wake a job that is scheduled, retrying, pending or running: it sees it later", async (world) => {
      const asleep = await suspended(world, [sleep("s", 5_000)]);
      expect(await signal(world, asleep.id, "s", { kind: "sleep" })).toEqual(taken(false));
      expect(await world.status(asleep.id)).toBe("scheduled");
      const retrying = await world.running();
      await keep(world, retrying, wait("w"));
      await world.fail(retrying, 5_000);
      expect(await signal(world, retrying.id, "w")).toEqual(taken(false));
      expect(await world.status(retrying.id)).toBe("retrying");
      const running = await world.running();
      await keep(world, running, wait("w"));
      const before = await world.find(running.id);
      expect(await signal(world, running.id, "w")).toEqual(taken(false));
      expect(await world.find(running.id)).toEqual(before);
      expect(await world.extend(running), "its lease holds").toBe("ok");
      expect(await suspend(world, running, wait("w"))).toBe("ok");
      expect(await world.status(running.id)).toBe("pending");
    });

    keeps("is ended once: the same `by` is told ok, another one is late with the state", async (world) => {
      const lease = await suspended(world, [wait("w"), wait("v", 1_000)]);
      expect(await signal(world, lease.id, "w", { by: "s1", value: "1" })).toEqual(taken(true));
      const before = [await world.find(lease.id), await stepsOf(world, lease.id)];
      world.clock.advance(50);
      expect(await signal(world, lease.id, "w", { by: "s1", value: "2" })).toEqual(taken(false));
      expect(await signal(world, lease.id, "w", { by: "s2", value: "2" })).toEqual({ kind: "late", state: "done" });
      expect(await signal(world, lease.id, "w", { ...failure("s2"), kind: "wait" })).toEqual({ kind: "late", state: "done" });
      expect([await world.find(lease.id), await stepsOf(world, lease.id)]).toEqual(before);
      const again = await world.take();
      await keep(world, again, result("r"));
      expect(await signal(world, lease.id, "r", { by: "s1" }), "a result was ended by nobody").toEqual({ kind: "late", state: "done" });
    });

    keeps("that failed can be replaced by another end, and by the same one it cannot", async (world) => {
      const lease = await suspended(world, [call("c")]);
      expect(await signal(world, lease.id, "c", failure(callEnder("child", 1)))).toEqual(taken(true));
      const failed = await stepOf(world, lease.id, "c");
      expect(failed).toMatchObject({ kind: "call", state: "failed", value: '{"name":"Error"}', by: "child 1", detail: '{"call":{}}' });
      world.clock.advance(70);
      expect(await signal(world, lease.id, "c", success(callEnder("child", 1))), "the same end again").toEqual(taken(false));
      expect(await stepOf(world, lease.id, "c")).toEqual(failed);
      expect(await signal(world, lease.id, "c", failure(callEnder("child", 2)))).toEqual(taken(false));
      expect(await stepOf(world, lease.id, "c")).toEqual({ ...failed, endedAt: world.clock.now(), by: "child 2" });
      expect(await signal(world, lease.id, "c", success(callEnder("child", 3)))).toEqual(taken(false));
      expect(await stepOf(world, lease.id, "c")).toMatchObject({ state: "done", value: "5", by: "child 3", startedAt: failed.startedAt });
      expect(await signal(world, lease.id, "c", failure(callEnder("child", 4)))).toEqual({ kind: "late", state: "done" });
    });

    keeps("ends nothing of another kind: a signal no sleep and no call, the end of a call no wait, and neither a result", async (world) => {
      const lease = await world.running();
      await keep(world, lease, result("r"));
      const sent = { signal: {}, call: success(callEnder("child", 1)), failure: failure(callEnder("child", 2)) };
      const missed = [
        [sleep("s", 60_000), sent.signal],
        [sleep("s", 60_000), sent.call],
        [call("c"), sent.signal],
        [wait("w"), sent.call],
        [wait("w"), sent.failure],
        [wait("w"), { kind: "sleep" }],
      ] as const;
      await suspend(world, lease, sleep("s", 60_000), call("c"), wait("w"));
      const before = [await world.find(lease.id), await stepsOf(world, lease.id)];
      world.clock.advance(10);
      for (const [{ name }, end] of missed) expect(await signal(world, lease.id, name, end)).toEqual({ kind: "late", state: "open" });
      for (const end of [sent.signal, sent.call]) expect(await signal(world, lease.id, "r", end)).toEqual({ kind: "late", state: "done" });
      expect([await world.find(lease.id), await stepsOf(world, lease.id)]).toEqual(before);
      expect(await signal(world, lease.id, "c", sent.call)).toEqual(taken(true));
      expect(await signal(world, lease.id, "w")).toEqual(taken(false));
      expect(await signal(world, lease.id, "c", { by: callEnder("child", 1) }), "by the same, and of another kind").toEqual({
        kind: "late",
        state: "done",
      });
      expect(await signal(world, lease.id, "w", sent.failure)).toEqual({ kind: "late", state: "done" });
    });

    keeps("that failed is not replaced by a signal", async (world) => {
      const lease = await suspended(world, [call("c")]);
      await signal(world, lease.id, "c", failure(callEnder("child", 1)));
      const failed = await stepOf(world, lease.id, "c");
      expect(await signal(world, lease.id, "c")).toEqual({ kind: "late", state: "failed" });
      expect(await stepOf(world, lease.id, "c")).toEqual(failed);
    });

    keeps("under a name that was something else ends what it is now", async (world) => {
      const lease = await suspended(world, [call("c"), wait("w")]);
      await signal(world, lease.id, "w");
      const again = await world.take();
      await keep(world, again, wait("c"), call("w"));
      await suspend(world, again, wait("c"), call("w"));
      expect(await signal(world, lease.id, "c", success(callEnder("child", 1)))).toEqual({ kind: "late", state: "open" });
      expect(await signal(world, lease.id, "w")).toEqual({ kind: "late", state: "open" });
      expect(await signal(world, lease.id, "w", success(callEnder("child", 1)))).toEqual(taken(true));
      expect(await signal(world, lease.id, "c")).toEqual(taken(false));
    });

    keeps("is refused with the status, if that is none of `from`; nothing is stored", async (world) => {
      const lease = await suspended(world, [wait("w")]);
      expect(await signal(world, lease.id, "w", { from: ["running"] })).toEqual({ kind: "refused", status: "blocked" });
      expect(await signal(world, lease.id, "new", { from: [] })).toEqual({ kind: "refused", status: "blocked" });
      expect(await stepsOf(world, lease.id)).toMatchObject([{ name: "w", state: "open" }]);
      for (const status of ["completed", "cancelled", "dead", "failed"] as const) {
        const { id } = await world.ended(status, { queue: status });
        expect(await signal(world, id, "w", { from: LIVING })).toEqual({ kind: "refused", status });
        expect(await world.find(id)).toMatchObject({ hasSteps: false });
        const all = await signal(world, id, "w", { from: STATUSES });
        expect(all).toEqual(taken(false, { queue: status }));
        expect(await world.find(id)).toMatchObject({ status, hasSteps: true });
      }
    });

    keeps("is missing, if there is no such job", async (world) => {
      expect(await signal(world, world.newId(), "w")).toEqual({ kind: "missing" });
      const { id } = await world.ended("completed");
      await world.remove(id);
      expect(await signal(world, id, "w")).toEqual({ kind: "missing" });
    });

    keeps("many in one call, in order, of several jobs and of one", async (world) => {
      const [one, two] = [await suspended(world, [wait("w"), wait("v")]), await suspended(world, [wait("w")], { queue: "other" })];
      const gone = await world.ended("completed");
      const answers = await world.store.endSteps([
        signalTo(one.id, "w", { by: "1" }),
        signalTo(one.id, "w", { by: "2" }),
        signalTo(two.id, "w"),
        signalTo(gone.id, "w"),
        signalTo(world.newId(), "w"),
        signalTo(one.id, "v"),
        signalTo(one.id, "w", { by: "1" }),
        signalTo(one.id, "u", { state: "failed" }),
        signalTo(one.id, "u", { by: "3" }),
      ]);
      expect(answers).toEqual([
        taken(true),
        { kind: "late", state: "done" },
        taken(true, { queue: "other" }),
        { kind: "refused", status: "completed" },
        { kind: "missing" },
        taken(false),
        taken(false),
        taken(false),
        taken(false),
      ]);
      expect((await stepsOf(world, one.id)).map(({ name, state, by }) => [name, state, by])).toEqual([
        ["u", "done", "3"],
        ["v", "done", "signal-1"],
        ["w", "done", "1"],
      ]);
      expect(await world.store.endSteps([])).toEqual([]);
    });

    keeps("several of one job in one call: the first that is taken wakes it", async (world) => {
      const { id } = await suspended(world, [wait("w"), wait("v")]);
      const answers = await world.store.endSteps([
        signalTo(id, "w", { from: ["running"] }),
        signalTo(id, "w", { by: "1" }),
        signalTo(id, "v"),
        signalTo(id, "w", { by: "2" }),
      ]);
      expect(answers).toEqual([{ kind: "refused", status: "blocked" }, taken(true), taken(false), { kind: "late", state: "done" }]);
    });

    keeps("a thousand in one call", async (world) => {
      const jobs = await world.addMany(100, (index) => ({ queue: `q${index % 7}` }));
      const ends = Array.from({ length: 1_000 }, (_, index) => signalTo(jobs[index % 100]!.id, `w${index % 50}`, { by: `s${index}` }));
      const kinds = (await world.store.endSteps(ends)).map(({ kind }) => kind);
      // Of a job and a name, the first; each job has but one name.
      expect(kinds).toEqual(ends.map((_, index) => (index < 100 ? "ok" : "late")));
    });
  });

  describe("a timeout and a signal", () => {
    keeps("the signal first: it wins, and the time that comes later changes nothing", async (world) => {
      const lease = await suspended(world, [wait("w", 1_000)]);
      world.clock.advance(999);
      expect(await signal(world, lease.id, "w")).toEqual(taken(true));
      world.clock.advance(5_000);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      const again = await world.take();
      expect((await read(world, lease.id, again.fence)).steps).toMatchObject([{ state: "done", value: '"yes"' }]);
    });

    keeps("the time first: until an attempt has read it, the signal still comes in time; then it is late", async (world) => {
      const [one, two] = [await suspended(world, [wait("w", 1_000)]), await suspended(world, [wait("w", 1_000)])];
      world.clock.advance(1_000);
      expect(await signal(world, one.id, "w"), "before promote").toEqual(taken(true));
      expect(await world.store.promote(10)).toEqual({ moved: 1, nextInMs: null });
      const leases = await world.claim();
      expect(idsOf(leases)).toEqual([one.id, two.id]);
      expect((await read(world, one.id, leases[0]!.fence)).steps).toMatchObject([{ state: "done" }]);
      expect((await read(world, two.id, leases[1]!.fence)).steps).toMatchObject([{ state: "timeout" }]);
      expect(await signal(world, two.id, "w")).toEqual({ kind: "late", state: "timeout" });
      expect(await stepOf(world, two.id, "w")).toMatchObject({ state: "timeout", value: null, by: null });
    });

    keeps("between promote and the claim: it is done, and nothing is woken twice", async (world) => {
      const lease = await suspended(world, [wait("w", 1_000)]);
      world.clock.advance(1_000);
      await world.store.promote(10);
      expect(await signal(world, lease.id, "w")).toEqual(taken(false));
      const leases = await world.claim();
      expect(idsOf(leases)).toEqual([lease.id]);
      expect((await read(world, lease.id, leases[0]!.fence)).steps).toMatchObject([{ state: "done", value: '"yes"' }]);
      expect(await world.counts()).toEqual({ running: 1 });
    });

    keeps("at once: of each pair exactly one wins, and both sides know which", async (world) => {
      const other = await world.elsewhere();
      const jobs = await world.addMany(40);
      const leases = await world.claim();
      for (const lease of leases) await keep(world, lease, wait("w", 100));
      world.clock.advance(100);
      const outcomes = await Promise.all(
        leases.map(async ({ id, fence }) => {
          const [page, answer] = await Promise.all([read(world, id, fence), signal(other, id, "w")]);
          return { page, answer };
        }),
      );
      expect(leases).toHaveLength(jobs.length);
      for (const { page, answer } of outcomes) {
        const { state } = page.steps[0]!;
        if (answer.kind === "ok") expect(state).toBe("done");
        else expect([answer, state]).toEqual([{ kind: "late", state: "timeout" }, "timeout"]);
      }
    });
  });

  describe("a signal and the suspension that waits for it", () => {
    for (const when of ["before", "after"] as const) {
      keeps(`${when} it: the job goes on`, async (world) => {
        const lease = await world.running();
        if (when === "before") expect(await signal(world, lease.id, "w")).toEqual(taken(false));
        expect(await suspend(world, lease, wait("w"))).toBe("ok");
        if (when === "after") expect(await signal(world, lease.id, "w")).toEqual(taken(true));
        const again = await world.take();
        expect((await read(world, lease.id, again.fence)).steps).toMatchObject([{ state: "done", value: '"yes"' }]);
      });
    }

    keeps("at the same moment, through two connections: no job sleeps through its signal", async (world) => {
      const other = await world.elsewhere();
      await world.addMany(60);
      const leases = await world.claim();
      await Promise.all(
        leases.map(async (lease) => {
          const [settled, answer] = await Promise.all([suspend(world, lease, wait("w")), signal(other, lease.id, "w")]);
          expect([settled, answer.kind]).toEqual(["ok", "ok"]);
        }),
      );
      expect(await world.counts()).toEqual({ pending: 60 });
      expect(await world.claim()).toHaveLength(60);
    });

    keeps("30 of one name at once: exactly one is ok, and it is the one that is kept", async (world) => {
      const worlds = [world, await world.elsewhere()];
      for (const lease of [await suspended(world, [wait("w")]), await world.running()]) {
        const answers = await Promise.all(
          Array.from({ length: 30 }, (_, index) => signal(worlds[index % 2]!, lease.id, "w", { by: `s${index}`, value: `${index}` })),
        );
        const winners = answers.flatMap((answer, index) => (answer.kind === "ok" ? [index] : []));
        expect(winners).toHaveLength(1);
        expect(answers.filter(({ kind }) => kind === "late")).toHaveLength(29);
        expect(await stepOf(world, lease.id, "w")).toMatchObject({ by: `s${winners[0]!}`, value: `${winners[0]!}` });
      }
    });

    keeps("30 of different names at once wake the job once", async (world) => {
      const worlds = [world, await world.elsewhere()];
      const names = Array.from({ length: 30 }, (_, index) => `w${index}`);
      const lease = await suspended(
        world,
        names.map((name) => wait(name)),
      );
      const answers = await Promise.all(names.map((name, index) => signal(worlds[index % 2]!, lease.id, name)));
      expect(answers.filter((answer) => answer.kind === "ok" && answer.woke)).toHaveLength(1);
      expect(answers.every(({ kind }) => kind === "ok")).toBe(true);
      expect(await world.counts()).toEqual({ pending: 1 });
      expect((await stepsOf(world, lease.id)).every(({ state }) => state === "done")).toBe(true);
    });

    if (engine.holdsRows !== true) return;

    keeps("while somebody else's transaction holds the job: it is locked, the others are done", async (world) => {
      const held = await world.running({ queue: "held" });
      const free = await suspended(world, [wait("w")]);
      const own = await world.opened.begin!();
      await world.store.within(own.tx)!.settle([settlementOf(held, { kind: "completed", result: null, runMs: 1 })]);
      expect(await world.store.endSteps([signalTo(held.id, "w"), signalTo(free.id, "w")])).toEqual([{ kind: "locked" }, taken(true)]);
      await own.rollback();
      expect(await signal(world, held.id, "w")).toEqual(taken(false, { queue: "held" }));
    });
  });
}
