import { describe, expect } from "vitest";
import { CANCEL, RESTART, RETRY } from "../../../src/core/lifecycle.ts";
import { callEnder, CALLERS, type NewStep, type StepEnd } from "../../../src/core/steps.ts";
import type { LeasedRecord } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS, type World } from "../world.ts";
import {
  call,
  childOf,
  deliver,
  keep,
  read,
  result,
  send,
  signal,
  signalTo,
  sleep,
  stepsOf,
  suspend,
  suspended,
  suspension,
  taken,
  told,
  wait,
} from "./durable-work.ts";

/** A dead job with a step in each state. */
async function deadWithSteps(world: World): Promise<string> {
  const lease = await world.running({ maxRetries: 0 });
  await keep(world, lease, result("done"), wait("open"), call("failed"), wait("timeout", 1));
  await signal(world, lease.id, "failed", { kind: "call", state: "failed", value: "{}" });
  world.clock.advance(1);
  await read(world, lease.id, lease.fence);
  expect(await world.discard(lease)).toBe("ok");
  expect(await states(world, lease.id)).toEqual({ done: "done", failed: "failed", open: "open", timeout: "timeout" });
  return lease.id;
}

async function states(world: World, id: string): Promise<Record<string, string>> {
  return Object.fromEntries((await stepsOf(world, id)).map(({ name, state }) => [name, state]));
}

/** A job that was restarted, and is suspended at these steps. */
async function inSecondLife(world: World, ...steps: NewStep[]): Promise<LeasedRecord> {
  const { id } = await suspended(world, [call("open"), wait("more")]);
  await world.cancel(id);
  await world.store.change([id], RESTART);
  const lease = await world.take();
  await keep(world, lease, ...steps);
  expect(await suspend(world, lease, ...steps.filter(({ state }) => state === "open"))).toBe("ok");
  return lease;
}

/** The end of a job that this life called. */
const calledIn = (life: number, wishes: Partial<StepEnd> = {}): Partial<StepEnd> => {
  return { kind: "call", state: "done", value: "5", by: callEnder("child", 1), from: CALLERS, life, ...wishes };
};

const EVERYTHING = [{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }];

/** Steps through the lives of a job, and where a job says that it has some. */
export function stepLivesSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("the steps of a job in another life", () => {
    keeps("stay through failures, losses and releases", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      await keep(world, lease, result("a", "1"));
      const steps = await stepsOf(world, lease.id);
      await world.fail(lease, 0);
      await world.store.promote(10);
      await world.release(await world.take());
      const lost = await world.take();
      world.clock.advance(LEASE_MS);
      await world.lose(lost);
      expect(await stepsOf(world, lease.id)).toEqual(steps);
      world.clock.advance(600_000);
      await world.store.promote(10);
      const again = await world.take();
      expect(await read(world, lease.id, again.fence)).toMatchObject({ life: 1, steps: [{ name: "a", value: "1", attempt: 1 }] });
      await world.complete(again);
      expect(await stepsOf(world, lease.id)).toEqual(steps);
    });

    keeps("a retry forgets those that failed, and keeps all others", async (world) => {
      const id = await deadWithSteps(world);
      const before = (await stepsOf(world, id)).filter(({ state }) => state !== "failed");
      expect(await world.store.change([id], RETRY)).toMatchObject([{ kind: "ok", job: { status: "pending", hasSteps: true } }]);
      expect(await stepsOf(world, id)).toEqual(before);
      expect((await read(world, id)).life).toBe(1);
      expect(await signal(world, id, "failed", { by: "signal-1" }), "the name is free again").toEqual(taken(false));
    });

    keeps("a restart forgets all: the life goes up by one, each time", async (world) => {
      const id = await deadWithSteps(world);
      expect(await world.store.change([id], RESTART)).toMatchObject([{ kind: "ok", job: { status: "pending", hasSteps: true } }]);
      expect(await read(world, id)).toEqual({ now: world.clock.now(), life: 2, steps: [], cursor: null });
      const lease = await world.take();
      expect(await keep(world, lease, result("done", "2"))).toBe("ok");
      expect(await read(world, id, lease.fence)).toMatchObject({ life: 2, steps: [{ name: "done", value: "2", attempt: lease.attempt }] });
      await world.discard(lease);
      await world.store.change([id], RESTART);
      expect(await read(world, id)).toMatchObject({ life: 3, steps: [] });
    });

    keeps("a move without a word of steps keeps them, and one that is refused forgets none", async (world) => {
      const id = await deadWithSteps(world);
      const before = await stepsOf(world, id);
      expect(await world.store.change([id], { ...RESTART, from: ["cancelled"] })).toEqual([{ kind: "refused", status: "dead" }]);
      expect(await stepsOf(world, id)).toEqual(before);
      await world.store.change([id], { ...RETRY, steps: undefined });
      expect(await read(world, id)).toMatchObject({ life: 1, steps: before });
    });

    keeps("of many jobs in one call, each its own; those without steps are as before", async (world) => {
      const [one, two] = [await deadWithSteps(world), await deadWithSteps(world)];
      const plain = await world.ended("dead");
      const living = await world.add();
      expect((await world.store.change([one, plain.id, living.id, two], RESTART)).map(({ kind }) => kind)).toEqual([
        "ok",
        "ok",
        "refused",
        "ok",
      ]);
      for (const id of [one, two]) expect(await read(world, id)).toMatchObject({ life: 2, steps: [] });
      expect(await stepsOf(world, plain.id)).toEqual([]);
      expect(await world.find(plain.id)).toMatchObject({ status: "pending", hasSteps: false });
    });

    keeps("cancelled while it was suspended and restarted: it waits for nothing of before", async (world) => {
      const lease = await suspended(world, [wait("w", 1_000)]);
      await world.store.change([lease.id], CANCEL);
      await world.store.change([lease.id], RESTART);
      const again = await world.take();
      await suspend(world, again, wait("w"));
      world.clock.advance(5_000);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(await stepsOf(world, lease.id)).toMatchObject([{ name: "w", state: "open", until: null }]);
    });

    keeps("are removed with it: a job with the same id has none", async (world) => {
      const job = await world.add();
      const lease = await world.take();
      await keep(world, lease, result("a"), wait("w", 5));
      await world.complete(lease);
      expect(await world.store.remove([job.id], ["completed"])).toMatchObject([{ kind: "ok", job: { hasSteps: true } }]);
      expect(await world.store.readSteps(job.id, null, null)).toBeNull();
      expect(await world.insert(job)).toMatchObject({ kind: "created" });
      expect(await world.find(job.id)).toMatchObject({ hasSteps: false, fence: 0 });
      expect(await read(world, job.id)).toMatchObject({ life: 1, steps: [] });
      const again = await world.take();
      expect(await read(world, job.id, again.fence)).toMatchObject({ life: 1, steps: [] });
    });

    keeps("are pruned with it, and so is its life", async (world) => {
      const job = await world.add({ maxRetries: 0 });
      await keep(world, await world.take(), result("a"));
      await world.cancel(job.id);
      await world.store.change([job.id], RESTART);
      const lease = await world.take();
      await keep(world, lease, result("b"));
      await world.complete(lease);
      world.clock.advance(1_000);
      expect(await world.store.prune(EVERYTHING, 10)).toEqual({ removed: 1 });
      expect(await world.store.readSteps(job.id, null, null)).toBeNull();
      expect(await world.insert(job)).toMatchObject({ kind: "created" });
      expect(await read(world, job.id)).toMatchObject({ life: 1, steps: [] });
    });
  });

  describe("an end that says which life it is for", () => {
    keeps("is taken in that life, by a step that is open, failed or not there yet; without one it is taken in any", async (world) => {
      for (const life of [1, 2]) {
        const { id, queue } =
          life === 1 ? await suspended(world, [call("open")], { queue: "first" }) : await inSecondLife(world, call("open"));
        expect(await signal(world, id, "open", calledIn(life, { state: "failed" }))).toEqual(taken(true, { queue }));
        expect(await signal(world, id, "open", calledIn(life, { by: "child 2" }))).toEqual(taken(false, { queue }));
        expect(await signal(world, id, "new", calledIn(life))).toEqual(taken(false, { queue }));
        expect(await signal(world, id, "signal", { life: null })).toEqual(taken(false, { queue }));
        expect(await states(world, id)).toEqual({ new: "done", open: "done", signal: "done" });
      }
    });

    keeps("changes nothing in another one: of one that is not there yet, and after a restart of one that is over", async (world) => {
      const first = await suspended(world, [call("open")]);
      const second = await inSecondLife(world, call("open"), result("ended"));
      for (const [id, life, others] of [
        [first.id, 1, [2, 0]],
        [second.id, 2, [1, 3]],
      ] as const) {
        const before = [await world.find(id), await read(world, id)];
        for (const other of others) {
          expect(await signal(world, id, "open", calledIn(other))).toEqual({ kind: "late", state: "open" });
          expect(await signal(world, id, "open", calledIn(other, { state: "failed" }))).toEqual({ kind: "late", state: "open" });
          expect(await signal(world, id, "new", calledIn(other)), "there is none").toEqual({ kind: "late", state: "open" });
        }
        expect([await world.find(id), await read(world, id)]).toEqual(before);
        expect(before[1]).toMatchObject({ life });
      }
      expect(await signal(world, second.id, "ended", calledIn(1))).toEqual({ kind: "late", state: "done" });
      expect(await world.store.endSteps([first, second].map(({ id }) => signalTo(id, "open", calledIn(2))))).toEqual([
        { kind: "late", state: "open" },
        taken(true),
      ]);
    });

    keeps("does not mark a job that has no steps, which is in its first life, also after a restart", async (world) => {
      const { id } = await world.ended("dead");
      for (let restarts = 0; restarts < 2; restarts++) {
        expect(await signal(world, id, "w", calledIn(2))).toEqual({ kind: "late", state: "open" });
        expect(await read(world, id)).toMatchObject({ life: 1, steps: [] });
        expect(await world.find(id)).toMatchObject({ hasSteps: false });
        await world.store.change([id], RESTART);
      }
      expect(await signal(world, id, "w", calledIn(1))).toEqual(taken(false));
    });

    keeps("and comes before the restart is forgotten with it; its repeat is late", async (world) => {
      const lease = await suspended(world, [call("c")]);
      expect(await signal(world, lease.id, "c", calledIn(1))).toEqual(taken(true));
      await world.cancel(lease.id);
      await world.store.change([lease.id], RESTART);
      expect(await signal(world, lease.id, "c", calledIn(1))).toEqual({ kind: "late", state: "open" });
      expect(await stepsOf(world, lease.id)).toEqual([]);
    });

    for (const how of ["completes", "is cancelled"] as const) {
      keeps(`is what a called job leaves that ${how}: it does not end the step of a life that has not called it`, async (world) => {
        const parent = await world.running();
        const [old, next] = [childOf(world, parent, "c", { type: "old" }), childOf(world, parent, "c", { type: "next" }, 2)];
        await send(world, suspension(parent, [call("c")], [old]));
        await world.cancel(parent.id);
        await world.store.change([parent.id], RESTART);
        await send(world, suspension(await world.take({ types: ["task"] }), [call("c")], [next]));
        for (const child of [old, next]) {
          const lease = await world.take({ types: [child.type] });
          expect(lease).toMatchObject({ id: child.id, parent: child.parent });
          if (how === "is cancelled") await world.cancel(lease.id);
          else await send(world, told(lease));
          const ends = (await world.store.notices(10)).flatMap(({ notice }) => (notice.kind === "end" ? [notice.end] : []));
          expect(ends.at(-1)).toMatchObject({ id: parent.id, name: "c", life: child.parent!.life });
          await deliver(world);
          expect(await world.status(parent.id)).toBe(child === old ? "blocked" : "pending");
        }
        const by = expect.stringContaining(next.id) as string;
        expect(await stepsOf(world, parent.id)).toMatchObject([{ state: how === "completes" ? "done" : "failed", by }]);
      });
    }
  });

  describe("a job says", () => {
    keeps("whether it has steps and who called it, in every answer", async (world) => {
      const parent = await world.running({ queue: "parents" });
      const child = childOf(world, parent, "a step: with / any name \u{1F600}", { delay: 5 });
      await world.insert(child);
      const expected = { id: child.id, parent: { id: parent.id, step: child.parent!.step, life: 1 } };
      const looks = async (hasSteps: boolean): Promise<void> => {
        expect(await world.find(child.id)).toMatchObject({ ...expected, hasSteps });
        expect(await world.store.list({ queue: "default", limit: 10 })).toMatchObject({ jobs: [{ ...expected, hasSteps }] });
        expect(await world.store.list({ queue: "default", limit: 10, sort: "state" })).toMatchObject({ jobs: [{ ...expected, hasSteps }] });
      };
      await looks(false);
      world.clock.advance(5);
      expect((await world.store.promote(10, true)).jobs).toMatchObject([{ id: child.id }]);
      const lease = await world.take();
      expect(lease).toMatchObject({ ...expected, hasSteps: false });
      await keep(world, lease, result("a"));
      await looks(true);
      world.clock.advance(LEASE_MS);
      expect((await world.expired(10)).jobs).toMatchObject([{ id: parent.id }, { ...expected, hasSteps: true }]);
      await suspend(world, lease, sleep("s", 5));
      await looks(true);
      world.clock.advance(5);
      expect((await world.store.promote(10, true)).jobs).toMatchObject([{ id: child.id }]);
      const again = await world.take({ turn: 7 });
      expect(again).toMatchObject({ ...expected, hasSteps: true });
      expect(await world.claim({ turn: 7, again: true })).toMatchObject([{ ...expected, hasSteps: true }]);
      expect(await world.store.change([child.id], CANCEL)).toMatchObject([{ kind: "ok", job: { ...expected, hasSteps: true } }]);
      expect(await world.remove(child.id)).toMatchObject({ kind: "ok", job: { ...expected, hasSteps: true } });
    });

    keeps("who called it, also if it is known by its key", async (world) => {
      const parent = await world.running({ queue: "parents" });
      const child = childOf(world, parent, "c", { idempotencyKey: "k" });
      await world.insert(child);
      expect(await world.insert(world.job({ idempotencyKey: "k" }))).toMatchObject({
        kind: "known",
        job: { id: child.id, parent: { id: parent.id, step: "c", life: 1 }, hasSteps: false },
      });
    });
  });
}
