import { changeSettings, type QueueChange } from "../../core/queue.ts";
import type { CounterQuery, CounterRow, QueueState } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { COUNTER, LEVELS, readFigures, readMetric, STEP, statusOf } from "../numbers.ts";
import type { Row } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { ALL_TALLIES, READ_COUNTS, READ_QUEUE_COUNTS, SET_QUEUE } from "./statements.ts";
import type { Transaction } from "./transaction.ts";

export function queueStates(on: Connection, catalog: Catalog): QueueState[] {
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
  tx.on.run(
    SET_QUEUE,
    (change.paused ?? queue.paused) ? 1 : 0,
    settings.capacity,
    settings.headStartMs,
    settings.deadLetters ? 1 : 0,
    settings.retention.ageMs,
    settings.retention.count,
    settings.retention.keepAtLeastMs,
    reranks ? 0 : queue.rerankedTo,
    queue.id,
  );
  tx.catalog.forgetSettings();
  tx.ring({ topic: "queues" });
  if (change.paused === false) tx.ring({ topic: "work", queue: name });
}

export function readCounters(on: Connection, catalog: Catalog, query: CounterQuery): CounterRow[] {
  const rows = countRows(on, catalog, query);
  const byPeriod = Map.groupBy(rows, ([queue, at]) => `${queue}@${at}`);
  return [...byPeriod.values()].map((ofPeriod) => toCounterRow(catalog, ofPeriod));
}

function countRows(on: Connection, catalog: Catalog, query: CounterQuery): [number, number, number, number][] {
  const step = STEP[query.step];
  const from = query.step === "all" ? 0 : (query.from ?? 0);
  const to = query.step === "all" ? 1 : (query.to ?? Number.MAX_SAFE_INTEGER);
  let rows: Row[] = [];
  if (query.queue === undefined) rows = on.all(READ_COUNTS, step, from, to);
  else {
    const queue = catalog.findQueue(query.queue);
    if (queue !== null) rows = on.all(READ_QUEUE_COUNTS, step, from, to, queue.id);
  }
  return rows as [number, number, number, number][];
}

function toCounterRow(catalog: Catalog, rows: [number, number, number, number][]): CounterRow {
  const [queue, at] = rows[0]!;
  const cells = rows.map(([, , metric, value]) => [metric, value] as const);
  return { queue: catalog.queueById(queue).name, at, ...readFigures(cells, (metric) => readMetric(metric, COUNTER.enqueued)) };
}
