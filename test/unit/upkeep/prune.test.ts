import { describe, expect, test } from "vitest";
import { CANCEL } from "../../../src/core/lifecycle.ts";
import { openWorld, type World } from "./open-upkeep.ts";

async function insertEnded(world: World, count: number, queue = "default"): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => world.insert("t", { queue })));
  await world.store.change(ids, CANCEL);
  return ids;
}

async function countJobs({ store }: World): Promise<number> {
  return (await store.queues()).flatMap((queue) => queue.counts).reduce((sum, { count }) => sum + count, 0);
}

describe("prune", () => {
  test("removes ended jobs past their keep, each queue by its own rule", async () => {
    const world = await openWorld();
    await world.store.configure("short", { retention: { ageMs: 3_600_000, count: 10, keepAtLeastMs: 0 } });
    await insertEnded(world, 5, "short");
    await insertEnded(world, 5, "usual");
    const waiting = await world.insert("t", { queue: "short", delay: "30d" });
    world.start();
    await world.clock.advance("2h");
    expect(await countJobs(world)).toBe(6);
    await world.clock.advance("1d");
    expect(await countJobs(world)).toBe(1);
    expect(await world.statusOf(waiting)).toBe("scheduled");
  });

  test("goes on in small batches until nothing is left to do", async () => {
    const world = await openWorld();
    await world.store.configure("default", { retention: { ageMs: 0, count: 0, keepAtLeastMs: 0 } });
    await insertEnded(world, 950);
    await world.clock.advance(1);
    world.start();
    await world.clock.settle();
    expect(await countJobs(world)).toBe(0);
    expect(world.calls.get("prune")).toBe(5);
  });

  test("stops between two batches when it shall end", async () => {
    const world = await openWorld();
    await world.store.configure("default", { retention: { ageMs: 0, count: 0, keepAtLeastMs: 0 } });
    await insertEnded(world, 950);
    await world.clock.advance(1);
    const upkeep = world.start();
    await upkeep.stop();
    expect(world.calls.get("prune")).toBe(1);
  });

  test("keeps minutes for 48 h and hours for as long as it is told", async () => {
    const world = await openWorld();
    const keeps: object[] = [];
    const sweep = world.store.sweep.bind(world.store);
    world.store.sweep = (keep, limit) => {
      keeps.push(keep);
      return sweep(keep, limit);
    };
    world.start();
    world.start({ metricsRetentionDays: 7 });
    await world.clock.settle();
    expect(keeps).toEqual([
      { minutesMs: 48 * 3_600_000, hoursMs: 30 * 86_400_000 },
      { minutesMs: 48 * 3_600_000, hoursMs: 7 * 86_400_000 },
    ]);
  });

  test("comes about every ten seconds, not all processes at the same moment", async () => {
    const world = await openWorld();
    world.start({ random: () => 0 });
    await world.clock.advance("1m");
    expect(world.calls.get("sweep")).toBe(9);
  });
});

describe("rerank", () => {
  test("ends what a crash left undone, in every queue", async () => {
    const world = await openWorld();
    await world.insert("t", { queue: "a" });
    await world.insert("t", { queue: "b" });
    const left = new Map([["a", 3]]);
    const asked: string[] = [];
    world.store.rerank = async (queue) => {
      asked.push(queue);
      const more = left.get(queue) ?? 0;
      left.set(queue, more - 1);
      return more > 0;
    };
    world.start();
    await world.clock.settle();
    expect(asked).toEqual(["a", "a", "a", "a", "b"]);
  });
});
