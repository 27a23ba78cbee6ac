import { describe, expect } from "vitest";
import { deliveryOf } from "../../../src/core/delivery.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import type { LeasedRecord, Settlement } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, claimOf, keepsOn, LEASE_MS, settlementOf, type World } from "../world.ts";

const HOOK = { webhookUrl: "https://example.com/hook" };
const DONE: Outcome = { kind: "completed", result: null, runMs: 1 };
const DISCARD: Outcome = { kind: "discard", error: BOOM, runMs: 1 };
const QUEUE = "default~webhooks";

function followed(lease: LeasedRecord, outcome: Outcome = DONE, ifExpired = false): Settlement {
  const settlement = settlementOf(lease, outcome, ifExpired);
  return { ...settlement, followUp: deliveryOf(lease, lease.fence, settlement.transition.to) };
}

async function send(world: World, ...settlements: Settlement[]): Promise<string[]> {
  return (await world.store.exchange(settlements, [])).settled;
}

async function deliveries(world: World): Promise<string[]> {
  const leases = await world.claim({ queues: [QUEUE], limit: 100 });
  return leases.map(({ payload }) => payload);
}

export function followUpSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("what follows a settlement", () => {
    keeps("comes into being with it, in the delivery queue beside", async (world) => {
      const lease = await world.running(HOOK);
      expect(await send(world, followed(lease))).toEqual(["ok"]);
      expect(await world.take({ queues: [QUEUE] })).toMatchObject({
        type: "millrace:webhook",
        queue: QUEUE,
        payload: JSON.stringify({ job_id: lease.id, status: "completed" }),
        createdAt: world.clock.now(),
        attempt: 1,
      });
      expect((await world.store.queues()).map(({ name }) => name).sort()).toEqual(["default", QUEUE]);
    });

    keeps("enters the index of its facets", async (world) => {
      const settlement = followed(await world.running(HOOK));
      const followUp = { ...settlement.followUp!, facets: { job_id: "globex" } };
      expect(await send(world, { ...settlement, followUp })).toEqual(["ok"]);
      const { jobs } = await world.store.list({ queue: QUEUE, internal: true, facets: followUp.facets, limit: 10 });
      expect(jobs).toMatchObject([{ id: followUp.id, facets: followUp.facets }]);
    });

    keeps("rings work in its queue", async (world) => {
      const lease = await world.running(HOOK);
      const heard = new Promise<void>((resolve) =>
        world.store.watch((hint) => {
          if (hint.topic === "work" && hint.queue === QUEUE) resolve();
        }),
      );
      await send(world, followed(lease));
      await heard;
    });

    keeps("does not come when the settlement is refused", async (world) => {
      const [gone, kept, cancelled] = [await world.running(HOOK), await world.running(HOOK), await world.running(HOOK)];
      await world.release(gone);
      await world.cancel(cancelled.id);
      const early = followed(kept, { kind: "lost" }, true);
      expect(early.followUp).toBeNull();
      const unasked: Settlement = { ...early, followUp: deliveryOf(kept, kept.fence, "dead") };
      expect(await send(world, followed(gone), unasked, followed(cancelled))).toEqual(["stale", "stale", "cancelled"]);
      expect(await deliveries(world)).toEqual([]);
    });

    keeps("comes once, however often the settlement is repeated", async (world) => {
      const lease = await world.running(HOOK);
      for (let times = 0; times < 3; times++) expect(await send(world, followed(lease))).toEqual(["ok"]);
      expect(await deliveries(world)).toHaveLength(1);
      expect(await send(world, followed(lease))).toEqual(["ok"]);
      expect(await deliveries(world)).toEqual([]);
    });

    keeps("comes for those of a batch that were applied, beside others and beside a claim", async (world) => {
      const leases = [await world.running(HOOK), await world.running(), await world.running(HOOK), await world.running(HOOK)];
      await world.release(leases[2]!);
      const again = await world.take();
      const waiting = await world.add();
      const { settled, claimed } = await world.store.exchange(
        [followed(leases[0]!), settlementOf(leases[1]!, DONE), followed(leases[2]!), followed(leases[3]!, DISCARD)],
        [claimOf()],
      );
      expect(again.id).toBe(leases[2]!.id);
      expect(settled).toEqual(["ok", "ok", "stale", "ok"]);
      expect(claimed).toMatchObject([[{ id: waiting.id }]]);
      expect((await deliveries(world)).sort()).toEqual(
        [JSON.stringify({ job_id: leases[0]!.id, status: "completed" }), JSON.stringify({ job_id: leases[3]!.id, status: "dead" })].sort(),
      );
    });

    keeps("counts in its own queue and leaves the other's figures alone", async (world) => {
      await send(world, followed(await world.running(HOOK)));
      const queues = await world.store.queues();
      expect(queues.find(({ name }) => name === "default")!.counts).toMatchObject([{ status: "completed", count: 1 }]);
      expect(queues.find(({ name }) => name === QUEUE)!.counts).toMatchObject([{ status: "pending", count: 1 }]);
    });

    keeps("comes also when the lease of the last attempt ran out", async (world) => {
      const lease = await world.running({ ...HOOK, maxRetries: 0 });
      world.clock.advance(LEASE_MS);
      expect(await send(world, followed(lease, { kind: "lost" }, true))).toEqual(["ok"]);
      expect(await deliveries(world)).toEqual([JSON.stringify({ job_id: lease.id, status: "dead" })]);
    });

    if (engine.hasTransactions !== true) return;

    keeps("comes with the commit of the caller's own transaction, and not with its rollback", async (world) => {
      const [one, two] = [await world.running(HOOK), await world.running(HOOK)];
      for (const [lease, end] of [
        [one, "rollback"],
        [two, "commit"],
      ] as const) {
        const own = await world.opened.begin!();
        expect(await world.store.within(own.tx)!.settle([followed(lease)])).toEqual(["ok"]);
        await own[end]();
      }
      expect(await deliveries(world)).toEqual([JSON.stringify({ job_id: two.id, status: "completed" })]);
    });
  });
}
