import { describe, expect } from "vitest";
import { OPEN } from "../../../src/core/lifecycle.ts";
import type { Hint } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS, type World } from "../world.ts";
import { idsOf } from "./limit-steps.ts";
import {
  childOf,
  keep,
  noticesOf,
  read,
  result,
  send,
  signal,
  sleep,
  stepOf,
  stepsOf,
  suspend,
  suspended,
  suspension,
  taken,
  wait,
} from "./durable-work.ts";

/** The ids that a list of these statuses finds; its count must agree. */
async function listed(world: World, ...status: Parameters<World["store"]["list"]>[0]["status"] & object): Promise<string[]> {
  const { jobs } = await world.store.list({ status, limit: 100 });
  expect(await world.store.count({ status })).toEqual({ count: jobs.length, isCapped: false });
  return idsOf(jobs);
}

export function suspendSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("an attempt that is suspended", () => {
    keeps("gives back its lease and its attempt: the job waits as blocked, and its waits are open steps", async (world) => {
      const lease = await world.running({ priority: 12, maxRetries: 3 });
      world.clock.advance(300);
      const now = world.clock.now();
      const before = await world.find(lease.id);
      expect(await suspend(world, lease, wait("w"), { ...sleep("s", 5_000), detail: "{}" }, wait("v", 2_000))).toBe("ok");
      expect(await world.find(lease.id)).toEqual({
        ...before,
        status: "blocked",
        attempt: 0,
        hasSteps: true,
        runAt: now + 2_000,
        updatedAt: now,
      });
      const open = { state: "open", value: null, startedAt: now, endedAt: null, attempt: 1, by: null, detail: null };
      expect(await stepsOf(world, lease.id)).toEqual([
        { ...open, name: "s", kind: "sleep", until: now + 5_000, detail: "{}" },
        { ...open, name: "v", kind: "wait", until: now + 2_000 },
        { ...open, name: "w", kind: "wait", until: null },
      ]);
      expect((await world.queue()).counts).toEqual([{ status: "blocked", level: "high", count: 1 }]);
      expect(await world.store.attempts(lease.id)).toEqual([]);
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
      expect([await world.extend(lease), await world.complete(lease), await keep(world, lease, result("a"))]).toEqual(
        Array(3).fill("stale"),
      );
      expect([await listed(world, "blocked"), await listed(world, "running", "scheduled", "pending")]).toEqual([[lease.id], []]);
    });

    keeps("only at sleeps waits as scheduled until the first of them", async (world) => {
      const lease = await suspended(world, [sleep("long", 60_000), sleep("short", 4_000)]);
      expect(await world.find(lease.id)).toMatchObject({ status: "scheduled", attempt: 0, runAt: world.clock.now() + 4_000 });
      expect(await world.counts()).toEqual({ scheduled: 1 });
      expect(await listed(world, "scheduled")).toEqual([lease.id]);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 4_000 });
      world.clock.advance(4_000);
      expect(await world.store.promote(10)).toEqual({ moved: 1, nextInMs: null });
      const again = await world.take();
      expect(again).toMatchObject({ id: lease.id, attempt: 1, fence: 2, hasSteps: true });
      expect((await read(world, lease.id, again.fence)).steps).toMatchObject([
        { name: "long", state: "open" },
        { name: "short", state: "done", endedAt: world.clock.now() },
      ]);
    });

    keeps("without a time is never due: only an end, a move or a cancel goes on with it", async (world) => {
      const lease = await suspended(world, [wait("w")]);
      expect(await world.find(lease.id)).toMatchObject({ status: "blocked", runAt: lease.runAt });
      world.clock.advance(400 * 86_400_000);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(await world.claim()).toEqual([]);
      expect(await world.store.change([lease.id], OPEN)).toMatchObject([{ kind: "ok", was: "blocked" }]);
      expect((await world.take()).id).toBe(lease.id);
    });

    keeps("is due at the earliest time of its waits: promote makes it pending, and it ranks from then", async (world) => {
      const lease = await suspended(world, [wait("w", 9_000), wait("v", 3_000), wait("u")]);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 3_000 });
      world.clock.advance(2_000);
      const early = await world.add();
      world.clock.advance(1_000);
      const due = world.clock.now();
      world.clock.advance(1_000);
      const late = await world.add();
      world.clock.advance(1_000);
      const { jobs, ...promoted } = await world.store.promote(10, true);
      expect(promoted).toEqual({ moved: 1, nextInMs: null });
      expect(jobs).toEqual([{ id: lease.id, type: "task", queue: "default" }]);
      expect(await world.find(lease.id)).toMatchObject({ status: "pending", runAt: due, updatedAt: world.clock.now() });
      expect(await world.counts()).toEqual({ pending: 3 });
      expect(await world.store.oldest()).toMatchObject({ lanes: [{ runAt: due - 1_000 }] });
      const leases = await world.claim();
      expect(idsOf(leases)).toEqual([early.id, lease.id, late.id]);
      expect((await read(world, lease.id, leases[1]!.fence)).steps.map(({ state }) => state)).toEqual(["open", "timeout", "open"]);
    });

    keeps("is promoted among scheduled and retrying ones, the longest due first", async (world) => {
      const blocked = await suspended(world, [wait("w", 2_000)]);
      const asleep = await suspended(world, [sleep("s", 3_000)]);
      const retrying = await world.running();
      await world.fail(retrying, 1_000);
      const scheduled = await world.add({ delay: 4_000 });
      world.clock.advance(5_000);
      const order: string[] = [];
      for (let left = 4; left > 0; left--) {
        const { jobs, ...answer } = await world.store.promote(1, true);
        expect(answer).toEqual({ moved: 1, nextInMs: left === 1 ? null : 0 });
        order.push(...idsOf(jobs!));
      }
      expect(order).toEqual([retrying.id, blocked.id, asleep.id, scheduled.id]);
      expect(idsOf(await world.claim())).toEqual(order);
    });

    keeps("a step that is open keeps its time when the job is suspended at it again", async (world) => {
      const lease = await suspended(world, [wait("w", 10_000), sleep("s", 4_000)]);
      const start = world.clock.now();
      world.clock.advance(4_000);
      await world.store.promote(10);
      const again = await world.take();
      world.clock.advance(1_000);
      expect(await suspend(world, again, { ...wait("w", 10_000), detail: '{"schema":{}}' }, sleep("t", 99_000))).toBe("ok");
      expect(await stepOf(world, lease.id, "w")).toMatchObject({ until: start + 10_000, startedAt: start, attempt: 1 });
      expect(await world.find(lease.id)).toMatchObject({ status: "blocked", runAt: start + 10_000 });
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 5_000 });
    });

    keeps("at a step that is overdue is due at once", async (world) => {
      const lease = await world.running();
      await keep(world, lease, sleep("s", 1_000));
      world.clock.advance(1_500);
      expect(await suspend(world, lease, sleep("s", 1_000))).toBe("ok");
      expect(await world.store.promote(10)).toEqual({ moved: 1, nextInMs: null });
      const again = await world.take();
      expect((await read(world, lease.id, again.fence)).steps).toMatchObject([{ state: "done" }]);
    });

    for (const state of ["done", "failed", "timeout"] as const) {
      keeps(`at a step that is ${state} goes on at once: it is pending, due now`, async (world) => {
        const lease = await world.running();
        world.clock.advance(200);
        expect(await signal(world, lease.id, "w", { state, value: "7" })).toEqual(taken(false));
        const ended = await stepOf(world, lease.id, "w");
        world.clock.advance(50);
        expect(await suspend(world, lease, wait("v", 5_000), wait("w", 9_000), sleep("s", 1))).toBe("ok");
        const now = world.clock.now();
        expect(await world.find(lease.id)).toMatchObject({ status: "pending", attempt: 0, fence: 1, runAt: now, updatedAt: now });
        expect(await world.counts()).toEqual({ pending: 1 });
        expect(await stepOf(world, lease.id, "w")).toEqual(ended);
        expect((await stepsOf(world, lease.id)).map(({ name, until }) => [name, until])).toEqual([
          ["s", now + 1],
          ["v", now + 5_000],
          ["w", null],
        ]);
        expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
        expect((await world.take()).id).toBe(lease.id);
      });
    }

    keeps("retries and losses count from 0 again, and snoozes too", async (world) => {
      const { id } = await world.add({ maxRetries: 5, maxLost: 5 });
      await world.snooze(await world.take(), 1_000);
      world.clock.advance(1_000);
      await world.store.promote(10);
      await world.fail(await world.take(), 0);
      await world.store.promote(10);
      const lost = await world.take();
      world.clock.advance(LEASE_MS);
      await world.lose(lost);
      world.clock.advance(600_000);
      await world.store.promote(10);
      const lease = await world.take();
      expect(lease).toMatchObject({ retryCount: 1, lostCount: 1, snoozes: 1, attempt: 3 });
      expect(await suspend(world, lease, wait("w"))).toBe("ok");
      expect(await world.find(id)).toMatchObject({
        status: "blocked",
        retryCount: 0,
        lostCount: 0,
        snoozes: 0,
        attempt: 2,
        error: { kind: "lost" },
      });
      expect((await world.store.attempts(id)).map(({ number }) => number)).toEqual([1, 2]);
      expect(await stepOf(world, id, "w")).toMatchObject({ attempt: 3 });
      expect([await world.total("lost"), await world.total("retried")]).toEqual([1, 2]);
    });

    keeps("sends the hint `due` for its time, and `work` if it goes on at once", async (world) => {
      const leases = [await world.running(), await world.running(), await world.running({ queue: "mail" })];
      await keep(world, leases[2]!, result("w"));
      const heard: Hint[] = [];
      const stop = world.store.watch((hint) => heard.push(hint));
      await suspend(world, leases[0]!, wait("w", 2_345));
      expect(heard).toContainEqual({ topic: "due", inMs: 2_345 });
      await suspend(world, leases[1]!, sleep("s", 1_234));
      expect(heard).toContainEqual({ topic: "due", inMs: 1_234 });
      await suspend(world, leases[2]!, wait("w", 5_000));
      expect(heard).toContainEqual({ topic: "work", queue: "mail" });
      stop();
    });

    keeps("a repeat is ok and changes nothing, also after the job went on", async (world) => {
      const lease = await world.running();
      const settlement = suspension(lease, [wait("w", 5_000), wait("v")]);
      expect(await send(world, settlement)).toBe("ok");
      const [job, steps] = [await world.find(lease.id), await stepsOf(world, lease.id)];
      world.clock.advance(700);
      expect(await send(world, settlement)).toBe("ok");
      expect([await world.find(lease.id), await stepsOf(world, lease.id)]).toEqual([job, steps]);
      await signal(world, lease.id, "v");
      expect(await send(world, settlement)).toBe("ok");
      const again = await world.take();
      const later = { ...settlement, waits: [wait("another")] };
      expect(await send(world, later)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({ status: "running", attempt: 1, fence: 2 });
      expect((await stepsOf(world, lease.id)).map(({ name, state }) => [name, state])).toEqual([
        ["v", "done"],
        ["w", "open"],
      ]);
      expect(await world.complete(again)).toBe("ok");
      expect(await send(world, settlement)).toBe("stale");
      expect(await world.counts()).toEqual({ completed: 1 });
    });

    keeps("under a lease that does not hold, changes nothing: no step, no called job, no notice", async (world) => {
      const [given, cancelled] = [await world.running(), await world.running()];
      await world.release(given);
      await world.cancel(cancelled.id);
      for (const [lease, answer] of [
        [given, "stale"],
        [cancelled, "cancelled"],
      ] as const) {
        const [here, elsewhere] = [childOf(world, lease, "c"), childOf(world, lease, "d", { queue: "far away" })];
        const before = await world.find(lease.id);
        expect(await send(world, suspension(lease, [wait("w", 5)], [here, elsewhere]))).toBe(answer);
        expect(await world.find(lease.id)).toEqual(before);
        expect(await stepsOf(world, lease.id)).toEqual([]);
        expect(await world.store.find([here.id, elsewhere.id])).toEqual([null, null]);
      }
      expect(await noticesOf(world)).toEqual([]);
      expect(await world.counts()).toEqual({ pending: 1, cancelled: 1 });
    });

    keeps("many in one call, beside other settlements and a claim, each by its own", async (world) => {
      const leases = await Promise.all([1, 2, 3, 4, 5].map(async () => world.add())).then(() => world.claim());
      await signal(world, leases[2]!.id, "w");
      const next = await world.add({ queue: "next" });
      const { settled, claimed } = await world.store.exchange(
        [
          suspension(leases[0]!, [wait("w")]),
          suspension(leases[1]!, [sleep("w", 1_000)]),
          suspension(leases[2]!, [wait("w")]),
          { ...suspension(leases[3]!, [wait("w")]), fence: 9 },
          suspension(leases[4]!, [wait("w", 500), wait("v")]),
        ],
        [{ workerId: "w", queues: ["next"], types: "*", limit: 5, leaseMs: 1_000, turn: 0, again: false, local: false }],
      );
      expect(settled).toEqual(["ok", "ok", "ok", "stale", "ok"]);
      expect(claimed.map(idsOf)).toEqual([[next.id]]);
      expect((await world.store.find(idsOf(leases))).map((job) => job!.status)).toEqual([
        "blocked",
        "scheduled",
        "pending",
        "running",
        "blocked",
      ]);
      expect(await world.counts()).toEqual({ blocked: 2, scheduled: 1, pending: 1, running: 1 });
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 500 });
    });

    keeps("as many times as it likes: each claim is one more fence, and the attempt stays the first", async (world) => {
      const { id } = await world.add();
      for (let round = 1; round <= 5; round++) {
        const lease = await world.take();
        expect(lease).toMatchObject({ id, fence: round, attempt: 1 });
        await suspend(world, lease, wait(`w${round}`));
        expect(await signal(world, id, `w${round}`)).toEqual(taken(true));
      }
      expect(await world.complete(await world.take(), "1")).toBe("ok");
      expect(await world.find(id)).toMatchObject({ status: "completed", attempt: 1, fence: 6, hasSteps: true });
      expect(await world.store.attempts(id)).toMatchObject([{ number: 1, outcome: "completed" }]);
      expect(await stepsOf(world, id)).toHaveLength(5);
    });

    keeps("cancelled, it is no longer due; retried, it goes on with its steps", async (world) => {
      const lease = await suspended(world, [wait("w", 1_000)]);
      expect(await world.cancel(lease.id)).toMatchObject({ kind: "ok", was: "blocked", job: { status: "cancelled", error: null } });
      world.clock.advance(5_000);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(await world.retry(lease.id)).toMatchObject({ kind: "ok", was: "cancelled", job: { hasSteps: true } });
      const again = await world.take();
      expect((await read(world, lease.id, again.fence)).steps).toMatchObject([{ name: "w", state: "timeout" }]);
    });

    keeps("opened by hand, it is no longer due at its time; suspended again without one, neither", async (world) => {
      const lease = await suspended(world, [wait("w", 1_000)]);
      await world.store.change([lease.id], OPEN);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      const again = await world.take();
      await suspend(world, again, wait("v"));
      world.clock.advance(5_000);
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: null });
      expect(await world.status(lease.id)).toBe("blocked");
    });
  });
}
