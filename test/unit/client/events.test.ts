import { describe, expect, test } from "vitest";
import { MAX_BUFFERED } from "../../../src/core/event-stream.ts";
import type { Event } from "../../../src/core/event.ts";
import { openClient } from "./open-client.ts";

const started = (number: number): Event => ({
  event: "job:started",
  at: 0,
  jobId: String(number),
  type: "t",
  queue: "q",
  workerId: "w",
  attempt: 1,
});

async function take(events: AsyncIterable<Event>, count: number): Promise<Event[]> {
  const taken: Event[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

describe("events", () => {
  test("are heard from the call on, also before the loop begins", async () => {
    const { client } = await openClient();
    const events = client.events();
    const { id } = await client.enqueue("t");
    await client.cancel(id);
    expect((await take(events, 2)).map((event) => event.event)).toEqual(["job:created", "job:cancelled"]);
  });

  test("reach every listener", async () => {
    const { client } = await openClient();
    const both = [client.events(), client.events()];
    await client.enqueue("t");
    for (const events of both) expect((await take(events, 1))[0]!.event).toBe("job:created");
  });

  test("are asked for only while somebody listens", async () => {
    const { client, store } = await openClient();
    expect(store.newsWanted()).toBe(false);
    const events = client.events();
    expect(store.newsWanted()).toBe(true);
    await client.enqueue("t");
    await take(events, 1);
    expect(store.newsWanted()).toBe(false);
  });

  test("that a slow reader missed become one gap, at the place where they were missed", async () => {
    const { client, store } = await openClient();
    const events = client.events();
    await store.publish(Array.from({ length: MAX_BUFFERED + 50 }, (_, number) => started(number)));
    await store.publish([started(-1)]);
    const iterator = events[Symbol.asyncIterator]();
    for (let number = 0; number < MAX_BUFFERED; number++) {
      expect((await iterator.next()).value).toMatchObject({ jobId: String(number) });
    }
    expect((await iterator.next()).value).toMatchObject({ event: "gap", missed: 51 });
    await store.publish([started(7)]);
    expect((await iterator.next()).value).toMatchObject({ jobId: "7" });
    await iterator.return?.();
  });

  test("end when the signal aborts, for those who wait too, and give first what was heard", async () => {
    const { client, store } = await openClient();
    const controller = new AbortController();
    const iterator = client.events({ signal: controller.signal })[Symbol.asyncIterator]();
    await store.publish([started(1)]);
    controller.abort();
    expect((await iterator.next()).value).toMatchObject({ jobId: "1" });
    expect((await iterator.next()).done).toBe(true);

    const other = new AbortController();
    const waiting = client.events({ signal: other.signal })[Symbol.asyncIterator]().next();
    other.abort();
    expect((await waiting).done).toBe(true);
    expect((await client.events({ signal: AbortSignal.abort() })[Symbol.asyncIterator]().next()).done).toBe(true);
    expect(store.newsWanted()).toBe(false);
  });

  test("end when the client closes", async () => {
    const { client } = await openClient();
    const waiting = client.events()[Symbol.asyncIterator]().next();
    await client.close();
    expect((await waiting).done).toBe(true);
  });

  test("answer several questions at once in order", async () => {
    const { client, store } = await openClient();
    const iterator = client.events()[Symbol.asyncIterator]();
    const answers = Promise.all([iterator.next(), iterator.next()]);
    await store.publish([started(1), started(2)]);
    expect((await answers).map((answer) => (answer.value as { jobId: string }).jobId)).toEqual(["1", "2"]);
    await iterator.return?.();
  });

  test.each([{ signal: 5 }, { since: 1 }])("refuse the options %j", async (options) => {
    const { client } = await openClient();
    expect(() => client.events(options as never)).toThrow(expect.objectContaining({ code: "invalid_input" }) as Error);
  });
});
