import { changeSettings, type QueueChange } from "../../core/queue.ts";
import { STRICT_HEAD_START_MS } from "../../core/rank.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import {
  BUCKETS_PER_TYPE,
  COUNTER,
  type CounterCell,
  counterRows,
  FIRST_BUCKET,
  isWantedType,
  LEVELS,
  numbersOfType,
  PERIOD_MS,
  readMetric,
  readTyped,
  STATE,
  STEP,
  statusOf,
} from "../numbers.ts";
import { unpackTimes, WHOLE_QUEUE } from "../packed-times.ts";
import type { CounterQuery, CounterRow, OldestPending, QueueState } from "../store.ts";
import { type Catalog, settingValues } from "./catalog.ts";
import { idToBlob, type Row } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { plainLane } from "./lane-numbers.ts";
import { reconsiderQueue } from "./limits.ts";
import {
  ALL_TALLIES,
  COUNT_CAME_BEFORE,
  COUNT_RANKED_BEFORE,
  HEAD_OF_LANE,
  READ_COUNTS,
  READ_HOUR_TIMES,
  READ_HOUR_TIMES_OF_TYPES,
  READ_QUEUE_COUNTS,
  READ_QUEUE_SUMS,
  READ_TYPE_COUNTS,
  SET_QUEUE,
  POSITION_OF_JOB,
  STORED_PERIODS,
  TIMES_MOVED_TO,
} from "./statements.ts";
import type { Transaction, View } from "./transaction.ts";

export function queueStates({ on, catalog }: View): QueueState[] {
  const counts = Map.groupBy(on.all(ALL_TALLIES) as [number, number, number, number][], ([queue]) => queue);
  return catalog.allQueues().map(({ id, name, settings, paused }) => ({
    name,
    settings,
    paused,
    counts: (counts.get(id) ?? []).map(([, state, level, count]) => ({ status: statusOf(state), level: LEVELS[level]!, count })),
  }));
}

export function configureQueue(tx: Transaction, name: string, change: QueueChange): void {
  const queue = tx.catalog.queue(name);
  const settings = changeSettings(queue.settings, change);
  const reranks = settings.headStartMs !== queue.settings.headStartMs;
  tx.on.run(SET_QUEUE, (change.paused ?? queue.paused) ? 1 : 0, reranks ? 0 : queue.rerankedTo, ...settingValues(settings), queue.id);
  tx.catalog.forgetSettings();
  tx.sendHint({ topic: "queues" });
  if (change.limits !== undefined) reconsiderQueue(tx, queue);
  if (change.paused === false) tx.sendHint({ topic: "work", queue: name });
}

export function oldestPending({ on, catalog, now }: View): { now: number; lanes: OldestPending[] } {
  const lanes = [...Map.groupBy(catalog.readyLanes(), plainLane)].flatMap(([plain, numbers]) => {
    const { queue, type } = catalog.namesOf(plain);
    const isStrict = catalog.queue(queue).settings.headStartMs === STRICT_HEAD_START_MS;
    const heads = numbers.flatMap((lane) => [...headsOf(on, lane, isStrict)]);
    // Another process may have claimed its last job meanwhile: no transaction holds the two reads together.
    return heads.length === 0 ? [] : [{ queue, type, runAt: Math.min(...heads) }];
  });
  return { now, lanes };
}

/**
 * The due time of the lane's first job by rank; with strict priority, of its first job in each priority. There ranks of different
 * priorities are further apart than any two times, so it can jump from one priority to the next.
 */
function* headsOf(on: Connection, lane: number, isStrict: boolean): Generator<number> {
  for (let from = -Number.MAX_SAFE_INTEGER; ;) {
    const head = on.get(HEAD_OF_LANE, lane, from) as [rank: number, runAt: number] | undefined;
    if (head === undefined) return;
    const [rank, runAt] = head;
    yield runAt;
    if (!isStrict) return;
    // By rank, not by priority: during a rerank, some jobs still have the rank of the old head start.
    from = (Math.floor(rank / STRICT_HEAD_START_MS) + 1) * STRICT_HEAD_START_MS;
  }
}

export function countAhead({ on, catalog }: View, id: string, types: readonly string[] | "*", most: number): number | null {
  const found = on.get(POSITION_OF_JOB, idToBlob(id)) as [seq: number, queue: number, state: number, rank: number] | undefined;
  if (found === undefined || found[2] !== STATE.pending) return null;
  const [seq, queue, , rank] = found;
  let count = 0;
  for (const lane of catalog.lanesOfAll(queue, types)) {
    if (count < most) count += on.number(COUNT_RANKED_BEFORE, lane, rank, most - count)!;
    if (count < most) count += on.number(COUNT_CAME_BEFORE, lane, rank, seq, most - count)!;
  }
  return count;
}

export function readCounters({ on, catalog, now }: View, query: CounterQuery): { now: number; rows: CounterRow[] } {
  const rows = query.step === "hour-times" ? hourTimes(on, catalog, query) : countRows(on, catalog, query);
  const cells = rows.map(([queue, at, typed, value]): CounterCell => {
    const { type: lane, metric } = readTyped(typed, BUCKETS_PER_TYPE);
    const type = query.byType === undefined || lane === 0 ? null : catalog.namesOf(lane).type;
    return [catalog.queueById(queue).name, type, at, metric, value];
  });
  const wanted = cells.filter(([, type]) => isWantedType(type, query));
  return { now, rows: counterRows(wanted, (metric) => readMetric(metric, COUNTER.enqueued)) };
}

type CountRow = [queue: number, at: number, metric: number, value: number];

/** What was moved to the hours, and what is still in the minutes. */
function hourTimes(on: Connection, catalog: Catalog, query: CounterQuery): CountRow[] {
  const { from = 0, to = Number.MAX_SAFE_INTEGER } = query;
  const minutesFrom = Math.max(from, on.number(TIMES_MOVED_TO) ?? 0);
  const left = countRows(on, catalog, { ...query, step: "minute", from: minutesFrom, to: undefined })
    .filter(([, , metric]) => metric >= FIRST_BUCKET)
    .map(([queue, at, metric, value]): CountRow => [queue, at - (at % HOUR_MS), metric, value])
    .filter(([, at]) => at >= from && at < to);
  const moved = queuesOf(catalog, query).flatMap((queue) => movedTimes(on, catalog, queue, query, from, to));
  return [...left, ...moved];
}

function queuesOf(catalog: Catalog, { queue }: CounterQuery): number[] {
  if (queue === undefined) return catalog.allQueues().map(({ id }) => id);
  const known = catalog.findQueue(queue);
  return known === null ? [] : [known.id];
}

function movedTimes(on: Connection, catalog: Catalog, queue: number, { byType }: CounterQuery, from: number, to: number): CountRow[] {
  const type = typeof byType === "object" ? catalog.lanes(queue, [byType.type])[0] : WHOLE_QUEUE;
  if (type === undefined) return [];
  const hours = byType === true ? on.all(READ_HOUR_TIMES_OF_TYPES, queue, from, to) : on.all(READ_HOUR_TIMES, queue, type, from, to);
  return (hours as [number, number, number, string][]).flatMap(([, number, at, times]) => {
    const first = Math.max(0, number) * BUCKETS_PER_TYPE;
    return unpackTimes(times).map(([metric, amount]): CountRow => [queue, at, first + metric, amount]);
  });
}

function countRows(on: Connection, catalog: Catalog, query: CounterQuery): CountRow[] {
  const step = STEP[query.step];
  const from = query.step === "all" ? 0 : (query.from ?? 0);
  const to = query.step === "all" ? 1 : (query.to ?? Number.MAX_SAFE_INTEGER);
  if (query.queue === undefined) return on.all(READ_COUNTS, step, from, to, metricsBelow(query)) as CountRow[];
  const queue = catalog.findQueue(query.queue);
  const [first, last] = on.get(STORED_PERIODS, step, step) as [number | null, number | null];
  if (queue === null || first === null || last === null) return [];
  // Period by period: a range of periods would be read with the counts of all other queues.
  const length = PERIOD_MS[query.step];
  const until = Math.min(to, last + 1);
  const read = periodReader(on, catalog, queue.id, query);
  const rows: Row[] = [];
  for (let at = Math.max(first, Math.ceil(from / length) * length); at < until; at += length) rows.push(...read(at));
  return rows as CountRow[];
}

/** Reads one period of a queue. SQLite adds up the types, or leaves out the others: most rows then never get here. */
function periodReader(on: Connection, catalog: Catalog, queue: number, query: CounterQuery): (at: number) => Row[] {
  const { step, byType } = query;
  const below = metricsBelow(query);
  if (byType === undefined) return (at) => on.all(READ_QUEUE_SUMS, STEP[step], at, queue, below);
  if (byType === true) return (at) => on.all(READ_QUEUE_COUNTS, STEP[step], at, queue, below);
  const [lane] = catalog.lanes(queue, [byType.type]);
  if (lane === undefined) return () => [];
  const { counters, buckets } = numbersOfType(lane, BUCKETS_PER_TYPE);
  const last = Math.min(buckets[1], below - 1);
  return (at) => on.all(READ_TYPE_COUNTS, STEP[step], at, queue, ...counters, buckets[0], last);
}

/** Metrics from this one on are not wanted. */
function metricsBelow({ countsOnly }: CounterQuery): number {
  return countsOnly === true ? FIRST_BUCKET : Number.MAX_SAFE_INTEGER;
}
