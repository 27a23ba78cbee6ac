import { changeSettings, type QueueChange } from "../../core/queue.ts";
import { STRICT_HEAD_START_MS } from "../../core/rank.ts";
import {
  BUCKETS_PER_TYPE,
  COUNTER,
  type CounterCell,
  counterRows,
  isWantedType,
  LEVELS,
  PERIOD_MS,
  readMetric,
  readTyped,
  STATE,
  STEP,
  statusOf,
} from "../numbers.ts";
import type { CounterQuery, CounterRow, OldestPending, QueueState } from "../store.ts";
import { type Catalog, settingValues } from "./catalog.ts";
import { idToBlob, type Row } from "./codec.ts";
import type { Connection } from "./connection.ts";
import {
  ALL_TALLIES,
  COUNT_CAME_BEFORE,
  COUNT_RANKED_BEFORE,
  HEAD_OF_LANE,
  READ_COUNTS,
  READ_QUEUE_COUNTS,
  READ_QUEUE_SUMS,
  READ_TYPE_COUNTS,
  SET_QUEUE,
  POSITION_OF_JOB,
  STORED_PERIODS,
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
  if (change.paused === false) tx.sendHint({ topic: "work", queue: name });
}

export function oldestPending({ on, catalog, now }: View): { now: number; lanes: OldestPending[] } {
  const lanes = catalog.readyLanes().flatMap((lane) => {
    const { queue, type } = catalog.namesOf(lane);
    const isStrict = catalog.queue(queue).settings.headStartMs === STRICT_HEAD_START_MS;
    const heads = [...headsOf(on, lane, isStrict)];
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
  for (const lane of catalog.lanes(queue, types)) {
    if (count < most) count += on.number(COUNT_RANKED_BEFORE, lane, rank, most - count)!;
    if (count < most) count += on.number(COUNT_CAME_BEFORE, lane, rank, seq, most - count)!;
  }
  return count;
}

export function readCounters({ on, catalog, now }: View, query: CounterQuery): { now: number; rows: CounterRow[] } {
  const cells = countRows(on, catalog, query).map(([queue, at, typed, value]): CounterCell => {
    const { type: lane, metric } = readTyped(typed, BUCKETS_PER_TYPE);
    const type = query.byType === undefined || lane === 0 ? null : catalog.namesOf(lane).type;
    return [catalog.queueById(queue).name, type, at, metric, value];
  });
  const rows = counterRows(cells, (metric) => readMetric(metric, COUNTER.enqueued));
  return { now, rows: rows.filter(({ type }) => isWantedType(type, query)) };
}

function countRows(on: Connection, catalog: Catalog, query: CounterQuery): [number, number, number, number][] {
  const step = STEP[query.step];
  const from = query.step === "all" ? 0 : (query.from ?? 0);
  const to = query.step === "all" ? 1 : (query.to ?? Number.MAX_SAFE_INTEGER);
  if (query.queue === undefined) return on.all(READ_COUNTS, step, from, to) as [number, number, number, number][];
  const queue = catalog.findQueue(query.queue);
  const [first, last] = on.get(STORED_PERIODS, step, step) as [number | null, number | null];
  if (queue === null || first === null || last === null) return [];
  // Period by period: a range of periods would be read with the counts of all other queues.
  const length = PERIOD_MS[query.step];
  const until = Math.min(to, last + 1);
  const read = periodReader(on, catalog, queue.id, query);
  const rows: Row[] = [];
  for (let at = Math.max(first, Math.ceil(from / length) * length); at < until; at += length) rows.push(...read(at));
  return rows as [number, number, number, number][];
}

/** Reads one period of a queue. SQLite adds up the types, or leaves out the others: most rows then never get here. */
function periodReader(on: Connection, catalog: Catalog, queue: number, { step, byType }: CounterQuery): (at: number) => Row[] {
  if (byType === undefined) return (at) => on.all(READ_QUEUE_SUMS, STEP[step], at, queue);
  if (byType === true) return (at) => on.all(READ_QUEUE_COUNTS, STEP[step], at, queue);
  const [lane = 0] = catalog.lanes(queue, [byType.type]);
  return (at) => on.all(READ_TYPE_COUNTS, STEP[step], at, queue, lane, lane);
}
