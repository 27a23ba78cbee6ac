/** Figures over all queues, from tallies and counters. They cost the same however many jobs there are. */
import type { Counter, TimeKind } from "../core/counters.ts";
import { FLOW_QUEUE, jobStatusOf } from "../core/flow.ts";
import { percentile } from "../core/histogram.ts";
import { isInternalQueue } from "../core/internal.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { CounterQuery, CounterRow, Store } from "../store/store.ts";
import type { Percentiles, Stats } from "./client.ts";
import { countLevels, countStatuses } from "./queues.ts";
import { listWorkers } from "./workers.ts";

const ENOUGH_RUNS = 1000;
/** How far back to look for the latest runs, step by step: first by minute, then by hour. */
const MINUTES_BACK_MS = [5 * MINUTE_MS, HOUR_MS];
const HOURS_BACK_MS = 48 * HOUR_MS;

export async function readStats(store: Store): Promise<Stats> {
  const [everyQueue, workers, all] = await Promise.all([
    store.queues(),
    listWorkers(store, undefined),
    usersCounters(store, { step: "all" }),
  ]);
  const { now } = all;
  const queues = everyQueue.filter(({ name }) => !isInternalQueue(name));
  const flows = countStatuses(everyQueue.find(({ name }) => name === FLOW_QUEUE)?.counts ?? []);
  const [today, latest] = await Promise.all([
    usersCounters(store, { step: "hour", from: startOf(now, DAY_MS), to: now + 1 }),
    latestMinutes(store, now),
  ]);
  const counts = queues.flatMap((queue) => queue.counts);
  const statuses = countStatuses(counts);
  return {
    counts: statuses,
    waiting: countLevels(counts),
    queues: Object.fromEntries(
      queues.map((queue) => [
        queue.name,
        { counts: countStatuses(queue.counts), waiting: countLevels(queue.counts), paused: queue.paused },
      ]),
    ),
    totalProcessed: sum(all.rows, "completed"),
    totalFailed: sum(all.rows, "failed") + sum(all.rows, "dead"),
    totalEnqueued: sum(all.rows, "enqueued"),
    totalRetried: sum(all.rows, "retried"),
    totalLost: sum(all.rows, "lost"),
    deadCount: statuses.dead,
    activeWorkers: workers.length,
    today: { processed: sum(today.rows, "completed"), failed: sum(today.rows, "failed") + sum(today.rows, "dead") },
    throughput:
      sum(
        latest.rows.filter((row) => row.at === startOf(now, MINUTE_MS) - MINUTE_MS),
        "completed",
      ) / 60,
    latency: percentilesOf(latest.rows, latest.since, "run"),
    wait: percentilesOf(latest.rows, latest.since, "wait"),
    flows: { running: flows[jobStatusOf("running")], failed: flows[jobStatusOf("failed")] },
  };
}

/** Counters without those of internal queues. */
export async function usersCounters(store: Store, query: CounterQuery): ReturnType<Store["counters"]> {
  const { now, rows } = await store.counters(query);
  return { now, rows: rows.filter(({ queue }) => !isInternalQueue(queue)) };
}

/** Minutes back from the latest until there are enough runs, or else hours. `since` is the start of the earliest one. */
async function latestMinutes(store: Store, now: number): Promise<{ rows: CounterRow[]; since: number }> {
  const rows: CounterRow[] = [];
  let to = now + 1;
  for (const back of MINUTES_BACK_MS) {
    const from = startOf(now, MINUTE_MS) - back;
    rows.push(...(await usersCounters(store, { step: "minute", from, to })).rows);
    to = from;
    const since = enoughSince(rows);
    if (since !== null) return { rows, since };
  }
  const hours = (await usersCounters(store, { step: "hour-times", from: startOf(now, HOUR_MS) - HOURS_BACK_MS, to: now + 1 })).rows;
  // Minutes are among the hours, so that only their counters are wanted.
  return { rows: [...rows.map((row) => ({ ...row, times: {} })), ...hours], since: enoughSince(hours) ?? 0 };
}

function enoughSince(rows: readonly CounterRow[]): number | null {
  const newestFirst = rows.toSorted((a, b) => b.at - a.at);
  let runs = 0;
  for (const row of newestFirst) {
    runs += countOf(row, "run");
    if (runs >= ENOUGH_RUNS) return row.at;
  }
  return null;
}

function countOf(row: CounterRow, kind: TimeKind): number {
  let total = 0;
  for (const count of row.times[kind]?.values() ?? []) total += count;
  return total;
}

export function percentilesOf(rows: readonly CounterRow[], since: number, kind: TimeKind): Percentiles {
  const merged = new Map<number, number>();
  for (const row of rows) {
    if (row.at < since) continue;
    for (const [bucket, count] of row.times[kind] ?? []) merged.set(bucket, (merged.get(bucket) ?? 0) + count);
  }
  return { p50: percentile(merged, 0.5), p95: percentile(merged, 0.95), p99: percentile(merged, 0.99) };
}

export function sum(rows: readonly CounterRow[], counter: Counter): number {
  return rows.reduce((total, row) => total + (row.counts[counter] ?? 0), 0);
}

export function startOf(now: number, periodMs: number): number {
  return now - (now % periodMs);
}
