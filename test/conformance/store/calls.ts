import { describe, expect } from "vitest";
import { type NewJob, recordOf } from "../../../src/core/job.ts";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import { partitionOf } from "../../../src/core/partition.ts";
import type { Notice } from "../../../src/core/steps.ts";
import type { Hint } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { claimOf, keepsOn, type World } from "../world.ts";
import { call, childOf, keep, noticesOf, result, send, stepsOf, suspension, wait } from "./durable-work.ts";
import { setLimits } from "./limit-steps.ts";

/** Another queue, in the same partition as the default one or in another. */
const [BESIDE, FAR] = [true, false].map((isSame) => {
  for (let number = 0; ; number++) {
    const name = `queue-${number}`;
    if ((partitionOf(name) === partitionOf("default")) === isSame) return name;
  }
}) as [string, string];

/** Delivers notices as upkeep does: what is to be inserted is, and only that is dropped. */
async function deliverInserts(world: World): Promise<void> {
  const inserts = (await world.store.notices(1_000)).filter(({ notice }) => notice.kind === "insert");
  for (const { notice } of inserts) if (notice.kind === "insert") await world.store.insert([notice.job]);
  await world.store.dropNotices(inserts.map(({ key }) => key));
}

export function callsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);
  const byNotice = engine.insertsCallsByNotice !== undefined;

  describe("the jobs that a suspended one calls", () => {
    for (const [where, queue] of [
      ["its own queue", "default"],
      ["another queue of its partition", BESIDE],
    ] as const) {
      keeps(`are inserted with it, in ${where}`, async (world) => {
        const lease = await world.running();
        world.clock.advance(10);
        const now = world.clock.now();
        const child = childOf(world, lease, "c", { queue, type: "render", payload: { n: 1 }, priority: 12, tags: ["x"] });
        const later = childOf(world, lease, "d", { queue, delay: 5_000 });
        expect(await send(world, suspension(lease, [call("c"), call("d")], [child, later]))).toBe("ok");
        expect(await world.status(lease.id)).toBe("blocked");
        expect(await world.find(child.id)).toEqual(recordOf(child, "pending", now, now));
        expect(await world.find(child.id)).toMatchObject({ parent: { id: lease.id, step: "c" } });
        expect(await world.find(later.id)).toEqual(recordOf(later, "scheduled", now, now + 5_000));
        expect((await stepsOf(world, lease.id)).map(({ name, kind, state }) => [name, kind, state])).toEqual([
          ["c", "call", "open"],
          ["d", "call", "open"],
        ]);
        expect(await noticesOf(world)).toEqual([]);
        expect(await world.total("enqueued", queue)).toBe(queue === "default" ? 3 : 2);
        expect(await world.take({ queues: [queue] })).toMatchObject({ id: child.id, type: "render", parent: { id: lease.id, step: "c" } });
      });
    }

    keeps(`are inserted ${byNotice ? "by a notice" : "with it, too"}, in a queue of another partition`, async (world) => {
      const lease = await world.running();
      const [far, near] = [childOf(world, lease, "far", { queue: FAR, meta: { a: "\u0000" } }), childOf(world, lease, "near")];
      expect(await send(world, suspension(lease, [call("far"), call("near")], [far, near]))).toBe("ok");
      expect(await world.status(near.id)).toBe("pending");
      expect(await world.status(far.id)).toBe(byNotice ? null : "pending");
      const told: Notice[] = byNotice ? [{ kind: "insert", job: far }] : [];
      expect(await noticesOf(world)).toEqual(told);
      await deliverInserts(world);
      expect(await world.find(far.id)).toMatchObject({ status: "pending", queue: FAR, parent: { id: lease.id, step: "far" } });
      expect(await noticesOf(world)).toEqual([]);
      expect(await world.counts(FAR)).toEqual({ pending: 1 });
    });

    keeps("ring for work in their queue", async (world) => {
      const lease = await world.running();
      const heard: Hint[] = [];
      const stop = world.store.watch((hint) => heard.push(hint));
      await send(world, suspension(lease, [call("c")], [childOf(world, lease, "c", { queue: BESIDE })]));
      expect(heard).toContainEqual({ topic: "work", queue: BESIDE });
      stop();
    });

    keeps("always fit: a queue and a limit key that are full take them", async (world) => {
      await setLimits(world, { perKey: { waiting: 1 } });
      const lease = await world.running();
      await world.store.configure("default", { capacity: 1 });
      await world.add({ limitKey: "k" });
      const children = ["c", "d"].map((step) => childOf(world, lease, step, { limitKey: "k" }));
      expect(await send(world, suspension(lease, [call("c"), call("d")], children))).toBe("ok");
      expect(await world.counts()).toEqual({ blocked: 1, pending: 3 });
      expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 1 });
      expect(await world.insert(childOf(world, lease, "e", { limitKey: "k" })), "by insert, too").toMatchObject({ kind: "created" });
      await world.store.configure("default", { capacity: null });
      expect(await world.insert(world.job({ limitKey: "k" }))).toEqual({ kind: "full", capacity: 1, limitKey: "k" });
    });

    keeps("are inserted once, however often the suspension is repeated", async (world) => {
      const lease = await world.running();
      const [near, far] = [childOf(world, lease, "c"), childOf(world, lease, "d", { queue: FAR })];
      const settlement = suspension(lease, [call("c"), call("d")], [near, far]);
      for (let times = 0; times < 3; times++) expect(await send(world, settlement)).toBe("ok");
      expect(await world.counts()).toEqual({ blocked: 1, pending: 1 });
      expect(await noticesOf(world)).toHaveLength(byNotice ? 1 : 0);
      await deliverInserts(world);
      expect(await world.complete(await world.take({ queues: ["default"] }))).toBe("ok");
      await world.remove(near.id);
      expect(await send(world, settlement), "the child is gone meanwhile").toBe("ok");
      await deliverInserts(world);
      expect(await world.status(near.id)).toBeNull();
      expect([await world.counts(), await world.counts(FAR)]).toEqual([{ blocked: 1 }, { pending: 1 }]);
    });

    keeps("that are known and still live are left alone", async (world) => {
      const lease = await world.running();
      const child = childOf(world, lease, "c");
      await world.insert(child);
      const running = await world.take();
      expect(running.id).toBe(child.id);
      const before = await world.find(child.id);
      expect(await send(world, suspension(lease, [call("c")], [child]))).toBe("ok");
      expect(await world.find(child.id)).toEqual(before);
      expect(await noticesOf(world)).toEqual([]);
      expect(await world.total("enqueued")).toBe(2);
    });

    for (const status of ["completed", "dead", "failed", "cancelled"] as const) {
      keeps(`that are known and ended as ${status} leave a notice: whoever delivers it tells the end again`, async (world) => {
        const lease = await world.running();
        const child = childOf(world, lease, "c");
        await world.insert(child);
        const held = await world.take();
        if (status === "cancelled") await world.store.change([child.id], { ...CANCEL, ending: undefined });
        else if (status === "completed") await world.complete(held);
        else await world.discard({ ...held, deadLetters: status === "dead" });
        const before = await world.find(child.id);
        expect(before.status).toBe(status);
        expect(await send(world, suspension(lease, [call("c")], [child]))).toBe("ok");
        expect(await noticesOf(world)).toEqual([{ kind: "insert", job: child }]);
        expect(await world.find(child.id)).toEqual(before);
      });
    }

    keeps("come also if the job goes on at once because another wait has ended", async (world) => {
      const lease = await world.running();
      await keep(world, lease, result("w"));
      const child = childOf(world, lease, "c");
      expect(await send(world, suspension(lease, [wait("w"), call("c")], [child]))).toBe("ok");
      expect(await world.counts()).toEqual({ pending: 2 });
      expect(await world.find(lease.id)).toMatchObject({ status: "pending" });
    });

    keeps("a hundred of them, in many queues, beside a claim", async (world) => {
      const lease = await world.running();
      const names = Array.from({ length: 100 }, (_, index) => `c${index}`);
      const children = names.map((name, index) => childOf(world, lease, name, { queue: `q${index % 9}` }));
      await world.store.exchange([suspension(lease, names.map(call), children)], [claimOf({ limit: 1 })]);
      await deliverInserts(world);
      const found = await world.store.find(children.map(({ id }) => id));
      expect(found.map((job) => job?.parent?.step)).toEqual(names);
      expect(await stepsOf(world, lease.id)).toHaveLength(100);
    });

    keeps("that call others themselves keep their own parent", async (world) => {
      const lease = await world.running();
      const child = childOf(world, lease, "c");
      await send(world, suspension(lease, [call("c")], [child]));
      const held = await world.take();
      const grandchild = childOf(world, held, "c");
      await send(world, suspension(held, [call("c")], [grandchild]));
      expect(await world.take()).toMatchObject({ id: grandchild.id, parent: { id: child.id, step: "c" }, hasSteps: false });
      expect(await world.find(child.id)).toMatchObject({ status: "blocked", parent: { id: lease.id, step: "c" }, hasSteps: true });
    });

    if (engine.hasTransactions !== true) return;

    keeps("a suspension in the caller's own transaction is there when it commits, and never was if it rolls back", async (world) => {
      for (const end of ["rollback", "commit"] as const) {
        const lease = await world.running({ queue: end });
        const child: NewJob = childOf(world, lease, "c", { queue: `${end}-child` });
        const own = await world.opened.begin!();
        expect(await world.store.within(own.tx)!.settle([suspension(lease, [call("c"), wait("w", 1_000)], [child])])).toEqual(["ok"]);
        await own[end]();
        const isKept = end === "commit";
        expect(await world.find(lease.id)).toMatchObject({ status: isKept ? "blocked" : "running", hasSteps: isKept });
        expect((await stepsOf(world, lease.id)).map(({ name }) => name)).toEqual(isKept ? ["c", "w"] : []);
        expect(await world.status(child.id)).toBe(isKept ? "pending" : null);
      }
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 1_000 });
    });
  });
}
