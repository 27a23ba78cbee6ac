import { describe, expect } from "vitest";
import { deliveryOf } from "../../../src/core/delivery.ts";
import { CANCEL, type Outcome, RETRY } from "../../../src/core/lifecycle.ts";
import { callEnder, CALLERS, endNotice, type Notice } from "../../../src/core/steps.ts";
import type { Hint, LeasedRecord, StoredNotice } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS, settlementOf, type World } from "../world.ts";
import {
  call,
  childOf,
  deliver,
  DONE,
  keep,
  MIB,
  noticesOf,
  result,
  send,
  stepOf,
  suspend,
  suspended,
  suspension,
  taken,
  textOf,
  told,
  wait,
} from "./durable-work.ts";

/** A blocked job, and the running one that its step `c` called. */
async function family(world: World): Promise<{ parent: LeasedRecord; child: LeasedRecord }> {
  const parent = await world.running({ queue: "parents" });
  const job = childOf(world, parent, "c");
  expect(await world.insert(job)).toMatchObject({ kind: "created" });
  expect(await suspend(world, parent, call("c"))).toBe("ok");
  const child = await world.take();
  expect(child.id).toBe(job.id);
  return { parent, child };
}

const CANCELLED = { state: "failed", value: expect.stringContaining('"cancelled"') as string } as const;

function cancelOf({ id, fence }: { readonly id: string; readonly fence: number }, parent: { readonly id: string }, step = "c"): Notice {
  const by = callEnder(id, fence);
  return { kind: "end", end: { id: parent.id, name: step, kind: "call", ...CANCELLED, by, life: 1, from: CALLERS } };
}

export function calledEndsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("the end of a called job", () => {
    const outcomes: readonly Outcome[] = [DONE, { kind: "discard", error: BOOM, runMs: 1 }, { kind: "failed", error: BOOM, runMs: 1 }];
    for (const outcome of outcomes) {
      for (const deadLetters of [true, false]) {
        keeps(`${outcome.kind} leaves its notice, in a queue ${deadLetters ? "with" : "without"} dead letters`, async (world) => {
          const { child } = await family(world);
          const settlement = told({ ...child, maxRetries: 0, deadLetters }, outcome);
          expect(await send(world, settlement)).toBe("ok");
          expect(await noticesOf(world)).toEqual([settlement.notice]);
          expect(await world.status(child.id)).toBe(settlement.transition.to);
        });
      }
    }

    keeps("lost too often leaves one, too: of two that reclaim it, one", async (world) => {
      const { child } = await family(world);
      world.clock.advance(LEASE_MS);
      const settlement = told({ ...child, maxLost: 0 }, { kind: "lost" }, true);
      expect([await send(world, settlement), await send(world, settlement)]).toEqual(["ok", "stale"]);
      expect(await world.status(child.id)).toBe("dead");
      expect(await noticesOf(world)).toEqual([settlement.notice]);
    });

    keeps("wakes its parent when it is delivered, however often", async (world) => {
      const { parent, child } = await family(world);
      await send(world, told(child));
      const ends = (await noticesOf(world)).flatMap((notice) => (notice.kind === "end" ? [notice.end] : []));
      expect(await world.store.endSteps(ends)).toEqual([taken(true, { queue: "parents" })]);
      expect(await world.store.endSteps(ends)).toEqual([taken(false, { queue: "parents" })]);
      expect(await stepOf(world, parent.id, "c")).toMatchObject({ state: "done", value: "5", by: callEnder(child.id, child.fence) });
      await world.remove(child.id);
      expect(await world.take({ queues: ["parents"] })).toMatchObject({ id: parent.id });
    });

    keeps("leaves one notice, however often the settlement is repeated; a stale one leaves none", async (world) => {
      const { child } = await family(world);
      expect(await send(world, { ...told(child), fence: child.fence + 1 })).toBe("stale");
      expect(await noticesOf(world)).toEqual([]);
      for (let times = 0; times < 3; times++) expect(await send(world, told(child))).toBe("ok");
      expect(await noticesOf(world)).toHaveLength(1);
      await deliver(world);
      expect(await send(world, told(child))).toBe("ok");
      expect(await noticesOf(world)).toEqual([]);
    });

    keeps("comes beside what follows the settlement", async (world) => {
      const { child } = await family(world);
      const settlement = {
        ...told(child),
        followUp: deliveryOf({ ...child, webhookUrl: "https://example.com/hook" }, child.fence, "completed"),
      };
      expect(settlement.followUp).not.toBeNull();
      for (let times = 0; times < 2; times++) expect(await send(world, settlement)).toBe("ok");
      expect(await noticesOf(world)).toEqual([settlement.notice]);
      expect(await world.counts("default~webhooks")).toEqual({ pending: 1 });
    });

    keeps("rings `notices` in its own process", async (world) => {
      const { child } = await family(world);
      const other = await family(world);
      const heard: Hint[] = [];
      const stop = world.store.watch((hint) => heard.push(hint));
      await send(world, told(child));
      expect(heard.filter(({ topic }) => topic === "notices")).not.toEqual([]);
      heard.length = 0;
      await world.cancel(other.child.id);
      expect(heard.filter(({ topic }) => topic === "notices")).not.toEqual([]);
      stop();
    });

    keeps("many in one call, each with its own", async (world) => {
      const parent = await world.running({ queue: "parents" });
      const names = Array.from({ length: 20 }, (_, index) => `c${index}`);
      const jobs = names.map((name, index) => childOf(world, parent, name, { queue: `q${index % 3}` }));
      await world.store.insert(jobs);
      await suspend(world, parent, ...names.map(call));
      const children = await world.claim({ queues: ["q0", "q1", "q2"] });
      const settlements = children.map((child) => told(child));
      const plain = await world.running();
      const { settled } = await world.store.exchange([...settlements, settlementOf(plain, DONE)], []);
      expect(settled).toEqual([...settlements, plain].map(() => "ok"));
      const notices = await noticesOf(world);
      expect(notices).toHaveLength(20);
      expect(notices).toEqual(expect.arrayContaining(settlements.map(({ notice }) => notice)));
      await deliver(world);
      expect(await world.status(parent.id)).toBe("pending");
    });

    keeps("of two at one moment: neither waits for the other, and the parent goes on once", async (world) => {
      const other = await world.elsewhere();
      const parent = await world.running({ queue: "parents" });
      await world.store.insert(["a", "b"].map((name) => childOf(world, parent, name)));
      await suspend(world, parent, call("a"), call("b"));
      const [one, two] = (await world.claim()) as [LeasedRecord, LeasedRecord];
      expect(await Promise.all([send(world, told(one)), send(other, told(two))])).toEqual(["ok", "ok"]);
      await deliver(world);
      expect(await world.counts("parents")).toEqual({ pending: 1 });
      expect(await noticesOf(other)).toEqual([]);
    });

    keeps("by a cancel leaves a notice, whatever the job did, under the fence that it has then", async (world) => {
      const { parent, child } = await family(world);
      const waiting = ["pending", "scheduled", "blocked"].map((step) =>
        childOf(world, parent, step, step === "scheduled" ? { delay: 9_000 } : {}),
      );
      await world.store.insert(waiting.map((job, index) => (index === 2 ? { ...job, blocked: true } : job)));
      const ids = [child.id, ...waiting.map(({ id }) => id)];
      const answers = await world.store.change(ids, CANCEL);
      const fences = answers.map((answer) => (answer.kind === "ok" ? answer.job.fence : null));
      expect(fences).toEqual([2, 1, 1, 1]);
      const expected = ids.map((id, index) =>
        cancelOf({ id, fence: fences[index]! }, parent, ["c", "pending", "scheduled", "blocked"][index]),
      );
      const notices = await noticesOf(world);
      expect(notices).toHaveLength(4);
      expect(notices).toEqual(expect.arrayContaining(expected));
      expect(await world.cancel(child.id)).toEqual({ kind: "refused", status: "cancelled" });
      expect(await noticesOf(world)).toHaveLength(4);
      await deliver(world);
      expect(await stepOf(world, parent.id, "c")).toMatchObject({ state: "failed", by: callEnder(child.id, 2) });
      expect(await world.status(parent.id)).toBe("pending");
    });

    keeps("by a cancel of a job with steps leaves a notice `cancel`, and `end` if it has a parent, too", async (world) => {
      const root = await suspended(world, [call("c")], { queue: "roots" });
      const { parent, child } = await family(world);
      await keep(world, child, result("a"));
      const running = await world.running({ queue: "plain" });
      expect(await world.store.change([root.id, child.id, running.id], CANCEL)).toMatchObject([
        { kind: "ok", was: "blocked", job: { hasSteps: true } },
        { kind: "ok", was: "running", job: { hasSteps: true, parent: { id: parent.id, step: "c" } } },
        { kind: "ok", was: "running", job: { hasSteps: false, parent: null } },
      ]);
      const notices = await noticesOf(world);
      expect(notices).toHaveLength(3);
      expect(notices).toEqual(
        expect.arrayContaining([
          { kind: "cancel", id: root.id },
          { kind: "cancel", id: child.id },
          cancelOf({ id: child.id, fence: 2 }, parent),
        ]),
      );
    });

    keeps("jobs without parent and steps leave no notice, however they end, and other moves leave none", async (world) => {
      await world.ended("completed");
      await world.ended("dead");
      const cancelled = await world.ended("cancelled");
      const { child } = await family(world);
      await world.discard(child);
      await world.store.change([cancelled.id, child.id], RETRY);
      expect(await noticesOf(world)).toEqual([]);
    });

    if (engine.hasTransactions === true) {
      keeps("in the caller's own transaction is told when it commits, and not if it rolls back", async (world) => {
        const { child } = await family(world);
        for (const end of ["rollback", "commit"] as const) {
          const own = await world.opened.begin!();
          expect(await world.store.within(own.tx)!.settle([told(child)])).toEqual(["ok"]);
          await own[end]();
          expect(await noticesOf(world)).toEqual(end === "commit" ? [told(child).notice] : []);
        }
        await deliver(world);
        expect(await world.counts("parents")).toEqual({ pending: 1 });
      });
    }

    if (engine.holdsRows === true) {
      keeps("beside a transaction that completes another child: neither it nor the parent waits for that", async (world) => {
        const parent = await world.running({ queue: "parents" });
        await world.store.insert(["a", "b"].map((name) => childOf(world, parent, name)));
        const [one, two] = (await world.claim()) as [LeasedRecord, LeasedRecord];
        const own = await world.opened.begin!();
        expect(await world.store.within(own.tx)!.settle([told(one)])).toEqual(["ok"]);
        expect(await send(world, told(two))).toBe("ok");
        expect(await keep(world, parent, result("r"))).toBe("ok");
        expect(await noticesOf(world)).toEqual([told(two).notice]);
        expect(await suspend(world, parent, call("a"), call("b"))).toBe("ok");
        await own.commit();
        expect(await noticesOf(world)).toHaveLength(2);
        await deliver(world);
        expect(await world.status(parent.id)).toBe("pending");
      });
    }
  });

  describe("notices", () => {
    keeps("stay until they are dropped, in about their order, as many as are asked for", async (world) => {
      for (const step of ["a", "b", "c"]) {
        const lease = await suspended(world, [wait(step)]);
        await world.cancel(lease.id);
      }
      const all = await world.store.notices(10);
      expect(all.map(({ notice }) => notice.kind)).toEqual(["cancel", "cancel", "cancel"]);
      expect(new Set(all.map(({ key }) => key)).size).toBe(3);
      expect(await world.store.notices(10)).toEqual(all);
      expect(await world.store.notices(2)).toEqual(all.slice(0, 2));
      await world.store.dropNotices([all[0]!.key]);
      expect(await world.store.notices(10)).toEqual(all.slice(1));
      await world.store.dropNotices(all.map(({ key }) => key));
      await world.store.dropNotices([all[0]!.key]);
      await world.store.dropNotices([]);
      expect(await world.store.notices(10)).toEqual([]);
    });

    keeps("that the caller names are left out, and do not count", async (world) => {
      for (const queue of ["one", "two", "one"]) await world.cancel((await suspended(world, [wait("w")], { queue })).id);
      const all = await world.store.notices(10);
      const [first, second, third] = all.map(({ key }) => key) as [string, string, string];
      // Of several partitions they come in turns, and any of them may be the first.
      const byKey = (notices: readonly StoredNotice[]): StoredNotice[] => notices.toSorted((one, other) => (one.key < other.key ? -1 : 1));
      expect(byKey(await world.store.notices(10, [first]))).toEqual(byKey(all.slice(1)));
      expect(await world.store.notices(1, [first, third])).toEqual([all[1]]);
      expect(await world.store.notices(10, [first, second, third])).toEqual([]);
    });

    keeps("of much text come some at a time, and at least one", async (world) => {
      const parent = await world.running({ queue: "parents" });
      const names = Array.from({ length: 6 }, (_, index) => `c${index}`);
      await world.store.insert(names.map((name) => childOf(world, parent, name)));
      await suspend(world, parent, ...names.map(call));
      const value = textOf(MIB);
      for (const child of await world.claim()) {
        const { id, fence } = child;
        await send(world, { ...told(child), notice: endNotice(child.parent!, id, fence, { state: "done", value }) });
      }
      const sizes: number[] = [];
      for (let left = names.length; left > 0;) {
        const some = await world.store.notices(10);
        sizes.push(some.length);
        await world.store.dropNotices(some.map(({ key }) => key));
        left -= some.length;
      }
      expect(sizes).toHaveLength(2);
    });

    keeps("of many queues are all found, also by another process, and those of one queue hide none", async (world) => {
      const other = await world.elsewhere();
      const leases = [];
      for (let index = 0; index < 30; index++)
        leases.push(await suspended(world, [wait("w")], { queue: index < 20 ? "busy" : `q${index}` }));
      await world.store.change(
        leases.map(({ id }) => id),
        CANCEL,
      );
      const ids = (notices: readonly Notice[]): string[] => notices.flatMap((notice) => (notice.kind === "cancel" ? [notice.id] : []));
      expect(ids(await noticesOf(other)).toSorted()).toEqual(leases.map(({ id }) => id).toSorted());
      const found: string[] = [];
      for (let calls = 0; calls < 20; calls++) {
        const some = await other.store.notices(7);
        found.push(...ids(some.map(({ notice }) => notice)));
        expect(some.length).toBeLessThanOrEqual(7);
        await other.store.dropNotices(some.map(({ key }) => key));
      }
      expect(found.toSorted()).toEqual(leases.map(({ id }) => id).toSorted());
    });

    keeps("outlive the job that they tell of", async (world) => {
      const { child } = await family(world);
      await send(world, told(child));
      await world.remove(child.id);
      expect(await noticesOf(world)).toEqual([told(child).notice]);
    });

    keeps(`${engine.forgets === undefined ? "are kept" : "are gone with their store"} after a restart`, async (world) => {
      const { parent, child } = await family(world);
      const far = childOf(world, child, "d", { queue: "far" });
      await send(world, suspension(child, [call("d")], [far]));
      await world.cancel(child.id);
      if (engine.forgets !== undefined) return expect(world.restart()).rejects.toThrow("cannot restart");
      const before = await world.store.notices(10);
      expect(before).not.toEqual([]);
      await world.restart();
      expect(await world.store.notices(10)).toEqual(before);
      await deliver(world);
      expect(await stepOf(world, parent.id, "c")).toMatchObject({ state: "failed" });
      expect(await world.status(parent.id)).toBe("pending");
      await world.restart();
      expect(await world.store.notices(10)).toEqual([]);
    });
  });
}
