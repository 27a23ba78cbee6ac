import { describe, expect, test } from "vitest";
import { claim, die, openClient, spyOn, START } from "./open-client.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("history", () => {
  test("has a point for each of the last 24 hours, also for those in which nothing happened", async () => {
    const { client } = await openClient();
    const points = await client.history();
    expect(points).toHaveLength(24);
    expect(points.at(-1)).toEqual({ at: START - (START % HOUR), enqueued: 0, completed: 0, failed: 0, retried: 0, run: null, wait: null });
    expect(points.map(({ at }) => at)).toEqual(points.map((_, index) => points[0]!.at + index * HOUR));
  });

  test("counts each thing in the hour in which it happened", async () => {
    const { client, clock } = await openClient();
    await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "a", queue: "b" }]);
    await die(client);
    await clock.advance("1h");
    const [lease] = (await claim(client, 1)).jobs;
    const { job, fence, facts } = lease!;
    await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs: 40 } }], null);
    const [before, last] = (await client.history()).slice(-2);
    expect(before).toMatchObject({ enqueued: 3, completed: 0, failed: 1 });
    expect(last).toMatchObject({ enqueued: 0, completed: 1, failed: 0 });
    expect((await client.history({ queue: "b" })).at(-2)).toMatchObject({ enqueued: 1, failed: 0 });
  });

  test("tells run and wait times of one queue, by minute and by hour", async () => {
    const { client, store, clock } = await openClient();
    const run = async (runMs: number): Promise<void> => {
      await client.enqueue("t", null, { queue: "q" });
      await clock.advance(400);
      const [lease] = (await claim(client, 1, "q")).jobs;
      const { job, fence, facts } = lease!;
      await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs } }], null);
    };
    await run(4);
    await clock.advance("30h");
    for (const runMs of [16, 16, 1024]) await run(runMs);
    await clock.advance("1m");
    await run(16);
    await store.sweep({ minutesMs: 48 * HOUR, hoursMs: 1000 * HOUR }, 100);
    const none = { p50: null, p95: null, p99: null };
    const minutes = await client.history({ step: "minute", queue: "q", times: true });
    expect(minutes.slice(-2).map((point) => point.run)).toEqual([
      { p50: 16, p95: 1020, p99: 1020 },
      { p50: 16, p95: 16, p99: 16 },
    ]);
    expect(minutes.at(-1)?.wait).toEqual({ p50: 431, p95: 431, p99: 431 });
    expect(minutes.at(-3)).toMatchObject({ run: none, wait: none });
    const reads = spyOn(store, "counters");
    const hours = await client.history({ from: START, queue: "q", times: true });
    expect(hours.at(-1)?.run).toEqual({ p50: 16, p95: 1020, p99: 1020 });
    // More than a day ago: upkeep has moved its times to the hour.
    expect(hours[0]).toMatchObject({ completed: 1, run: { p50: 4, p95: 4, p99: 4 } });
    expect(reads.map(([{ step, from }]) => [step, from])).toEqual([
      ["hour", START],
      ["hour-times", START],
    ]);
    expect((await client.history({ queue: "q" })).at(-1)).toMatchObject({ completed: 4, run: null, wait: null });
  });

  test("tells the same of one type, and of all types of a queue side by side", async () => {
    const { client, store, clock } = await openClient();
    const run = async (type: string, runMs: number): Promise<void> => {
      await client.enqueue(type, null, { queue: "q" });
      const [lease] = (await claim(client, 1, "q")).jobs;
      const { job, fence, facts } = lease!;
      await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs } }], null);
    };
    await run("mail", 4);
    await clock.advance("4h");
    for (const runMs of [16, 16, 1024]) await run("mail", runMs);
    await run("bill", 64);
    await client.enqueue("idle", null, { queue: "q" });
    await client.enqueue("mail", null, { queue: "other" });
    await store.sweep({ minutesMs: 48 * HOUR, hoursMs: 1000 * HOUR }, 100);
    const mail = await client.history({ from: START, queue: "q", type: "mail", times: true });
    expect(mail[0]).toMatchObject({ enqueued: 1, completed: 1, run: { p50: 4, p95: 4, p99: 4 } });
    expect(mail.at(-1)).toMatchObject({ enqueued: 3, completed: 3, run: { p50: 16, p95: 1020, p99: 1020 } });
    expect((await client.history({ queue: "q", type: "unknown" })).at(-1)).toMatchObject({ enqueued: 0 });
    expect(await client.queueTypes("q", { from: START })).toMatchObject([
      { type: "mail", enqueued: 4, completed: 4, failed: 0, retried: 0, run: { p50: 16, p99: 1020 } },
      { type: "bill", enqueued: 1, completed: 1, run: { p50: 64 }, wait: { p50: 1 } },
      { type: "idle", enqueued: 1, completed: 0, run: { p50: null }, wait: { p50: null } },
    ]);
    expect((await client.queueTypes("q", { step: "minute" })).map(({ completed }) => completed)).toEqual([3, 1, 0]);
    // Of more periods than these, times are many numbers: they are not read.
    const [busiest] = await client.queueTypes("q", { from: START - 100 * 3_600_000 });
    expect(busiest).toMatchObject({ completed: 4, run: { p95: null }, wait: { p95: null } });
    expect(await client.queueTypes("empty")).toEqual([]);
  });

  test("goes by minutes, and from one moment to another, when told to", async () => {
    const { client, clock } = await openClient();
    await clock.advance("10m");
    await client.enqueue("t");
    const now = START + 10 * MINUTE;
    expect(await client.history({ step: "minute" })).toHaveLength(60);
    const points = await client.history({ step: "minute", from: now - 2 * MINUTE, to: new Date(now).toISOString() });
    expect(points.map(({ enqueued }) => enqueued)).toEqual([0, 0, 1]);
  });

  test.each([
    [{ step: "day" }, "step"],
    [{ queue: "no such name!" }, "queue"],
    [{ from: "yesterday" }, "from"],
    [{ from: START, to: START - 2 * HOUR }, "from"],
    [{ from: START - 2000 * HOUR }, "from"],
    [{ form: START }, "form"],
    [{ times: true }, "queue"],
    [{ times: "yes", queue: "q" }, "times"],
    [{ type: "mail" }, "queue"],
    [{ type: "no such name!", queue: "q" }, "type"],
  ])("refuses %j", async (query, field) => {
    const { client } = await openClient();
    await expect(client.history(query as never)).rejects.toMatchObject({ code: "invalid_input", field });
  });
});
