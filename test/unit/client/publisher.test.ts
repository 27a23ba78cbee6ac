import { describe, expect, test } from "vitest";
import { Publisher } from "../../../src/client/publisher.ts";
import type { Event } from "../../../src/core/event.ts";
import { MAX_SINGLES, SUMS_EVERY_MS } from "../../../src/core/event-digest.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { openClient, START, spyOn } from "./open-client.ts";

function event(number: number): Event {
  return { event: "job:cancelled", at: number, jobId: String(number), type: "t", queue: "mail" };
}

/** A store whose publications end when the test says so. */
class SlowStore {
  readonly published: (readonly Event[])[] = [];
  #end: PromiseWithResolvers<void> = Promise.withResolvers();

  publish(events: readonly Event[]): Promise<void> {
    this.published.push(events);
    return this.#end.promise;
  }

  async endPublication(fails = false): Promise<void> {
    const { resolve, reject } = this.#end;
    this.#end = Promise.withResolvers();
    if (fails) reject(new Error("away"));
    else resolve();
    await new Promise((settled) => setImmediate(settled));
  }
}

describe("a publisher", () => {
  test("publishes at once, and what happens meanwhile in one piece", async () => {
    const store = new SlowStore();
    const publisher = new Publisher(store, new VirtualClock(START));
    for (let number = 0; number < 4; number++) publisher.publish([event(number)]);
    expect(store.published).toEqual([[event(0)]]);
    await store.endPublication();
    expect(store.published[1]).toEqual([event(1), event(2), event(3)]);
  });

  test("goes on after a publication that failed, and says how much nobody heard of", async () => {
    const store = new SlowStore();
    const publisher = new Publisher(store, new VirtualClock(START));
    publisher.publish([event(0)]);
    publisher.publish([event(1)]);
    await store.endPublication(true);
    expect(store.published).toEqual([[event(0)], [{ event: "gap", at: START, missed: 1 }, event(1)]]);
  });

  test("publishes sums of what is too much to tell, a few times a second", async () => {
    const clock = new VirtualClock(START);
    const store = new SlowStore();
    const publisher = new Publisher(store, clock);
    publisher.publish(Array.from({ length: MAX_SINGLES + 7 }, (_, number) => event(number)));
    expect(store.published[0]).toHaveLength(MAX_SINGLES);
    await store.endPublication();
    await clock.advance(SUMS_EVERY_MS);
    expect(store.published[1]).toMatchObject([
      { event: "gap", missed: 7 },
      { event: "counts", counts: [{ count: 7 }] },
    ]);
    await store.endPublication();
    await clock.advance("1m");
    expect(store.published).toHaveLength(2);
  });
});

test("a client that closes publishes the sums it has", async () => {
  const { client, store } = await openClient();
  const published = spyOn(store, "publish");
  const events = client.events();
  await client.enqueueMany(Array.from({ length: MAX_SINGLES + 7 }, () => ({ type: "t" })));
  await client.close();
  expect(published.flat(2).at(-1)).toMatchObject({ event: "counts", counts: [{ event: "job:created", queue: "default", count: 7 }] });
  expect(events).toBeDefined();
});
