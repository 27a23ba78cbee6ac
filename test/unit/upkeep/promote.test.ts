import { describe, expect, test } from "vitest";
import { openWorld } from "./open-upkeep.ts";

describe("promote", () => {
  test("makes jobs pending when they are due, not before and not later", async () => {
    const { insert, statusOf, start, clock } = await openWorld();
    const soon = await insert("t", { delay: "500ms" });
    const later = await insert("t", { delay: "1h" });
    start();
    await clock.advance(499);
    expect(await statusOf(soon)).toBe("scheduled");
    await clock.advance(1);
    expect(await statusOf(soon)).toBe("pending");
    await clock.advance("1h");
    expect(await statusOf(later)).toBe("pending");
  });

  test("is woken by a job that is due earlier than what it knew", async () => {
    const { insert, statusOf, start, clock } = await openWorld();
    start({ restsMs: { promote: 3_600_000 } });
    await clock.advance("1s");
    const id = await insert("t", { delay: "10ms" });
    await clock.advance(10);
    expect(await statusOf(id)).toBe("pending");
  });

  test("is not woken by jobs that are due later than its next turn, however many come", async () => {
    const { insert, start, clock, calls } = await openWorld();
    start();
    for (let count = 0; count < 90; count++) {
      await insert("t", { delay: "1d" });
      await clock.advance(20);
    }
    expect(calls.get("promote")).toBe(2);
  });

  test("takes turns that hints call for 25 ms apart, and each job starts within 50 ms of its time", async () => {
    const { insert, statusOf, start, clock, calls } = await openWorld();
    start({ restsMs: { promote: 3_600_000 } });
    await clock.advance("1s");
    const before = calls.get("promote")!;
    const ids: string[] = [];
    for (let count = 0; count < 200; count++) {
      ids.push(await insert("t", { delay: 1 }));
      await clock.advance(5);
      const late = ids.at(-11);
      if (late !== undefined) expect(await statusOf(late)).toBe("pending");
    }
    expect(calls.get("promote")! - before).toBeLessThanOrEqual(1000 / 25 + 1);
  });

  test("hears of a job that comes while it looks, and is due before its next turn", async () => {
    const { insert, statusOf, start, store, clock } = await openWorld();
    const look = store.promote.bind(store);
    let id = "";
    // It has looked, and its answer is on its way.
    store.promote = async (limit) => {
      const answer = await look(limit);
      if (id === "") id = await insert("t", { delay: "300ms" });
      return answer;
    };
    start({ restsMs: { promote: 3_600_000 } });
    await clock.advance(300);
    expect(await statusOf(id)).toBe("pending");
  });

  test("looks once a second at worst, when every hint is lost", async () => {
    const { insert, statusOf, start, store, clock } = await openWorld();
    store.watch = () => () => {};
    start();
    await clock.advance(100);
    const id = await insert("t", { delay: "200ms" });
    await clock.advance("1s");
    expect(await statusOf(id)).toBe("pending");
  });

  test("goes on at once while more is due than one batch holds", async () => {
    const { insert, start, store, clock, calls } = await openWorld();
    for (let count = 0; count < 1201; count++) await insert("t", { delay: "1s" });
    await clock.advance("1s");
    start();
    await clock.settle();
    const [queue] = await store.queues();
    expect(queue!.counts).toEqual([{ status: "pending", level: "default", count: 1201 }]);
    expect(calls.get("promote")).toBe(3);
  });

  test("does not poll blindly: an idle store is asked once a second", async () => {
    const { start, clock, calls } = await openWorld();
    start();
    await clock.advance("10s");
    expect(calls.get("promote")).toBe(11);
  });

  test("by several processes at once promotes each job once", async () => {
    const { insert, start, store, clock } = await openWorld();
    for (let count = 0; count < 100; count++) await insert("t", { delay: "1s" });
    for (let process = 0; process < 3; process++) start();
    await clock.advance("1s");
    const [queue] = await store.queues();
    expect(queue!.counts).toEqual([{ status: "pending", level: "default", count: 100 }]);
  });
});
