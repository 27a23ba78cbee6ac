/** THE CLIENT: everything that producers, workers and operators can do. It is the same over a store and over HTTP. */
import type { Finding } from "../core/attention.ts";
import type { AuditPage, AuditQuery } from "../core/audit.ts";
import type { Duration } from "../core/duration.ts";
import type { Event } from "../core/event.ts";
import type { Explanation } from "../core/explain.ts";
import type { HandledType } from "../core/handled-type.ts";
import type { Job, JobSummary, LogLine } from "../core/job.ts";
import type { ChangeOptions, JobAttempt, ManualChange, RetryOptions } from "../core/manual-change.ts";
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
import type {
  DeadLetters,
  FacetCounts,
  HistoryPoint,
  HistoryQuery,
  NewQueueOptions,
  QueueDetails,
  QueueInfo,
  QueueOptions,
  Stats,
  TypeFigures,
} from "./contract/queues.ts";
import type { Schedules } from "./contract/schedules.ts";
import type { FormerWorker } from "../core/worker-entry.ts";
import type { Handlers, JobDefinition, Leases, WorkerHandle, WorkerInfo, WorkOptions } from "./contract/work.ts";

export type * from "./contract/jobs.ts";
export type * from "./contract/queues.ts";
export type * from "./contract/bulk.ts";
export type * from "./contract/schedules.ts";
export type * from "./contract/work.ts";
export type { Finding } from "../core/attention.ts";
export type { LeaseAnswer } from "../core/lease.ts";

/** Names that all servers on a store know for a while. */
export interface Marks {
  /** Resolves when every process on the store sees the mark. It lasts until `ttlMs` from now. */
  mark(name: string, ttlMs: number): Promise<void>;
  marked(names: readonly string[]): Promise<boolean[]>;
}

/** The marks of a client over a store. Only its server uses them. */
export const MARKS: unique symbol = Symbol("marks");

/** Everything that producers, workers and operators can do. */
export interface Client extends AsyncDisposable {
  /** Adds a job; resolves once the store has committed it. If the idempotency key is known, returns the stored job with `created` false. */
  enqueue<Payload = unknown>(
    type: string | JobDefinition<Payload, any>, // oxlint-disable-line no-explicit-any -- what handlers get does not matter to a caller
    ...payloadAndOptions: PayloadAndOptions<Payload, EnqueueOptions>
  ): Promise<EnqueuedJob<Payload>>;

  /** Adds many jobs and answers for each, in order; an error concerns its job only. Of equal keys the first wins. With `tx` the first error throws. */
  enqueueMany(jobs: readonly JobInput[], options?: { readonly tx?: unknown }): Promise<EnqueueResult[]>;

  /** The job, or null. Nothing checks the types of payload and result: they are stored JSON. */
  get<Payload = unknown, Result = unknown>(id: string): Promise<Job<Payload, Result> | null>;
  /** Newest first; the `cursor` of one page asks for the next. A short page may still have a cursor: the last page has a null cursor. */
  list(query?: ListJobs): Promise<JobPage>;
  /** How many jobs match: exact if the filter names only status and queue; otherwise among at most 10,000 jobs in the wanted statuses, and `isCapped` says if there are more. */
  count(filter?: JobFilter): Promise<JobCount>;
  /**
   * Which customer's jobs fail? Dead and failed jobs that match, by the value of a field that their queues declare as a facet. Looks at the
   * latest 10,000. `endedFrom` makes it the failures since then.
   */
  facets(field: string, filter?: JobFilter): Promise<FacetCounts>;
  /** Every attempt in order, each with the life it belongs to: a retry by hand begins a new life. */
  attempts(id: string): Promise<JobAttempt[]>;
  /** Who retried, edited, started or cancelled the job by hand, in order: the latest 100. Empty if there is no such job. */
  changes(id: string): Promise<ManualChange[]>;
  /** Why a job is not running, or that it is. */
  explain(id: string): Promise<Explanation>;
  logs(id: string, page?: { readonly after?: number | undefined; readonly limit?: number | undefined }): Promise<LogLine[]>;
  /** Resolves with the job once it has ended; fails with `wait_timeout` after `timeout` (default 30 s). */
  wait<Payload = unknown, Result = unknown>(
    id: string,
    options?: { readonly timeout?: Duration | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<Job<Payload, Result>>;

  /**
   * Cancels a waiting or running job. The signal of a running handler aborts in any process. Cancelling a cancelled job succeeds, so a repeat is
   * safe; a job that ended otherwise is refused with `wrong_status`.
   */
  cancel(id: string, options?: ChangeOptions): Promise<JobSummary>;
  /**
   * Retries a dead, failed or cancelled job: it starts a new life. With `payload`, the same job runs with that payload; with `now`, also starts a
   * scheduled or retrying job at once. Until the job has ended again, a repeat is refused with `wrong_status`, so it cannot retry twice by mistake.
   */
  retry(id: string, options?: RetryOptions): Promise<JobSummary>;
  /** Deletes a job that has ended. A repeat fails with `not_found`. */
  remove(id: string, options?: ChangeOptions): Promise<void>;

  /** Who changed what by hand, newest first: jobs, dead letters, bulk operations, queues and schedules. Kept for 30 days, at most 10,000 entries. */
  audit(query?: AuditQuery): Promise<AuditPage>;

  stats(): Promise<Stats>;
  /** What needs attention now, the worst first; empty if nothing does. Reads no job, however many there are. */
  attention(): Promise<Finding[]>;
  /** The counters by hour or by minute, earliest first; a period without events has zeros. */
  history(query?: HistoryQuery): Promise<HistoryPoint[]>;
  /** `internal` adds the queues of internal jobs: webhook deliveries (`mail~webhooks`) and bulk operations (`~bulk`). */
  queues(options?: { readonly internal?: boolean | undefined }): Promise<QueueInfo[]>;
  /** One queue with its types that wait; null if it never had a job or a setting. Reads no job. Internal queues are only in `queues`: their names are refused here. */
  queue(name: string): Promise<QueueDetails | null>;
  /** What each type of a queue did in these periods, the busiest first; types without events are left out. Reads no job. */
  queueTypes(queue: string, query?: Pick<HistoryQuery, "step" | "from" | "to">): Promise<TypeFigures[]>;
  /** Changes settings of a queue; those you do not name stay. Makes the queue if needed, unless `create` is false: then `not_found`. */
  configure(queue: string, settings: QueueOptions, options?: NewQueueOptions & ChangeOptions): Promise<void>;
  /**
   * Starts no job of the queue until resume; running jobs go on, and enqueue works. Repeating pause or resume changes nothing. A queue that never
   * had a job or a setting is `not_found`, because its name may be mistyped, unless `create` is true.
   */
  pause(queue: string, options?: NewQueueOptions & ChangeOptions): Promise<void>;
  resume(queue: string, options?: NewQueueOptions & ChangeOptions): Promise<void>;

  readonly dead: DeadLetters;
  /** One change to all jobs that match. */
  readonly bulk: BulkOperations;
  readonly schedules: Schedules;
  /** Live workers in all processes. `internal` adds those that servers start for webhooks, bulk operations and `http:request`. */
  workers(options?: { readonly internal?: boolean | undefined }): Promise<WorkerInfo[]>;
  /** Types that live workers handle, with the JSON Schemas of their payloads, as far as workers publish them. */
  types(options?: { readonly internal?: boolean | undefined }): Promise<HandledType[]>;
  /** Workers that stopped or were lost in the last 24 hours, as they last reported: the latest 200, the last to end first. */
  formerWorkers(options?: { readonly internal?: boolean | undefined }): Promise<FormerWorker[]>;

  /**
   * Events of all processes as they happen. They are news, not history: a `gap` says that some were missed. Above 1,000 events a second, a process
   * sends a `gap` with their number and `counts` instead of single events. Over a server, a broken stream continues where it was.
   */
  events(options?: { readonly signal?: AbortSignal | undefined }): AsyncIterable<Event>;

  /** Starts a worker in this process. */
  work(handlers: Handlers, options?: WorkOptions): WorkerHandle;
  /** @internal What our own workers and servers use: claim, extend, report. Input is not checked: a server checks what comes from outside. */
  readonly leases: Leases;

  /**
   * Stops workers (within `grace`, by default each within its own) and upkeep, then frees the store. Waits for calls in progress until the grace
   * ends (30 s by default) and 1 s longer; what the store has not answered by then fails. May be called twice.
   */
  close(options?: { readonly grace?: Duration | undefined }): Promise<void>;

  /** @internal */
  readonly [MARKS]?: Marks;
}

/** What a worker needs of a client. */
export interface WorkerClient {
  readonly leases: Leases;
  readonly get: Client["get"];
}
