import { describe, expect, test } from "vitest";
import { bucketOf } from "../../../src/core/histogram.ts";
import type { CounterRow } from "../../../src/store/store.ts";
import { claim, die, openClient, spyOn, START } from "./open-client.ts";

const MINUTE = 60_000;

describe("stats", () => {
  test("of an empty store are zeros and nulls", async () => {
    const { client } = await openClient();
    expect(await client.stats()).toMatchObject({
      counts: { pending: 0, dead: 0 },
      totalProcessed: 0,
      totalFailed: 0,
      activeWorkers: 0,
      today: { processed: 0, failed: 0 },
      throughput: 0,
      latency: { p50: null, p95: null, p99: null },
      wait: { p50: null, p95: null, p99: null },
      flows: { running: 0, failed: 0 },
    });
  });

  test("add up over queues", async () => {
    const { client, clock } = await openClient();
    await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "a", queue: "b", priority: "critical" }]);
    await die(client);
    const [lease] = (await claim(client, 1)).jobs;
    const { job, fence, facts } = lease!;
    await client.leases.exchange([{ id: job.id, fence, facts, outcome: { kind: "completed", result: null, runMs: 40 } }], null);
    await clock.advance("1m");
    expect(await client.stats()).toMatchObject({
      counts: { pending: 1, dead: 1, completed: 1 },
      waiting: { critical: 1, high: 0, default: 0, low: 0 },
      queues: { default: { counts: { dead: 1, completed: 1 } }, b: { counts: { pending: 1 }, paused: false } },
      totalEnqueued: 3,
      totalProcessed: 1,
      totalFailed: 1,
      totalRetried: 0,
      deadCount: 1,
      today: { processed: 1, failed: 1 },
      throughput: 1 / 60,
    });
  });

  test("of today begin at midnight UTC", async () => {
    const { client, clock } = await openClient();
    await client.enqueue("t");
    await die(client);
    await clock.advance("1d");
    expect(await client.stats()).toMatchObject({ totalFailed: 1, today: { processed: 0, failed: 0 } });
  });

  test("take percentiles over the latest minutes that hold 1,000 runs, and look no further back", async () => {
    const { client, store, clock } = await openClient();
    await clock.advance("3h");
    const now = START + 3 * 60 * MINUTE;
    const row = (minutesAgo: number, runs: number, ms: number): CounterRow => {
      const times = { run: new Map([[bucketOf(ms), runs]]), wait: new Map([[bucketOf(1), runs]]) };
      return { queue: "default", type: null, at: now - minutesAgo * MINUTE, counts: {}, times };
    };
    const rows = [row(0, 400, 10), row(1, 700, 20), row(2, 5000, 10_000), row(170, 9000, 99_999)];
    store.counters = async ({ step, from = 0, to = Infinity }) => ({
      now,
      rows: step === "minute" ? rows.filter(({ at }) => at >= from && at < to) : [],
    });
    const asked = spyOn(store, "counters");
    const { latency } = await client.stats();
    expect(latency.p50).toBeGreaterThanOrEqual(20);
    expect(latency.p99).toBeLessThan(100);
    expect(asked.filter(([query]) => query.step === "minute")).toHaveLength(1);
  });

  test("go on looking back, step by step and each minute once, then by hour, when the latest held too few", async () => {
    const { client, store } = await openClient();
    const now = START + 50 * 60 * MINUTE;
    const asked: [number, number][] = [];
    const hours: [number, number][] = [];
    const times = { run: new Map([[bucketOf(10), 3]]) };
    store.counters = async ({ step, from = 0, to = 0 }) => {
      if (step === "minute") asked.push([from, to]);
      if (step === "hour-times") hours.push([from, to]);
      return { now, rows: step === "hour-times" ? [{ queue: "default", type: null, at: now - 20 * 60 * MINUTE, counts: {}, times }] : [] };
    };
    const { latency } = await client.stats();
    expect(asked).toHaveLength(2);
    for (let step = 1; step < asked.length; step++) expect(asked[step]![1]).toBe(asked[step - 1]![0]);
    expect(now - asked.at(-1)![0]).toBe(60 * MINUTE);
    expect(hours).toEqual([[now - 48 * 60 * MINUTE, now + 1]]);
    expect(latency.p50).toBeCloseTo(11.3);
  });
});
