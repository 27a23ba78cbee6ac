import { describe, expect } from "vitest";
import { CANCEL, RETRY, RUN_NOW } from "../../../src/core/lifecycle.ts";
import { type Manual, MAX_ACTOR_LENGTH, MAX_MANUAL_CHANGES, MAX_REASON_LENGTH } from "../../../src/core/manual-change.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const ANN: Manual = { action: "retried", by: "ann", reason: "the disk is back" };
const NOBODY = { by: null, reason: null } as const;

/** Dies, and is retried by hand. */
async function dieAndRetry(world: World, manual: Manual): Promise<string> {
  const { id } = await world.ended("dead");
  world.clock.advance(180_000);
  await world.store.change([id], RETRY, manual);
  return id;
}

export function manualChangeSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("changes by hand", () => {
    keeps("say when, what, by whom, why, and how the job was before", async (world) => {
      const { id } = await world.add({ delay: 5_000 });
      const created = world.clock.now();
      await world.store.change([id], RUN_NOW, { action: "started", ...NOBODY });
      await world.take();
      world.clock.advance(50);
      await world.store.change([id], CANCEL, { action: "cancelled", by: "bob", reason: null });
      world.clock.advance(1_000);
      await world.store.change([id], RETRY, ANN);
      expect(await world.store.manualChanges(id)).toEqual([
        { action: "started", ...NOBODY, at: created, from: "scheduled", attempt: 0 },
        { action: "cancelled", by: "bob", reason: null, at: created + 50, from: "running", attempt: 1 },
        { ...ANN, at: created + 1_050, from: "cancelled", attempt: 1 },
      ]);
      expect(await (await world.elsewhere()).store.manualChanges(id)).toHaveLength(3);
    });

    keeps("outlive the attempts that follow", async (world) => {
      const id = await dieAndRetry(world, ANN);
      const at = world.clock.now();
      for (const end of ["fail", "release", "snooze", "complete"] as const) {
        const lease = await world.take();
        await (end === "snooze" ? world.snooze(lease, 1_000) : end === "fail" ? world.fail(lease, 0) : world[end](lease));
        world.clock.advance(2_000);
        await world.store.promote(10);
      }
      expect(await world.status(id)).toBe("completed");
      expect(await world.store.manualChanges(id)).toEqual([{ ...ANN, at, from: "dead", attempt: 1 }]);
      expect(await world.store.attempts(id)).toMatchObject([{ number: 1 }, { number: 2 }, { number: 3 }]);
    });

    keeps("are not made up: a change that nobody made by hand, and one that was refused, leave none", async (world) => {
      const { id } = await world.add();
      expect(await world.store.manualChanges(id)).toEqual([]);
      await world.store.change([id], RETRY, ANN);
      await world.cancel(id);
      await world.retry(id);
      expect(await world.store.manualChanges(id)).toEqual([]);
      expect(await world.store.manualChanges(world.newId())).toEqual([]);
    });

    keeps("hold any text, as long as texts may be", async (world) => {
      const texts = ["a\nb\r\n\t", '"quoted" \\ \\n', "\u0000\u0001", "\ud800", "é 語 🎉", "'); drop table job; --"];
      const [id] = (await world.addMany(1)).map((job) => job.id);
      const said = [...texts.map((text) => [text, text]), ["x".repeat(MAX_ACTOR_LENGTH), "\u0000".repeat(MAX_REASON_LENGTH)]] as const;
      for (const [by, reason] of said) {
        await world.cancel(id!);
        await world.store.change([id!], RETRY, { action: "retried", by, reason });
      }
      expect((await world.store.manualChanges(id!)).map(({ by, reason }) => [by, reason])).toEqual(said);
    });

    keeps(`are the latest ${MAX_MANUAL_CHANGES}`, async (world) => {
      const { id } = await world.add();
      const more = MAX_MANUAL_CHANGES + 3;
      for (let index = 1; index <= more; index++) {
        await world.cancel(id);
        await world.store.change([id], RETRY, { ...ANN, reason: `no. ${index}` });
      }
      const kept = Array.from({ length: MAX_MANUAL_CHANGES }, (_, index) => `no. ${index + 4}`);
      expect((await world.store.manualChanges(id)).map(({ reason }) => reason)).toEqual(kept);
    });

    keeps("belong to each job of a call, and to no other", async (world) => {
      const jobs = await world.addMany(4, (index) => ({ queue: index % 2 === 0 ? "mail" : "default" }));
      const ids = jobs.map(({ id }) => id);
      await world.store.change(ids.slice(0, 3), CANCEL, { action: "cancelled", by: "ann", reason: null });
      const found = await Promise.all(ids.map((id) => world.store.manualChanges(id)));
      expect(found.map((changes) => changes.length)).toEqual([1, 1, 1, 0]);
    });

    keeps("go with the job, removed or pruned", async (world) => {
      const ids = (await world.addMany(3)).map(({ id }) => id);
      await world.store.change(ids, CANCEL, { action: "cancelled", by: "ann", reason: null });
      await world.remove(ids[0]!);
      world.clock.advance(10_000);
      await world.store.prune([{ queue: "default", ageMs: 1_000, count: 1_000, keepAtLeastMs: 0 }], 1);
      const left = await Promise.all(ids.map((id) => world.store.manualChanges(id)));
      expect(left.flat()).toHaveLength(1);
    });
  });
}
