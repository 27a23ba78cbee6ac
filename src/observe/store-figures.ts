/** FIGURES OF THE STORE, the same from every process: take the maximum over processes, do not add them up. */
import { PRIORITY_LEVELS, type PriorityLevel, type Status, STATUSES } from "../core/job.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import { counter, type Family, gauge, plain, type PlainFamily, type PlainSample } from "./exposition.ts";
import type { QueueLabels } from "./queue-labels.ts";

/** What a client can read from its store. */
export interface FiguresSource {
  stats(): Promise<SeenStats>;
  queues(): Promise<readonly SeenQueue[]>;
  workers(): Promise<readonly Pick<WorkerEntry, "state" | "slots" | "runningCount" | "abandoned">[]>;
}

export interface SeenStats {
  readonly totalEnqueued: number;
  readonly totalProcessed: number;
  readonly totalFailed: number;
  readonly totalRetried: number;
  /** Leases that ran out, if the client knows. */
  readonly totalLost?: number | undefined;
  readonly throughput: number;
  /** Flows by status, if the client knows. */
  readonly flows?: Readonly<Record<(typeof FLOW_STATUSES)[number], number>> | undefined;
}

export interface SeenQueue {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: Readonly<Record<Status, number>>;
  readonly waiting: Readonly<Record<PriorityLevel, number>>;
  readonly capacity: number | null;
  /** Its limits, if the client knows; null if it has none. */
  readonly limits?: { readonly running?: number | null | undefined } | null | undefined;
  /** How long the pending job that has been due the longest has waited, in milliseconds, if the client knows; null if none is pending. */
  readonly oldestWaitingMs?: number | null | undefined;
}

export interface StoreReading {
  readonly stats: SeenStats;
  readonly queues: readonly SeenQueue[];
  readonly workers: Awaited<ReturnType<FiguresSource["workers"]>>;
}

const LEVELS = Object.keys(PRIORITY_LEVELS) as PriorityLevel[];
/** Flows that people look at. */
const FLOW_STATUSES = ["running", "failed"] as const;
const WORKER_STATES = ["idle", "busy", "stopping"] as const satisfies WorkerEntry["state"][];

export async function readStore(source: FiguresSource): Promise<StoreReading> {
  const [stats, queues, workers] = await Promise.all([source.stats(), source.queues(), source.workers()]);
  return { stats, queues, workers };
}

/** The families of a reading. Without one, because the store is unreachable, they have no samples. */
export function storeFamilies(reading: StoreReading | null, labels: QueueLabels): Family[] {
  return [
    gauge("millrace_store_up", "Whether the store answered.", [plain(reading === null ? 0 : 1)]),
    ...queueFamilies(reading?.queues ?? [], labels),
    ...totalFamilies(reading?.stats ?? null),
    ...workerFamilies(reading?.workers ?? null),
  ];
}

function queueFamilies(queues: readonly SeenQueue[], labels: QueueLabels): Family[] {
  const groups = Map.groupBy(
    queues.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ({ name }) => labels.labelOf(name),
  );
  const byQueue = (
    name: string,
    help: string,
    samplesOf: (members: readonly SeenQueue[], queue: string) => readonly PlainSample[],
  ): PlainFamily => {
    const samples = [...groups].flatMap(([queue, members]) => samplesOf(members, queue));
    return gauge(name, help, samples);
  };
  return [
    byQueue("millrace_queue_jobs", "Jobs by queue and status.", (members, queue) =>
      STATUSES.map((status) => total(members, ({ counts }) => counts[status], { queue, status })),
    ),
    byQueue("millrace_queue_waiting_jobs", "Jobs that are pending, scheduled or retrying, by queue and priority level.", (members, queue) =>
      LEVELS.map((priority) => total(members, ({ waiting }) => waiting[priority], { queue, priority })),
    ),
    byQueue("millrace_queue_paused", "Whether the queue is paused; for several, how many are.", (members, queue) => [
      total(members, ({ paused }) => Number(paused), { queue }),
    ]),
    byQueue("millrace_queue_capacity_jobs", "How many jobs may wait in the queue, if it has a capacity.", (members, queue) => {
      const bounded = members.filter(({ capacity }) => capacity !== null);
      return bounded.length === 0 ? [] : [total(bounded, ({ capacity }) => capacity ?? 0, { queue })];
    }),
    byQueue(
      "millrace_queue_running_limit_jobs",
      "How many jobs of the queue may run at once, if it has such a limit.",
      (members, queue) => {
        const bounded = members.flatMap(({ limits }) => limits?.running ?? []);
        return bounded.length === 0 ? [] : [total(bounded, (limit) => limit, { queue })];
      },
    ),
    byQueue(
      "millrace_queue_oldest_waiting_seconds",
      "How long the pending job that has been due the longest has waited; 0 if none is pending.",
      (members, queue) => {
        const known = members.filter(({ oldestWaitingMs }) => oldestWaitingMs !== undefined);
        const waitsMs = known.map(({ oldestWaitingMs }) => oldestWaitingMs ?? 0);
        return known.length === 0 ? [] : [plain(Math.max(0, ...waitsMs) / 1000, { queue })];
      },
    ),
  ];
}

function totalFamilies(stats: SeenStats | null): Family[] {
  const of = (value: number | undefined): PlainSample[] => (value === undefined ? [] : [plain(value)]);
  return [
    counter("millrace_jobs_enqueued_total", "Jobs enqueued since the store was made.", of(stats?.totalEnqueued)),
    counter("millrace_jobs_completed_total", "Jobs completed since the store was made.", of(stats?.totalProcessed)),
    counter(
      "millrace_jobs_failed_total",
      "Jobs that failed for good (ended dead or failed) since the store was made.",
      of(stats?.totalFailed),
    ),
    counter(
      "millrace_retries_total",
      "Attempts that failed or were lost and had an automatic retry since the store was made.",
      of(stats?.totalRetried),
    ),
    counter(
      "millrace_leases_lost_total",
      "Leases that ran out since the store was made, because their worker died or was cut off.",
      of(stats?.totalLost),
    ),
    gauge("millrace_jobs_completed_per_second", "Jobs completed per second in the last full minute.", of(stats?.throughput)),
    gauge(
      "millrace_flows",
      "Flows that run, and that failed and were not retried.",
      stats?.flows === undefined ? [] : FLOW_STATUSES.map((status) => plain(stats.flows![status], { status })),
    ),
  ];
}

function workerFamilies(workers: StoreReading["workers"] | null): Family[] {
  const totalOf = (name: string, help: string, size: (worker: StoreReading["workers"][number]) => number): PlainFamily =>
    gauge(name, help, workers === null ? [] : [total(workers, size)]);
  return [
    gauge(
      "millrace_workers",
      "Live workers by state.",
      workers === null ? [] : WORKER_STATES.map((state) => plain(workers.filter((worker) => worker.state === state).length, { state })),
    ),
    totalOf("millrace_worker_slots", "Slots of all live workers.", ({ slots }) => slots),
    totalOf("millrace_worker_slots_used", "Slots with a running job.", ({ runningCount }) => runningCount),
    totalOf("millrace_worker_abandoned_handlers", "Handlers that ignored their abort and still run.", ({ abandoned }) => abandoned),
  ];
}

function total<Item>(items: readonly Item[], size: (item: Item) => number, labels: PlainSample["labels"] = {}): PlainSample {
  const value = items.reduce((sum, item) => sum + size(item), 0);
  return plain(value, labels);
}
