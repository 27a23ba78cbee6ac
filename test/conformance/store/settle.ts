import { describe, expect } from "vitest";
import { withGroup } from "../../../src/core/error-group.ts";
import { bucketOf } from "../../../src/core/histogram.ts";
import type { AttemptError } from "../../../src/core/job.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { MAX_BATCH, type Settlement } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS, settlementOf, type World } from "../world.ts";

const OUTCOMES: readonly Outcome[] = [
  { kind: "completed", result: "1", runMs: 1 },
  { kind: "failed", error: BOOM, delayMs: 1_000, runMs: 1 },
  { kind: "discard", error: BOOM, runMs: 1 },
  { kind: "snooze", delayMs: 2_000 },
  { kind: "release" },
  { kind: "lost" },
];

async function send(world: World, ...settlements: Settlement[]): Promise<string[]> {
  return (await world.store.exchange(settlements, [])).settled;
}

export function settleSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("settle", () => {
    keeps("completed: result kept, error cleared, ended now", async (world) => {
      const lease = await world.running();
      const before = await world.find(lease.id);
      world.clock.advance(40);
      const now = world.clock.now();
      expect(await world.settle(lease, { kind: "completed", result: '{"a":1}', runMs: 33.25 })).toBe("ok");
      expect(await world.find(lease.id)).toEqual({
        ...before,
        status: "completed",
        result: '{"a":1}',
        error: null,
        completedAt: now,
        updatedAt: now,
        runMs: 33.25,
      });
      expect(await world.store.attempts(lease.id)).toEqual([
        {
          number: 1,
          workerId: "worker-1",
          startedAt: lease.startedAt,
          endedAt: now,
          durationMs: 33.25,
          outcome: "completed",
          error: null,
        },
      ]);
      expect(await world.counts()).toEqual({ completed: 1 });
    });

    keeps("heldMs moves startedAt to the call of the handler: in the job, its history and the wait histogram", async (world) => {
      const [first, second, third] = [
        await world.running({ maxRetries: 1 }),
        await world.running({ maxRetries: 1 }),
        await world.running(),
      ];
      const claimedAt = first.startedAt!;
      world.clock.advance(700);
      const now = world.clock.now();
      const held: Settlement[] = [
        { ...settlementOf(first, { kind: "completed", result: '"done"', runMs: 100 }), heldMs: 512 },
        { ...settlementOf(second, { kind: "failed", error: BOOM, delayMs: 777, runMs: 50 }), heldMs: 400 },
        // No handler starts after its end.
        { ...settlementOf(third, { kind: "completed", result: null, runMs: 100 }), heldMs: 60_000 },
      ];
      expect(await send(world, ...held)).toEqual(["ok", "ok", "ok"]);
      expect(await send(world, ...held)).toEqual(["ok", "ok", "ok"]);
      expect(await world.find(first.id)).toMatchObject({ status: "completed", startedAt: claimedAt + 512, runMs: 100, result: '"done"' });
      expect(await world.find(second.id)).toMatchObject({ status: "retrying", startedAt: second.startedAt! + 400, runAt: now + 777 });
      expect(await world.find(third.id)).toMatchObject({ status: "completed", startedAt: now, result: null });
      const starts = await Promise.all([first, second, third].map(async ({ id }) => (await world.store.attempts(id))[0]!.startedAt));
      expect(starts).toEqual([claimedAt + 512, second.startedAt! + 400, now]);
      const { rows } = await world.store.counters({ step: "minute" });
      const waits = [first, second, third].map(({ runAt }, index) => bucketOf(starts[index]! - runAt));
      const counted = Object.fromEntries(rows.flatMap(({ times }) => [...(times.wait?.entries() ?? [])]));
      expect(counted).toEqual(Object.fromEntries(waits.map((bucket) => [bucket, waits.filter((each) => each === bucket).length])));
    });

    keeps("heldMs is not part of a run time that nobody reported", async (world) => {
      const [retried, dead] = [await world.running({ maxLost: 1 }), await world.running({ maxLost: 0 })];
      world.clock.advance(700);
      for (const lease of [retried, dead]) {
        expect(await send(world, { ...settlementOf(lease, { kind: "lost" }), heldMs: 512 })).toEqual(["ok"]);
        expect(await world.find(lease.id)).toMatchObject({ startedAt: lease.startedAt! + 512, runMs: 188 });
        expect(await world.store.attempts(lease.id)).toMatchObject([{ startedAt: lease.startedAt! + 512, durationMs: 188 }]);
      }
    });

    keeps("a clock that is set back moves no start before its claim", async (world) => {
      const leases = [await world.running(), await world.running(), await world.running({ maxRetries: 1 })];
      const [plain, held] = leases.map((lease) => settlementOf(lease, { kind: "completed", result: null, runMs: 1 }));
      const failed = settlementOf(leases[2]!, { kind: "failed", error: BOOM, delayMs: 1, runMs: 1 });
      world.clock.step(-10_000);
      expect(await send(world, plain!, { ...held!, heldMs: 100 }, { ...failed, heldMs: 100 })).toEqual(["ok", "ok", "ok"]);
      for (const { id, startedAt } of leases) expect((await world.find(id)).startedAt).toBe(startedAt);
    });

    keeps("failed with retries left: retrying at now + delay, the attempt in the history", async (world) => {
      const lease = await world.running({ maxRetries: 1 });
      const before = await world.find(lease.id);
      world.clock.advance(40);
      const now = world.clock.now();
      expect(await world.settle(lease, { kind: "failed", error: BOOM, delayMs: 777, runMs: 12 })).toBe("ok");
      expect(await world.find(lease.id)).toEqual({
        ...before,
        status: "retrying",
        retryCount: 1,
        runAt: now + 777,
        error: withGroup(BOOM),
        updatedAt: now,
        runMs: 12,
      });
      expect(await world.store.attempts(lease.id)).toEqual([
        {
          number: 1,
          workerId: "worker-1",
          startedAt: lease.startedAt,
          endedAt: now,
          durationMs: 12,
          outcome: "failed",
          error: withGroup(BOOM),
        },
      ]);
    });

    keeps("failed without a delay of its own: after the stored curve, doubling from retry to retry", async (world) => {
      const { id } = await world.add({ maxRetries: 3, retryDelay: 1_000 });
      for (const delay of [1_000, 2_000, 4_000]) {
        await world.fail(await world.take());
        expect((await world.find(id)).runAt).toBe(world.clock.now() + delay);
        world.clock.advance(delay);
        expect(await world.store.promote(1)).toEqual({ moved: 1, nextInMs: null });
      }
    });

    keeps("failed with no retries left: dead, ended now, error kept", async (world) => {
      const lease = await world.running({ maxRetries: 0 });
      expect(await world.fail(lease)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({
        status: "dead",
        retryCount: 0,
        error: BOOM,
        completedAt: world.clock.now(),
        runMs: 5,
      });
      expect(await world.store.attempts(lease.id)).toMatchObject([{ number: 1, outcome: "failed", error: BOOM, durationMs: 5 }]);
      expect(await world.total("dead")).toBe(1);
    });

    keeps("failed for good in a queue without dead letters: failed", async (world) => {
      await world.store.configure("default", { deadLetters: false });
      const lease = await world.running({ maxRetries: 0 });
      await world.fail(lease);
      expect(await world.status(lease.id)).toBe("failed");
      expect(await world.counts()).toEqual({ failed: 1 });
      expect([await world.total("failed"), await world.total("dead")]).toEqual([1, 0]);
    });

    keeps("discarded: dead although retries are left", async (world) => {
      const lease = await world.running({ maxRetries: 9 });
      expect(await world.discard(lease)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({ status: "dead", retryCount: 0, error: BOOM });
    });

    keeps("snoozed: scheduled again at no cost, and counted as a snooze", async (world) => {
      const lease = await world.running();
      expect(await world.snooze(lease, 5_000)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({
        status: "scheduled",
        attempt: 0,
        retryCount: 0,
        snoozes: 1,
        runAt: world.clock.now() + 5_000,
        error: null,
      });
      expect(await world.store.attempts(lease.id)).toEqual([]);
      world.clock.advance(5_000);
      await world.store.promote(1);
      expect(await world.take()).toMatchObject({ fence: 2, attempt: 1 });
    });

    keeps("released: pending again at no cost, under a new fence, with its due time", async (world) => {
      const lease = await world.running();
      world.clock.advance(100);
      expect(await world.release(lease)).toBe("ok");
      expect(await world.find(lease.id)).toMatchObject({
        status: "pending",
        attempt: 0,
        retryCount: 0,
        fence: 2,
        runAt: lease.runAt,
        completedAt: null,
      });
      expect(await world.store.attempts(lease.id)).toEqual([]);
      expect(await world.take()).toMatchObject({ attempt: 1, fence: 3 });
    });

    keeps("a release after a failed attempt gives back its own attempt only", async (world) => {
      const lease = await world.running();
      await world.fail(lease, 0);
      await world.store.promote(1);
      await world.release(await world.take());
      expect(await world.find(lease.id)).toMatchObject({ attempt: 1, retryCount: 1, error: BOOM });
      expect(await world.store.attempts(lease.id)).toHaveLength(1);
    });

    keeps("a completion after failures clears the error, and the history keeps them", async (world) => {
      const lease = await world.running();
      await world.fail(lease, 0);
      await world.store.promote(1);
      await world.complete(await world.take({ workerId: "w-2" }), "null");
      expect(await world.find(lease.id)).toMatchObject({ error: null, result: "null", retryCount: 1, attempt: 2 });
      expect(await world.store.attempts(lease.id)).toMatchObject([
        { number: 1, workerId: "worker-1", outcome: "failed", error: BOOM },
        { number: 2, workerId: "w-2", outcome: "completed", error: null },
      ]);
    });

    keeps("T02: a retry delay of ten years is stored as it is", async (world) => {
      const lease = await world.running();
      await world.fail(lease, 10 * 365.25 * 86_400_000);
      expect((await world.find(lease.id)).runAt).toBe(world.clock.now() + 10 * 365.25 * 86_400_000);
      expect((await world.store.promote(1)).moved).toBe(0);
    });

    keeps("an error is kept with its stack, a result that is no result as null", async (world) => {
      const error: AttemptError = { name: "E\u0000", message: "\u{1F4A5} \ud800", stack: "x".repeat(64 * 1024), kind: "timeout" };
      const lease = await world.running({ maxRetries: 0 });
      await world.settle(lease, { kind: "failed", error, runMs: 0 });
      expect((await world.find(lease.id)).error).toEqual(withGroup(error));
      expect((await world.ended("completed")).result).toBeNull();
    });

    keeps("settlements are answered one by one, in order; a refused one changes nothing for its neighbours", async (world) => {
      await world.addMany(4);
      const leases = await world.claim();
      await world.complete(leases[1]!);
      const answers = await send(
        world,
        settlementOf(leases[0]!, { kind: "completed", result: null, runMs: 1 }),
        settlementOf(leases[1]!, { kind: "release" }),
        settlementOf({ ...leases[2]!, fence: 99 }, { kind: "release" }),
        settlementOf(leases[3]!, { kind: "discard", error: BOOM, runMs: 1 }),
      );
      expect(answers).toEqual(["ok", "stale", "stale", "ok"]);
      expect(await world.counts()).toEqual({ completed: 2, running: 1, dead: 1 });
    });

    keeps("a call of the greatest size settles and claims as many again", async (world) => {
      await world.addMany(2 * MAX_BATCH);
      const leases = await world.claim({ limit: MAX_BATCH });
      const settlements = leases.map((lease) => settlementOf(lease, { kind: "completed", result: "0", runMs: 1 }));
      const claim = {
        workerId: "w",
        queues: ["default"],
        types: "*" as const,
        limit: MAX_BATCH,
        leaseMs: LEASE_MS,
        turn: 1,
        again: false,
        local: false,
      };
      const { settled, claimed } = await world.store.exchange(settlements, [claim]);
      expect(settled.filter((answer) => answer !== "ok")).toEqual([]);
      expect(claimed[0]).toHaveLength(MAX_BATCH);
      expect(await world.counts()).toEqual({ completed: MAX_BATCH, running: MAX_BATCH });
    });
  });

  describe("a fence", () => {
    for (const outcome of OUTCOMES) {
      keeps(`that is stale changes nothing: ${outcome.kind}`, async (world) => {
        const stale = await world.running({ maxRetries: 9 });
        await world.release(stale);
        const lease = await world.take();
        const before = await world.find(lease.id);
        const counts = await world.store.counters({ step: "all" });
        if (outcome.kind !== "release") expect(await world.settle(stale, outcome)).toBe("stale");
        expect(await world.settle({ ...lease, fence: lease.fence + 1 }, outcome)).toBe("stale");
        expect(await world.settle({ ...lease, fence: 0 }, outcome)).toBe("stale");
        expect(await world.settle({ ...lease, id: world.newId() }, outcome)).toBe("stale");
        expect(await world.find(lease.id)).toEqual(before);
        expect(await world.store.counters({ step: "all" })).toEqual(counts);
        expect(await world.counts()).toEqual({ running: 1 });
        expect(await world.complete(lease)).toBe("ok");
      });

      keeps(`S08: the repeat of a report that was applied is answered as success: ${outcome.kind}`, async (world) => {
        const lease = await world.running({ maxRetries: 9 });
        expect(await world.settle(lease, outcome)).toBe("ok");
        const after = await world.find(lease.id);
        const counts = await world.store.counters({ step: "all" });
        const attempts = await world.store.attempts(lease.id);
        world.clock.advance(10);
        expect(await world.settle(lease, outcome)).toBe("ok");
        expect(await world.find(lease.id)).toEqual(after);
        expect(await world.store.counters({ step: "all" })).toEqual({ ...counts, now: world.clock.now() });
        expect(await world.store.attempts(lease.id)).toEqual(attempts);
      });

      keeps(`with ifExpired is heard only once the lease has run out: ${outcome.kind}`, async (world) => {
        const lease = await world.running({ maxRetries: 9 });
        const before = await world.find(lease.id);
        expect(await world.settle(lease, outcome, true)).toBe("stale");
        expect(await world.find(lease.id)).toEqual(before);
        world.clock.advance(LEASE_MS);
        expect(await world.settle(lease, outcome, true)).toBe("ok");
        expect(await world.status(lease.id)).not.toBe("running");
        expect(await world.settle(lease, outcome, true)).toBe("stale");
      });

      keeps(`that was settled refuses every other outcome: ${outcome.kind}`, async (world) => {
        const lease = await world.running({ maxRetries: 9 });
        await world.settle(lease, outcome);
        const after = await world.find(lease.id);
        for (const other of OUTCOMES) {
          if (other.kind !== outcome.kind) expect(await world.settle(lease, other), `a late ${other.kind}`).toBe("stale");
        }
        expect(await world.find(lease.id)).toEqual(after);
      });
    }

    keeps("S08: the repeat is known through later claims, until another settlement is applied", async (world) => {
      const first = await world.running({ maxRetries: 9 });
      await world.fail(first, 0);
      await world.store.promote(1);
      const second = await world.take();
      expect(await world.fail(first, 0)).toBe("ok");
      expect(await world.status(first.id)).toBe("running");
      expect(await world.complete(second)).toBe("ok");
      expect(await world.fail(first, 0)).toBe("stale");
      expect(await world.complete(second)).toBe("ok");
    });

    keeps("one report sent twice in one call is applied once", async (world) => {
      const lease = await world.running();
      const settlement = settlementOf(lease, { kind: "failed", error: BOOM, delayMs: 10, runMs: 1 });
      expect(await send(world, settlement, settlement)).toEqual(["ok", "ok"]);
      expect(await world.find(lease.id)).toMatchObject({ retryCount: 1 });
      expect(await world.total("retried")).toBe(1);
    });

    keeps("two different reports of one lease at once: one is applied, the other refused", async (world) => {
      const other = await world.elsewhere();
      for (let round = 0; round < 10; round++) {
        const lease = await world.running();
        const answers = await Promise.all([world.complete(lease), other.discard(lease)]);
        expect([...answers].sort()).toEqual(["ok", "stale"]);
        expect(await world.status(lease.id)).toBe(answers[0] === "ok" ? "completed" : "dead");
      }
      expect((await world.total("completed")) + (await world.total("dead"))).toBe(10);
    });

    keeps("the repeat of a reclaim is not the reaper's: stale", async (world) => {
      const lease = await world.running();
      world.clock.advance(LEASE_MS);
      expect(await world.lose(lease)).toBe("ok");
      expect(await world.lose(lease)).toBe("stale");
      expect(await world.settle(lease, { kind: "lost" }, false)).toBe("ok");
    });
  });

  describe("a cancelled lease", () => {
    keeps("S30: learns that it was cancelled, and changes nothing", async (world) => {
      const lease = await world.running({ maxRetries: 9 });
      await world.cancel(lease.id);
      const after = await world.find(lease.id);
      for (const outcome of OUTCOMES) expect(await world.settle(lease, outcome), `a late ${outcome.kind}`).toBe("cancelled");
      expect(await world.extend(lease)).toBe("cancelled");
      expect(await world.find(lease.id)).toEqual(after);
      expect(after.status).toBe("cancelled");
    });

    keeps("only the very lease that the cancel ended learns of it; older ones are stale", async (world) => {
      const first = await world.running({ maxRetries: 9 });
      await world.release(first);
      const second = await world.take();
      await world.cancel(second.id);
      expect(await world.complete(first)).toBe("stale");
      expect(await world.complete({ ...second, fence: second.fence + 1 })).toBe("stale");
      expect(await world.complete(second)).toBe("cancelled");
    });

    keeps("a cancel while the job waited ended nobody's lease: late words of its last one are stale", async (world) => {
      const lease = await world.running({ maxRetries: 9 });
      await world.fail(lease, 1_000);
      await world.cancel(lease.id);
      expect(await world.complete(lease)).toBe("stale");
      expect(await world.extend(lease)).toBe("stale");
      expect(await world.note(lease, ["late"])).toBe("stale");
      expect(await world.fail(lease, 1_000)).toBe("ok"); // the repeat of what was applied
    });

    keeps("a fence that was never granted is stale, also beside a cancel", async (world) => {
      const never = await world.ended("cancelled");
      const lease = await world.running();
      await world.release(lease);
      await world.cancel(lease.id);
      for (let fence = 0; fence < 6; fence++) {
        expect(await world.extend({ id: never.id, fence })).toBe("stale");
        expect(await world.extend({ id: lease.id, fence })).toBe("stale");
      }
    });

    keeps("after a retry by hand the cancelled lease is merely stale", async (world) => {
      const lease = await world.running();
      await world.cancel(lease.id);
      await world.retry(lease.id);
      expect(await world.complete(lease)).toBe("stale");
      await world.take();
      expect(await world.complete(lease)).toBe("stale");
    });

    keeps("a second cancel, of the job's next life while it waits, ended nobody's lease", async (world) => {
      const lease = await world.running();
      await world.cancel(lease.id);
      await world.retry(lease.id);
      await world.cancel(lease.id);
      expect(await world.complete(lease)).toBe("stale");
      expect(await world.extend(lease)).toBe("stale");
    });

    keeps("a reaper that comes after the cancel changes nothing", async (world) => {
      const lease = await world.running();
      world.clock.advance(LEASE_MS);
      const [seen] = (await world.expired(1)).jobs;
      await world.cancel(lease.id);
      expect(await world.lose(seen!)).not.toBe("ok");
      expect(await world.status(lease.id)).toBe("cancelled");
      expect(await world.expired(10)).toEqual({ jobs: [], nextInMs: null });
    });
  });
}
