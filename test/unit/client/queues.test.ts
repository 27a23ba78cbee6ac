import { describe, expect, test } from "vitest";
import { claim, die, listenTo, openClient } from "./open-client.ts";

describe("a queue", () => {
  test("is known once it had a job or a setting, with counts by status and level", async () => {
    const { client } = await openClient();
    await client.enqueueMany([{ type: "a" }, { type: "a", priority: 20 }, { type: "a", priority: -5, delay: "1h" }]);
    await claim(client, 1);
    await client.configure("b", { capacity: 5 });
    expect(await client.queues()).toEqual([
      {
        name: "b",
        paused: false,
        counts: { scheduled: 0, pending: 0, running: 0, retrying: 0, blocked: 0, completed: 0, failed: 0, dead: 0, cancelled: 0 },
        waiting: { critical: 0, high: 0, default: 0, low: 0 },
        rate: 0,
        oldestWaitingMs: null,
        capacity: 5,
        headStart: null,
        deadLetters: true,
        facets: [],
        defaults: { maxRetries: null, maxLost: null, retryDelay: null, backoff: null, timeout: null },
        limits: null,
        retention: { age: 86_400_000, count: 10_000, keepAtLeast: 600_000 },
      },
      expect.objectContaining({
        name: "default",
        counts: expect.objectContaining({ scheduled: 1, pending: 1, running: 1 }) as object,
        waiting: { critical: 0, high: 0, default: 1, low: 1 },
      }),
    ]);
  });

  test("tells how long the oldest has waited, and how many jobs ended in the last full minute", async () => {
    const { client, clock } = await openClient();
    await client.enqueueMany(Array.from({ length: 5 }, () => ({ type: "a" })));
    await die(client);
    await die(client);
    const { jobs } = await claim(client, 1);
    const [{ job, fence, facts }] = jobs as [(typeof jobs)[number]];
    await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs: 1 } }], null);
    await clock.advance("30s");
    expect((await client.queues())[0]).toMatchObject({ rate: 0, oldestWaitingMs: 30_000 });
    await clock.advance("30s");
    expect((await client.queues())[0]).toMatchObject({ rate: 3, oldestWaitingMs: 60_000 });
    await claim(client, 10);
    await clock.advance("60s");
    expect((await client.queues())[0]).toMatchObject({ rate: 0, oldestWaitingMs: null });
  });

  test("keeps what is not named when it is told something", async () => {
    const { client } = await openClient();
    await client.configure("q", { capacity: 10, headStart: "1m", deadLetters: false, retention: { age: "1h", count: 5 } });
    await client.configure("q", { retention: { keepAtLeast: "1m" } });
    await client.configure("q", { capacity: null, headStart: null });
    expect((await client.queues())[0]).toMatchObject({
      capacity: null,
      headStart: null,
      deadLetters: false,
      retention: { age: 3_600_000, count: 5, keepAtLeast: 60_000 },
    });
  });

  test.each([
    [{ capacity: 0 }, "capacity"],
    [{ capacity: -1 }, "capacity"],
    [{ capacity: 1.5 }, "capacity"],
    [{ headStart: -1 }, "headStart"],
    [{ headStart: "400d" }, "headStart"],
    [{ deadLetters: 1 }, "deadLetters"],
    [{ retention: 5 }, "retention"],
    [{ retention: { age: "x" } }, "retention.age"],
    [{ retention: { count: -1 } }, "retention.count"],
    [{ retention: { keep: 1 } }, "retention.keep"],
    [{ defaults: 5 }, "defaults"],
    [{ defaults: { maxRetries: 101 } }, "defaults.maxRetries"],
    [{ defaults: { timeout: "soon" } }, "defaults.timeout"],
    [{ defaults: { priority: 1 } }, "defaults.priority"],
    [{ paused: true }, "paused"],
    [null, "settings"],
  ])("refuses the settings %j, and nothing is changed or made", async (settings, field) => {
    const { client } = await openClient();
    await expect(client.configure("q", settings as never)).rejects.toMatchObject({ code: "invalid_input", field });
    expect(await client.queues()).toEqual([]);
  });

  test("refuses a name outside the grammar", async () => {
    const { client } = await openClient();
    for (const call of [client.configure("a b", {}), client.pause(""), client.resume("{x}")]) {
      await expect(call).rejects.toMatchObject({ code: "invalid_input", field: "queue" });
    }
  });

  test("is re-ranked to the end when its head start changes, and not otherwise", async () => {
    const { client, store } = await openClient();
    let left = 3;
    const asked: string[] = [];
    store.rerank = async (queue) => {
      asked.push(queue);
      return left-- > 0;
    };
    await client.configure("q", { capacity: 5 });
    expect(asked).toEqual([]);
    await client.configure("q", { headStart: "1m" });
    expect(asked).toEqual(["q", "q", "q", "q"]);
  });

  test("that is paused starts nothing until it is resumed, and both are announced", async () => {
    const { client, store } = await openClient();
    const heard = listenTo(store);
    await client.enqueue("t");
    await client.pause("default");
    expect((await claim(client)).jobs).toEqual([]);
    expect((await client.enqueue("t")).created).toBe(true);
    await client.resume("default");
    expect((await claim(client)).jobs).toHaveLength(2);
    expect(heard.filter((event) => event.event.startsWith("queue:"))).toMatchObject([
      { event: "queue:paused", queue: "default" },
      { event: "queue:resumed", queue: "default" },
    ]);
  });

  test("that is resumed tells workers that there is work", async () => {
    const { client, clock } = await openClient();
    await client.pause("mail", { create: true });
    await client.enqueue("t", null, { queue: "mail" });
    const hints: object[] = [];
    const stop = client.leases.watch((hint) => hints.push(hint));
    await client.resume("mail");
    await clock.settle();
    expect(hints).toContainEqual({ topic: "work", queue: "mail" });
    stop();
  });
});

test("new defaults of a queue count at once, even if the old ones are just being read", async () => {
  const { client, store, clock } = await openClient();
  await client.enqueue("t");
  await clock.advance("20s");
  const queues = store.queues.bind(store);
  const gate = Promise.withResolvers<void>();
  store.queues = async () => {
    const read = await queues();
    await gate.promise;
    return read;
  };
  // Takes what it knows, and reads again for those who come later.
  await client.enqueue("t");
  store.queues = queues;
  await client.configure("default", { defaults: { maxRetries: 0 } });
  gate.resolve();
  await clock.settle();
  expect(await client.enqueue("t")).toMatchObject({ maxRetries: 0 });
});
