/** FIGURES OF THE STORE, the same from every process that has it: take the largest over processes, do not add them up. */
import { PRIORITY_LEVELS, type PriorityLevel, type Status, STATUSES } from "../core/job.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import type { Family, PlainFamily, PlainSample } from "./exposition.ts";
import type { QueueLabels } from "./queue-labels.ts";

/** What a client can tell of its store. */
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
  /** Leases that ran out, where the client tells. */
  readonly totalLost?: number | undefined;
  readonly throughput: number;
}

export interface SeenQueue {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: Readonly<Record<Status, number>>;
  readonly waiting: Readonly<Record<PriorityLevel, number>>;
  readonly capacity: number | null;
  /** How long the pending job that is due longest has waited, in milliseconds, where the client tells; null when none waits. */
  readonly oldestWaitingMs?: number | null | undefined;
}

/** All that is read for one look. */
export interface StoreReading {
  readonly stats: SeenStats;
  readonly queues: readonly SeenQueue[];
  readonly workers: Awaited<ReturnType<FiguresSource["workers"]>>;
}

const LEVELS = Object.keys(PRIORITY_LEVELS) as PriorityLevel[];
const WORKER_STATES = ["idle", "busy", "stopping"] as const satisfies WorkerEntry["state"][];

/** Reads all figures at once. */
export async function readStore(source: FiguresSource): Promise<StoreReading> {
  const [stats, queues, workers] = await Promise.all([source.stats(), source.queues(), source.workers()]);
  return { stats, queues, workers };
}

/** The families of a reading; of none, because the store is away, only their heads. */
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
  const each = (samplesOf: (queues: readonly SeenQueue[], queue: string) => readonly PlainSample[]): PlainSample[] =>
    [...groups].flatMap(([queue, members]) => samplesOf(members, queue));
  return [
    gauge(
      "millrace_queue_jobs",
      "Jobs by queue and status.",
      each((members, queue) =>
        STATUSES.map((status) =>
          plain(
            sum(members, ({ counts }) => counts[status]),
            { queue, status },
          ),
        ),
      ),
    ),
    gauge(
      "millrace_queue_waiting_jobs",
      "Jobs that are pending, scheduled or retrying, by queue and level of priority.",
      each((members, queue) =>
        LEVELS.map((priority) =>
          plain(
            sum(members, ({ waiting }) => waiting[priority]),
            { queue, priority },
          ),
        ),
      ),
    ),
    gauge(
      "millrace_queue_paused",
      "Whether the queue is paused; of several, how many are.",
      each((members, queue) => [
        plain(
          sum(members, ({ paused }) => Number(paused)),
          { queue },
        ),
      ]),
    ),
    gauge(
      "millrace_queue_capacity_jobs",
      "How many jobs may wait in the queue, where that is bounded.",
      each((members, queue) => {
        const bounded = members.filter(({ capacity }) => capacity !== null);
        return bounded.length === 0
          ? []
          : [
              plain(
                sum(bounded, ({ capacity }) => capacity ?? 0),
                { queue },
              ),
            ];
      }),
    ),
    gauge(
      "millrace_queue_oldest_waiting_seconds",
      "How long the pending job that is due longest has waited; 0 when none waits.",
      each((members, queue) => {
        const told = members.filter(({ oldestWaitingMs }) => oldestWaitingMs !== undefined);
        return told.length === 0 ? [] : [plain(Math.max(0, ...told.map(({ oldestWaitingMs }) => oldestWaitingMs ?? 0)) / 1000, { queue })];
      }),
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
      "Attempts that failed or were lost and were followed by an automatic retry since the store was made.",
      of(stats?.totalRetried),
    ),
    counter(
      "millrace_leases_lost_total",
      "Leases that ran out since the store was made: their workers died or were cut off.",
      of(stats?.totalLost),
    ),
    gauge("millrace_jobs_completed_per_second", "Jobs completed a second, over the last full minute.", of(stats?.throughput)),
  ];
}

function workerFamilies(workers: StoreReading["workers"] | null): Family[] {
  const of = (count: (all: StoreReading["workers"]) => number): PlainSample[] => (workers === null ? [] : [plain(count(workers))]);
  return [
    gauge(
      "millrace_workers",
      "Live workers by state.",
      workers === null ? [] : WORKER_STATES.map((state) => plain(workers.filter((worker) => worker.state === state).length, { state })),
    ),
    gauge(
      "millrace_worker_slots",
      "Slots of all live workers.",
      of((all) => sum(all, ({ slots }) => slots)),
    ),
    gauge(
      "millrace_worker_slots_used",
      "Slots in which a job runs.",
      of((all) => sum(all, ({ runningCount }) => runningCount)),
    ),
    gauge(
      "millrace_worker_abandoned_handlers",
      "Handlers that ignored their abort and still run.",
      of((all) => sum(all, ({ abandoned }) => abandoned)),
    ),
  ];
}

function sum<Item>(items: readonly Item[], size: (item: Item) => number): number {
  return items.reduce((total, item) => total + size(item), 0);
}

function plain(value: number, labels: PlainSample["labels"] = {}): PlainSample {
  return { labels, value };
}

function gauge(name: string, help: string, samples: readonly PlainSample[]): PlainFamily {
  return { name, help, type: "gauge", samples };
}

function counter(name: string, help: string, samples: readonly PlainSample[]): PlainFamily {
  return { name, help, type: "counter", samples };
}
