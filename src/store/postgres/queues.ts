import { QUEUE_SETTINGS, type QueueChange, settingIn, settingsFrom, type SettingValue } from "../../core/queue.ts";
import { type CounterCell, counterRows, FIRST_COUNTER, PERIOD_MS, readMetric, readTallyMetric, STEP } from "../numbers.ts";
import type { CounterQuery, CounterRow, OldestPending, QueueState } from "../store.ts";
import { unpackTimes } from "../packed-times.ts";
import { type Row, texts } from "./codec.ts";
import type { Context } from "./context.ts";

export async function queueStates(context: Context): Promise<QueueState[]> {
  return (await context.connections.call(context.sql.queues)).map(readQueue);
}

function readQueue(row: Row): QueueState {
  const [name, paused, settings, tallies] = row as [string, boolean, string, string | null];
  const values = JSON.parse(settings) as SettingValue[];
  const cells = tallies === null ? [] : (JSON.parse(tallies) as [metric: number, amount: number][]);
  return {
    name,
    paused,
    settings: settingsFrom((_, index) => values[index]!),
    counts: cells.map(([metric, count]) => ({ ...readTallyMetric(metric), count })),
  };
}

export async function configureQueue(context: Context, queue: string, change: QueueChange): Promise<void> {
  const { connections, sql, catalog } = context;
  const { paused } = change;
  const given = QUEUE_SETTINGS.flatMap((setting) => {
    const value = settingIn(change, setting);
    return [value !== undefined, value ?? null];
  });
  await catalog.addQueues([queue]);
  await connections.call(sql.configure, [queue, paused ?? null, ...given]);
  if (change.limits !== undefined) {
    await connections.call(sql.awaitClaims, [queue, null]);
    await connections.call(sql.reconsiderQueue, [queue]);
  }
  context.sendHints(paused === false ? [{ topic: "queues" }, { topic: "work", queue }] : [{ topic: "queues" }]);
}

export async function oldestPending(context: Context): Promise<{ now: number; lanes: OldestPending[] }> {
  const found = (await context.connections.call(context.sql.oldest, [context.now()])) as [
    queue: string | null,
    type: string,
    runAt: number,
  ][];
  // One row has only the time.
  const now = found.find(([queue]) => queue === null)![2];
  return { now, lanes: found.flatMap(([queue, type, runAt]) => (queue === null ? [] : [{ queue, type, runAt }])) };
}

export async function countAhead(context: Context, id: string, types: readonly string[] | "*", most: number): Promise<number | null> {
  const [row] = await context.connections.call(context.sql.ahead, [id, types === "*" ? null : texts(types), most]);
  return row![0] as number | null;
}

export async function readCounters(context: Context, query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
  const { connections, sql } = context;
  const from = query.step === "all" ? 0 : (query.from ?? 0);
  const to = query.step === "all" ? 1 : (query.to ?? Number.MAX_SAFE_INTEGER);
  const type = typeof query.byType === "object" ? query.byType.type : null;
  const wanted = [query.queue ?? null, query.byType !== undefined, type, from, to];
  const isPacked = query.step === "hour-times";
  const found = isPacked
    ? await connections.call(sql.hourTimes, [context.now(), ...wanted])
    : await connections.call(sql.counters, [context.now(), STEP[query.step], PERIOD_MS[query.step], ...wanted, query.countsOnly === true]);
  // One row has only the time.
  const now = found.find(([queue]) => queue === null)![2] as number;
  const rows = found.filter(([queue]) => queue !== null);
  const cells = isPacked ? rows.flatMap((row) => cellsOf(row as PackedRow)) : (rows as [string, string | null, number, number, number][]);
  return { now, rows: counterRows(cells, (metric) => readMetric(metric, FIRST_COUNTER)) };
}

type PackedRow = [queue: string, type: string | null, at: number, times: string];

function cellsOf([queue, type, at, times]: PackedRow): CounterCell[] {
  return unpackTimes(times).map(([metric, amount]) => [queue, type, at, metric, amount]);
}
