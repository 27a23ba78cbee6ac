/** THE CLIENT. All that producers, workers and operators can ask for; the same over a store and over HTTP. */
import type { Duration } from "../core/duration.ts";
import type { Event } from "../core/event.ts";
import type { Explanation } from "../core/explain.ts";
import type { Attempt, Job, JobSummary, LogLine } from "../core/job.ts";
import type { BulkOperations } from "./contract/bulk.ts";
import type {
  EnqueuedJob,
  EnqueueOptions,
  EnqueueResult,
  JobCount,
  JobFilter,
  JobInput,
  JobPage,
  ListJobs,
  PayloadAndOptions,
} from "./contract/jobs.ts";
import type { DeadLetters, HistoryPoint, HistoryQuery, NewQueueOptions, QueueInfo, QueueOptions, Stats } from "./contract/queues.ts";
import type { Schedules } from "./contract/schedules.ts";
import type { Handlers, JobDefinition, Leases, WorkerHandle, WorkerInfo, WorkOptions } from "./contract/work.ts";

export type * from "./contract/jobs.ts";
export type * from "./contract/queues.ts";
export type * from "./contract/bulk.ts";
export type * from "./contract/schedules.ts";
export type * from "./contract/work.ts";
export type { LeaseAnswer } from "../core/lease.ts";

/** What all servers on a store shall know for a while, by name. */
export interface Marks {
  /** Resolves when every process on the store sees the mark, until `ttlMs` from now. */
  mark(name: string, ttlMs: number): Promise<void>;
  marked(names: readonly string[]): Promise<boolean[]>;
}

/** Where a client over a store has its marks: for a server over it, and nobody else. */
export const MARKS: unique symbol = Symbol("marks");

/** All that producers, workers and operators can ask for. */
export interface Client extends AsyncDisposable {
  /** Adds a job; resolves once the store has committed it. With an idempotency key that is known: the stored job, and `created` false. */
  enqueue<Payload = unknown>(
    type: string | JobDefinition<Payload, any>, // oxlint-disable-line no-explicit-any -- what handlers get is not a caller's concern
    ...payloadAndOptions: PayloadAndOptions<Payload, EnqueueOptions>
  ): Promise<EnqueuedJob<Payload>>;

  /** Adds many. Answers one by one, in order; one item's error is its alone. Equal keys: the first wins. With `tx` the first error throws. */
  enqueueMany(jobs: readonly JobInput[], options?: { readonly tx?: unknown }): Promise<EnqueueResult[]>;

  /** The job, or null. The types of payload and result are the caller's word: they are stored JSON, and nothing checks them here. */
  get<Payload = unknown, Result = unknown>(id: string): Promise<Job<Payload, Result> | null>;
  /** Newest first; `cursor` of one page asks for the next. A page may be short and still have a cursor: the end is a null cursor. */
  list(query?: ListJobs): Promise<JobPage>;
  /** How many match: exact where status and queue are all that is named; else among the 10,000 newest. */
  count(filter?: JobFilter): Promise<JobCount>;
  attempts(id: string): Promise<Attempt[]>;
  /** Why a job is not running, or that it is. */
  explain(id: string): Promise<Explanation>;
  logs(id: string, page?: { readonly after?: number | undefined; readonly limit?: number | undefined }): Promise<LogLine[]>;
  /** Resolves with the job once it has ended; fails with `wait_timeout` when that takes longer than `timeout` (default 30 s). */
  wait<Payload = unknown, Result = unknown>(
    id: string,
    options?: { readonly timeout?: Duration | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<Job<Payload, Result>>;

  /**
   * Ends a waiting or running job. A running handler's signal aborts, wherever it runs. One that is cancelled already is answered as the first
   * time, so that a repeat is safe; one that ended otherwise is refused with `wrong_status`.
   */
  cancel(id: string): Promise<JobSummary>;
  /**
   * Gives a dead, failed or cancelled job a new life. With `now`, also starts a scheduled or retrying one at once. A repeat is refused with
   * `wrong_status` while the job lives, so that it cannot give a second new life by mistake.
   */
  retry(id: string, options?: { readonly now?: boolean | undefined }): Promise<JobSummary>;
  /** Deletes a job that has ended. A repeat is refused with `not_found`. */
  remove(id: string): Promise<void>;

  stats(): Promise<Stats>;
  /** What was counted, by hour or by minute, the earliest first; a period in which nothing happened has zeros. Looks at no job. */
  history(query?: HistoryQuery): Promise<HistoryPoint[]>;
  queues(): Promise<QueueInfo[]>;
  /** Changes settings of a queue; what is not named stays. Makes the queue if there is none, unless `create` is false: then `not_found`. */
  configure(queue: string, settings: QueueOptions, options?: NewQueueOptions): Promise<void>;
  /**
   * No job of the queue starts until resume; running ones go on, and enqueue works. A repeat changes nothing, as that of resume. A queue that
   * never had a job or a setting is `not_found`, because its name may be mistyped, unless `create` is true.
   */
  pause(queue: string, options?: NewQueueOptions): Promise<void>;
  resume(queue: string, options?: NewQueueOptions): Promise<void>;

  readonly dead: DeadLetters;
  /** One change for all jobs that match. */
  readonly bulk: BulkOperations;
  readonly schedules: Schedules;
  /** Live workers, in any process. Those that servers bring for webhooks, bulk operations and `http:request` only with `internal`. */
  workers(options?: { readonly internal?: boolean | undefined }): Promise<WorkerInfo[]>;

  /**
   * What happens, as it happens, in all processes. News, not history: a `gap` says that some was missed. Above 1,000 a second a process tells
   * `counts` instead of single events, after a `gap` that says how many those were. Over a server, a stream that broke goes on where it was.
   */
  events(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Event>;

  /** Starts a worker in this process. */
  work(handlers: Handlers, options?: WorkOptions): WorkerHandle;
  /** What workers are made of: claim, extend, report. */
  readonly leases: Leases;

  /**
   * Stops workers (within `grace`, else each within its own) and upkeep, then frees the store. Calls under way are waited for until the grace
   * ends (30 s when nothing is said), and 1 s longer: what a store that is away has not answered by then fails. May be called twice.
   */
  close(options?: { readonly grace?: Duration | undefined }): Promise<void>;

  /** @internal */
  readonly [MARKS]?: Marks;
}
