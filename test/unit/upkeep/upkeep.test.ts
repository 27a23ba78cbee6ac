import { describe, expect, test } from "vitest";
import { MillraceError } from "../../../src/core/errors.ts";
import { openWorld } from "./open-upkeep.ts";

describe("upkeep", () => {
  test("survives any error of any duty, tells it, and goes on after a second", async () => {
    const { store, start, clock, insert, statusOf, troubles } = await openWorld();
    const away = new MillraceError("store_unavailable", "away");
    const verbs = ["promote", "expired", "dueSchedules", "queues"] as const;
    const working = verbs.map((verb) => [verb, store[verb].bind(store)] as const);
    for (const verb of verbs) Object.assign(store, { [verb]: () => Promise.reject(away) });
    start();
    await clock.advance("3s");
    expect(new Set(troubles.map(({ duty }) => duty))).toEqual(new Set(["promote", "reclaim", "recur", "prune", "rerank"]));
    expect(troubles.filter(({ duty }) => duty === "promote")).toHaveLength(4);
    expect(troubles.every(({ error }) => error === away)).toBe(true);

    for (const [verb, call] of working) Object.assign(store, { [verb]: call });
    const id = await insert("t", { delay: "100ms" });
    await clock.advance("1100ms");
    expect(await statusOf(id)).toBe("pending");
  });

  test("survives what throws without a promise, and a listener that throws", async () => {
    const { store, start, clock, calls } = await openWorld();
    store.sweep = () => {
      throw new Error("not even a promise");
    };
    start({
      onTrouble: () => {
        throw new Error("and nobody to tell");
      },
    });
    await clock.advance("5s");
    expect(calls.get("prune") ?? 0).toBe(0); // no queue yet, so nothing to prune
    expect(calls.get("queues")).toBeGreaterThanOrEqual(5);
  });

  test("in which one duty hangs does not hold up the others", async () => {
    const { store, start, clock, insert, statusOf } = await openWorld();
    let answer: () => void = () => {};
    store.expired = () => new Promise((resolve) => (answer = () => resolve({ jobs: [], nextInMs: null })));
    start();
    const id = await insert("t", { delay: "1s" });
    await clock.advance("1s");
    expect(await statusOf(id)).toBe("pending");
    answer();
  });

  test("that was stopped does nothing more; twice is once", async () => {
    const { start, clock, insert, statusOf, calls } = await openWorld();
    const upkeep = start();
    await clock.settle();
    await Promise.all([upkeep.stop(), upkeep.stop()]);
    const before = new Map(calls);
    const id = await insert("t", { delay: "1s" });
    await clock.advance("1m");
    expect(calls).toEqual(before);
    expect(await statusOf(id)).toBe("scheduled");
  });

  test("whose last turn fails after the stop reports nothing: nothing will be tried again", async () => {
    const { store, start, clock, troubles } = await openWorld();
    const call = Promise.withResolvers<never>();
    store.promote = () => call.promise;
    const upkeep = start();
    await clock.settle();
    const stopped = upkeep.stop();
    call.reject(new MillraceError("store_unavailable", "the client was closed"));
    await stopped;
    expect(troubles).toEqual([]);
  });
});
