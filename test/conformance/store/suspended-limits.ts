import { describe, expect } from "vitest";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";
import { signal, sleep, suspend, suspended, taken, wait } from "./durable-work.ts";
import { claimAndAsk, idsOf, setKey, setLimits, settleWith, starts, startsNothing, useOf } from "./limit-steps.ts";

const KEY = { limitKey: "k" } as const;

/** What a suspended job holds of capacities, keys and limits. */
export function suspendedLimitsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("a suspended job", () => {
    keeps(
      "does not count against a capacity while it is blocked, counts while it sleeps, and always fits when it goes on",
      async (world) => {
        await world.store.configure("default", { capacity: 2 });
        const [one, two] = [await world.running(), await world.running()];
        await suspend(world, one, wait("w", 1_000));
        await world.add();
        await world.add();
        expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 2 });
        await suspend(world, two, sleep("s", 1_000));
        expect(await world.counts()).toEqual({ blocked: 1, pending: 2, scheduled: 1 });
        world.clock.advance(1_000);
        expect(await world.store.promote(10)).toEqual({ moved: 2, nextInMs: null });
        expect(await world.counts()).toEqual({ pending: 4 });
        expect(await world.insert(world.job())).toEqual({ kind: "full", capacity: 2 });
      },
    );

    keeps("keeps its key, however long it is blocked", async (world) => {
      const wishes = { idempotencyKey: "k", keyTtl: 1_000 };
      const lease = await suspended(world, [wait("w")], wishes);
      world.clock.advance(30 * 86_400_000);
      await world.store.sweep({ minutesMs: 0, hoursMs: 0 }, 100);
      expect(await world.insert(world.job(wishes))).toMatchObject({ kind: "known", job: { id: lease.id, status: "blocked" } });
      await signal(world, lease.id, "w");
      expect(await world.complete(await world.take())).toBe("ok");
      world.clock.advance(1_000);
      expect(await world.insert(world.job(wishes))).toMatchObject({ kind: "created" });
    });

    keeps("frees its place: another job of its running limit starts, and it takes a place again when it goes on", async (world) => {
      await setLimits(world, { running: 1, perKey: { running: 1 } });
      await world.addMany(2, KEY);
      const [lease] = await starts(world, 1);
      await startsNothing(world);
      await suspend(world, lease!, wait("w"));
      const [other] = await starts(world, 1);
      expect(other!.id).not.toBe(lease!.id);
      expect((await useOf(world, ["k"])).keys).toMatchObject([{ key: "k", running: 1, waiting: 0, holders: [other!.id] }]);
      expect(await signal(world, lease!.id, "w")).toEqual(taken(true));
      expect((await useOf(world, ["k"])).keys).toMatchObject([{ running: 1, waiting: 1 }]);
      await startsNothing(world);
      await world.complete(other!);
      expect(idsOf(await starts(world, 1))).toEqual([lease!.id]);
    });

    for (const [whose, limits] of [
      ["its queue", { rate: "1/10s" }],
      ["its key", { perKey: { rate: "1/10s" } }],
    ] as const) {
      keeps(`takes no units of the rate of ${whose} with the claim that follows, and does with the one after that`, async (world) => {
        await setLimits(world, limits);
        const lease = await world.running(KEY);
        await suspend(world, lease, wait("w"));
        expect(await signal(world, lease.id, "w")).toEqual(taken(true));
        const [again] = await starts(world, 1);
        expect(again!.id).toBe(lease.id);
        await world.fail(again!, 0);
        await world.store.promote(10);
        expect(await claimAndAsk(world), "what the first claim took").toEqual({ jobs: [], againInMs: 10_000 });
        world.clock.advance(9_999);
        await startsNothing(world);
        world.clock.advance(1);
        expect(idsOf(await starts(world, 1))).toEqual([lease.id]);
        await world.add(KEY);
        expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 10_000 });
      });
    }

    keeps("gives no units back if its handler was not started: its claim took none", async (world) => {
      await setLimits(world, { rate: "1/10s", perKey: { rate: "1/10s" } });
      const lease = await world.running(KEY);
      await suspend(world, lease, wait("w"));
      await signal(world, lease.id, "w");
      const [again] = await starts(world, 1);
      expect(await settleWith(world, again!, { kind: "release" }, { unstarted: true })).toBe("ok");
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 10_000 });
      world.clock.advance(10_000);
      const [paid] = await starts(world, 1);
      expect(await settleWith(world, paid!, { kind: "release" }, { unstarted: true })).toBe("ok");
      expect(idsOf(await starts(world, 1)), "this one had taken some").toEqual([lease.id]);
    });

    keeps("that slept or timed out takes none either, with a cost of many units", async (world) => {
      await setLimits(world, { rate: "1/s", burst: 10 });
      await setKey(world, "k", { rate: "1/s", burst: 10 });
      const { id } = await world.add({ ...KEY, cost: 10 });
      for (const step of [sleep("s", 1), wait("w", 1)]) {
        const [lease] = await starts(world, 1);
        await suspend(world, lease!, step);
        world.clock.advance(1);
        await world.store.promote(10);
      }
      await starts(world, 1);
      await world.add({ cost: 10 });
      expect(await claimAndAsk(world)).toEqual({ jobs: [], againInMs: 9_998 });
      expect(await world.status(id)).toBe("running");
    });
  });
}
