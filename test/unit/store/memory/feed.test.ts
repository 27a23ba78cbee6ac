import { describe, expect, test } from "vitest";
import type { Event } from "../../../../src/core/event.ts";
import { MemoryFeed } from "../../../../src/store/memory/feed.ts";
import type { Hint } from "../../../../src/store/store.ts";

const PAUSED: Event = { event: "queue:paused", at: 1, queue: "mail" };

describe("hints", () => {
  test("come after the verb that rang, each once", async () => {
    const feed = new MemoryFeed();
    const heard: Hint[] = [];
    feed.watch((hint) => heard.push(hint));
    feed.sendWorkHint("mail");
    feed.sendDueHint(500);
    feed.sendDueHint(20);
    feed.sendWorkHint("mail");
    expect(heard).toEqual([]);
    await Promise.resolve();
    expect(heard).toEqual([
      { topic: "work", queue: "mail" },
      { topic: "due", inMs: 20 },
    ]);
  });

  test("reach the others when one throws, leaves or joins while it is told", async () => {
    const feed = new MemoryFeed();
    const heard: string[] = [];
    const stopFirst = feed.watch(() => {
      heard.push("first");
      stopFirst();
      stopLast();
      feed.watch(() => heard.push("late"));
      throw new Error("a broken promise");
    });
    feed.watch(() => heard.push("second"));
    const stopLast = feed.watch(() => heard.push("last"));
    feed.sendHint("queues");
    await Promise.resolve();
    expect(heard).toEqual(["first", "second"]);
    feed.sendHint("queues");
    await Promise.resolve();
    expect(heard).toEqual(["first", "second", "second", "late"]);
  });

  test("a function that watches twice hears twice, and stops one by one", async () => {
    const feed = new MemoryFeed();
    let heard = 0;
    const listener = (): void => void heard++;
    const stop = feed.watch(listener);
    feed.watch(listener);
    stop();
    stop();
    feed.sendHint("lease");
    await Promise.resolve();
    expect(heard).toBe(1);
  });
});

describe("news", () => {
  test("are wanted while somebody listens", async () => {
    const feed = new MemoryFeed();
    const heard: (readonly Event[])[] = [];
    expect(feed.newsWanted()).toBe(false);
    const stop = feed.listen((events) => heard.push(events));
    expect(feed.newsWanted()).toBe(true);
    void feed.publish([PAUSED]);
    expect(heard).toEqual([]);
    await Promise.resolve();
    expect(heard).toEqual([[PAUSED]]);
    stop();
    expect(feed.newsWanted()).toBe(false);
  });

  test("end with the feed", async () => {
    const feed = new MemoryFeed();
    const heard: unknown[] = [];
    feed.listen((events) => heard.push(events));
    void feed.publish([PAUSED]);
    feed.close();
    feed.listen((events) => heard.push(events));
    expect(feed.newsWanted()).toBe(false);
    await Promise.resolve();
    expect(heard).toEqual([]);
  });
});
