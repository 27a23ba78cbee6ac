/** Queues, statistics and workers on the wire, both ways. */
import type { HistoryPoint, QueueDetails, QueueInfo, Stats, WorkerInfo } from "../../client/client.ts";
import type { FormerWorker, WorkerEntry } from "../../core/worker-entry.ts";
import type { AnswerFrom, BodyIn } from "../contract.ts";
import { fromLimitsWire, toLimitsWire } from "./limits.ts";
import { fieldsToCamelCase, fieldsToSnakeCase, fromTime, toTime } from "./values.ts";

type StatsWire = AnswerFrom<"GET /api/v1/stats">;
type PointWire = AnswerFrom<"GET /api/v1/stats/history">["points"][number];
type QueueWire = AnswerFrom<"PATCH /api/v1/queues/{queue}">;
type QueueDetailsWire = AnswerFrom<"GET /api/v1/queues/{queue}">;
type WorkerWire = AnswerFrom<"GET /api/v1/workers">["workers"][number];
type FormerWire = AnswerFrom<"GET /api/v1/workers/former">["workers"][number];
type EntryWire = Omit<BodyIn<"PUT /api/v1/workers/{worker}">, "ttl">;

export function toStatsWire(stats: Stats): StatsWire {
  return {
    queues: stats.waiting,
    by_queue: stats.queues,
    counts: stats.counts,
    total_processed: stats.totalProcessed,
    total_failed: stats.totalFailed,
    total_enqueued: stats.totalEnqueued,
    total_retried: stats.totalRetried,
    total_lost: stats.totalLost,
    dead_count: stats.deadCount,
    active_workers: stats.activeWorkers,
    jobs_today: stats.today,
    throughput: stats.throughput,
    latency: stats.latency,
    wait: stats.wait,
    flows: stats.flows,
  };
}

export function fromStatsWire(wire: StatsWire): Stats {
  return {
    counts: wire.counts,
    waiting: wire.queues,
    queues: wire.by_queue,
    totalProcessed: wire.total_processed,
    totalFailed: wire.total_failed,
    totalEnqueued: wire.total_enqueued,
    totalRetried: wire.total_retried,
    totalLost: wire.total_lost,
    deadCount: wire.dead_count,
    activeWorkers: wire.active_workers,
    today: wire.jobs_today,
    throughput: wire.throughput,
    latency: wire.latency,
    wait: wire.wait,
    // A server of an older version does not send it.
    flows: wire.flows ?? { running: 0, failed: 0 },
  };
}

export function toPointWire(point: HistoryPoint): PointWire {
  return { ...point, at: toTime(point.at) };
}

export function fromPointWire(wire: PointWire): HistoryPoint {
  return { ...wire, at: fromTime(wire.at) };
}

export function toQueueWire(queue: QueueInfo): QueueWire {
  const facets = queue.facets.map(({ field, since }) => ({ field, since: toTime(since) }));
  const groups = { defaults: fieldsToSnakeCase(queue.defaults), retention: fieldsToSnakeCase(queue.retention) };
  const limits = queue.limits === null ? null : toLimitsWire(queue.limits);
  return { ...fieldsToSnakeCase(queue), facets, ...groups, limits } as QueueWire;
}

export function fromQueueWire(wire: QueueWire): QueueInfo {
  const facets = wire.facets.map(({ field, since }) => ({ field, since: fromTime(since) }));
  const groups = { defaults: fieldsToCamelCase(wire.defaults), retention: fieldsToCamelCase(wire.retention) };
  // A server of an older version does not send them.
  const limits = (wire.limits ?? null) === null ? null : fromLimitsWire(wire.limits!);
  return { ...fieldsToCamelCase(wire), facets, ...groups, limits } as unknown as QueueInfo;
}

export function toQueueDetailsWire({ types, ...queue }: QueueDetails): QueueDetailsWire {
  return { ...toQueueWire(queue), types: types.map(fieldsToSnakeCase) } as QueueDetailsWire;
}

export function fromQueueDetailsWire({ types, ...queue }: QueueDetailsWire): QueueDetails {
  return { ...fromQueueWire(queue), types: types.map(fieldsToCamelCase) as unknown as QueueDetails["types"] };
}

export function toEntryWire(entry: WorkerEntry): EntryWire {
  return {
    host: entry.host,
    pid: entry.pid,
    state: entry.state,
    slots: entry.slots,
    queues: entry.queues as string[],
    types: entry.types as string[] | "*",
    started_at: toTime(entry.startedAt),
    running: entry.running as string[],
    running_count: entry.runningCount,
    processed: entry.processed,
    per_minute: entry.perMinute,
    abandoned: entry.abandoned,
    ...(entry.use === undefined ? {} : { use: { minutes: [...entry.use.minutes], hours: [...entry.use.hours] } }),
    version: entry.version,
    ...(entry.schemas === undefined ? {} : { schemas: entry.schemas }),
  };
}

export function fromEntryWire(id: string, wire: EntryWire): WorkerEntry {
  const { started_at } = wire;
  return {
    id,
    host: wire.host,
    pid: wire.pid,
    state: wire.state,
    slots: wire.slots,
    queues: wire.queues,
    types: wire.types,
    startedAt: typeof started_at === "number" ? started_at : fromTime(started_at),
    running: wire.running,
    runningCount: wire.running_count,
    processed: wire.processed,
    perMinute: wire.per_minute,
    abandoned: wire.abandoned,
    ...(wire.use === undefined ? {} : { use: wire.use }),
    version: wire.version,
    ...(wire.schemas === undefined ? {} : { schemas: wire.schemas }),
  };
}

export function toWorkerWire(worker: WorkerInfo): WorkerWire {
  return {
    id: worker.id,
    ...toEntryWire(worker),
    schemas: worker.schemas ?? null,
    started_at: toTime(worker.startedAt),
    heartbeat_at: toTime(worker.heartbeatAt),
  };
}

export function fromWorkerWire({ schemas, ...wire }: WorkerWire): WorkerInfo {
  const entry = fromEntryWire(wire.id, schemas === null ? wire : { ...wire, schemas });
  return { ...entry, heartbeatAt: fromTime(wire.heartbeat_at) };
}

export function toFormerWire({ heartbeatAt, end, endedAt, ...entry }: FormerWorker): FormerWire {
  const { state: _state, ...lastReport } = toWorkerWire({ ...entry, state: "idle", heartbeatAt });
  return { ...lastReport, end, ended_at: toTime(endedAt) };
}

export function fromFormerWire({ end, ended_at, ...wire }: FormerWire): FormerWorker {
  const { state: _state, ...lastReport } = fromWorkerWire({ ...wire, state: "idle" });
  return { ...lastReport, end, endedAt: fromTime(ended_at) };
}
