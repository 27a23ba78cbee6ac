/** THE CLIENT. All that producers, workers and operators can ask for; the same over a store and over HTTP. */
import type { BodyTexts } from "../core/json-text.ts";
import type { StandardSchemaV1 } from "../core/standard-schema.ts";
import type { BulkAction, BulkFailure, BulkStatus } from "../core/bulk.ts";
import type { Duration } from "../core/duration.ts";
import type { ErrorGroup } from "../core/error-tally.ts";
import type { Event } from "../core/event.ts";
import type { Explanation } from "../core/explain.ts";
import type { Attempt, Job, JobSummary, LogLine, PriorityLevel, Progress, Status } from "../core/job.ts";
import type { JobOptions } from "../core/job-options.ts";
import type { LeaseAnswer } from "../core/lease.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import type { MillraceError } from "../core/errors.ts";

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

// ── Jobs ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a caller may say about a job. */
export interface EnqueueOptions extends JobOptions, GivenId {
  /** An open transaction of the caller's own (`node:sqlite` or PostgreSQL) on this store: the job exists if and when it commits. */
  readonly tx?: unknown;
}

/** For clients whose call may have to be sent again before its answer is known; others use keys. */
export interface GivenId {
  /** A UUIDv7 that carries the partition of its queue. Sent again, it is the same job. */
  readonly id?: string | undefined;
}

/** What enqueue takes after the type: the payload may be left out where it may be undefined. */
type PayloadAndOptions<Payload, Options> = undefined extends Payload
  ? [payload?: NoInfer<Payload>, options?: Options]
  : [payload: NoInfer<Payload>, options?: Options];

/** One item of enqueueMany. `definition.job(payload, options)` makes one whose payload the compiler has checked. */
export interface JobInput extends JobOptions, GivenId {
  readonly type: string | JobDefinition<unknown>;
  readonly payload?: unknown;
}

/** The job that enqueue answers with. Its payload is the stored JSON: a Date that was given is a text in it. */
export type EnqueuedJob<Payload = unknown> = Job<Payload> & {
  /** False when an idempotency key was known and this is the job that was stored under it. */
  readonly created: boolean;
  /** True when only the key of that job is left: id, type, queue and status are then all that is known of it. */
  readonly pruned: boolean;
};

/** The answer for one job of many: the job, or that one's error. */
export type EnqueueResult = { readonly ok: true; readonly job: EnqueuedJob } | { readonly ok: false; readonly error: MillraceError };

/** Status filters also accept the names of other queues, in any case. `failed` matches failed and dead. */
export type StatusFilter = Status | "queued" | "processing" | "active" | "done" | "dead_letter" | "dead_lettered" | (string & {});

/** Which jobs are meant; what is not named does not matter. */
export interface JobFilter {
  readonly status?: StatusFilter | readonly StatusFilter[] | undefined;
  readonly type?: string | undefined;
  readonly queue?: string | undefined;
  /**
   * Our own jobs, too: webhook deliveries and bulk operations, which are left out otherwise. `type` and `queue` may then name them:
   * `millrace:webhook`, `millrace:bulk`.
   */
  readonly internal?: boolean | undefined;
  /** A level (critical: 20 and more, high: 10..19, default: 0..9, low: below 0) or an exact priority. */
  readonly priority?: PriorityLevel | number | undefined;
  readonly tag?: string | undefined;
  /** With an error of this group: see `dead.groups`. */
  readonly group?: string | undefined;
  /**
   * A text that stands in the id, the type, a tag, the idempotency key, the name or message of the error, or in the first 16 KiB of the payload's
   * JSON; 1 to 200 characters. A to Z match in either case. A whole id finds its job at once; anything else looks through 10,000 jobs a page at most.
   */
  readonly q?: string | undefined;
  /** Created at or after. */
  readonly from?: Date | string | number | undefined;
  /** Created before. */
  readonly to?: Date | string | number | undefined;
}

/** A filter, and which page of what it finds. */
export interface ListJobs extends JobFilter {
  /** 1..1000, default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | null | undefined;
}

/** A page of jobs. */
export interface JobPage {
  readonly jobs: JobSummary[];
  readonly cursor: string | null;
}

/** How many jobs match. */
export interface JobCount {
  readonly count: number;
  /** Whether there may be more: not all were looked at. */
  readonly isCapped: boolean;
}

// ── Queues and figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a queue can be told. */
export interface QueueOptions {
  /** At most so many waiting jobs; null is no bound. */
  readonly capacity?: number | null | undefined;
  /** How much earlier one step of priority counts; null makes priority strict, which is the default. */
  readonly headStart?: Duration | null | undefined;
  /** Whether jobs that failed for good become `dead` (the default) or `failed`. */
  readonly deadLetters?: boolean | undefined;
  /** How long completed and cancelled jobs are kept. */
  readonly retention?:
    | {
        readonly age?: Duration | undefined;
        readonly count?: number | undefined;
        readonly keepAtLeast?: Duration | undefined;
      }
    | undefined;
}

/** What to do about a queue that does not exist yet. */
export interface NewQueueOptions {
  /** Whether it is made; if not, the call is refused with `not_found`, and the error names the queues that exist. */
  readonly create?: boolean | undefined;
}

/** How many jobs are in each status. */
export type StatusCounts = Readonly<Record<Status, number>>;
/** How many jobs count under each level of priority. */
export type LevelCounts = Readonly<Record<PriorityLevel, number>>;

/** A queue: its settings and counts. */
export interface QueueInfo {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: StatusCounts;
  /** Waiting jobs (pending, scheduled, retrying) by level. */
  readonly waiting: LevelCounts;
  /** Jobs that ended completed, failed or dead in the last full minute. */
  readonly rate: number;
  /**
   * For how long the pending job that is due longest has waited; null when none is pending. With a head start of your own it may be a little
   * less on SQLite and Redis, where the first by rank is looked at.
   */
  readonly oldestWaitingMs: number | null;
  readonly capacity: number | null;
  /** Milliseconds; null when priority is strict. */
  readonly headStart: number | null;
  readonly deadLetters: boolean;
  readonly retention: { readonly age: number; readonly count: number; readonly keepAtLeast: number };
}

/** Figures over all queues but our own. */
export interface Stats {
  /** Jobs by status, over all queues. */
  readonly counts: StatusCounts;
  /** Waiting jobs by level, over all queues. */
  readonly waiting: LevelCounts;
  readonly queues: Readonly<Record<string, { readonly counts: StatusCounts; readonly waiting: LevelCounts; readonly paused: boolean }>>;
  /** Jobs completed, and jobs that ended dead or failed, since the store was made. */
  readonly totalProcessed: number;
  readonly totalFailed: number;
  readonly totalEnqueued: number;
  /** Attempts that failed or were lost and were followed by an automatic retry. A retry by hand is not counted. */
  readonly totalRetried: number;
  /** Attempts whose leases ran out: their workers died, or were cut off. */
  readonly totalLost: number;
  readonly deadCount: number;
  /** Without those that servers bring themselves: see `workers`. */
  readonly activeWorkers: number;
  /** Jobs completed, and jobs that ended dead or failed, since midnight UTC. */
  readonly today: { readonly processed: number; readonly failed: number };
  /** Jobs completed a second, over the last full minute. */
  readonly throughput: number;
  /** Run time of the latest attempts (1,000 at least, where there are so many), in milliseconds. */
  readonly latency: Percentiles;
  /** How long those attempts had waited since they were due. */
  readonly wait: Percentiles;
}

/** Which periods, and of which queue. */
export interface HistoryQuery {
  /** Default `hour`. Minutes are kept for 48 hours, hours for longer. */
  readonly step?: "hour" | "minute" | undefined;
  /** The first period is the one that holds this moment. Default: 24 hours, or 60 minutes, up to `to`. */
  readonly from?: Date | string | number | undefined;
  /** The last period is the one before this moment, or that holds it. Default: now. */
  readonly to?: Date | string | number | undefined;
  /** Default: all of them. */
  readonly queue?: string | undefined;
}

/** What was counted in one period. */
export interface HistoryPoint {
  /** When it began. */
  readonly at: number;
  readonly enqueued: number;
  readonly completed: number;
  /** Jobs that ended dead or failed. */
  readonly failed: number;
  /** Attempts that failed or were lost and were followed by an automatic retry. */
  readonly retried: number;
}

/**
 * Times in milliseconds that half, 95 % and 99 % did not exceed; null when nothing was measured. Times are counted in buckets, four to a
 * doubling, and a percentile is the upper bound of its bucket: at most 19 % above the true value, rounded to three digits.
 */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Jobs that failed for good and wait for somebody to act. */
export interface DeadLetters {
  /** Jobs in status `dead`, newest first. */
  list(query?: Omit<ListJobs, "status">): Promise<JobPage>;
  /** Dead letters by error, the most numerous first. Looks at those that died last, 10,000 at most. */
  groups(filter?: Omit<JobFilter, "status" | "group" | "q">): Promise<ErrorGroups>;
  /** Gives all that match a new life; answers how many. */
  retry(filter?: Omit<JobFilter, "status">): Promise<number>;
  /** Deletes all that match; answers how many. */
  purge(filter?: Omit<JobFilter, "status">): Promise<number>;
}

/** Dead letters by error. */
export interface ErrorGroups {
  /** At most 100. */
  readonly groups: readonly ErrorGroup[];
  /** Whether there are more dead letters than were looked at, or more groups than are shown. */
  readonly isCapped: boolean;
}

// ── Bulk operations ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What is to be done to all jobs that match. */
export interface BulkRequest {
  readonly action: BulkAction;
  /**
   * Without `status`: what can be retried (dead and failed; cancelled ones only if they are named), cancelled (waiting and running) or deleted
   * (ended). Jobs that are created after the start are not touched.
   */
  readonly filter?: JobFilter | undefined;
  /** Means every job: a filter that names nothing is refused without it. */
  readonly all?: boolean | undefined;
}

/** How many jobs match. */
export interface BulkPreview {
  readonly action: BulkAction;
  readonly filter: JobFilter;
  /** Exact where status and queue are all that is named; otherwise counting ends at about 10,000. */
  readonly matched: number;
  readonly matchedIsCapped: boolean;
}

/** An operation over many jobs. It is a job itself: `wait` waits for its end. */
export interface BulkOperation extends BulkPreview {
  readonly id: string;
  readonly status: BulkStatus;
  readonly processed: number;
  readonly succeeded: number;
  /** Jobs that changed or vanished before their turn. */
  readonly failed: number;
  /** The first 100 of them. */
  readonly failures: readonly BulkFailure[];
  /** Why the operation as a whole has failed, or is being tried again. */
  readonly error: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}

/** One change for all jobs that match, in batches: it can be watched and stopped, and goes on after a crash. */
export interface BulkOperations {
  /** Counts what would be changed, and changes nothing. */
  preview(request: BulkRequest): Promise<BulkPreview>;
  /** Begins. Worked by this client while it is open, if it is over a store, and by every process that serves. */
  start(request: BulkRequest, options?: GivenId): Promise<BulkOperation>;
  get(id: string): Promise<BulkOperation | null>;
  /** The latest 100, newest first. They are kept as long as jobs are. */
  list(): Promise<BulkOperation[]>;
  /** Ends it after the batch under way: `wrong_status` when it has ended already. What was done stays done. */
  stop(id: string): Promise<BulkOperation>;
}

// ── Schedules ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A schedule as a caller gives it. */
export type ScheduleInput = {
  readonly name: string;
  readonly type: string;
  readonly payload?: unknown;
  /** After downtime: one run for the latest missed tick (default), or none. */
  readonly catchUp?: "one" | "skip" | undefined;
  /** Whether a tick makes a job while the last run is unfinished (default: it does). */
  readonly overlap?: "allow" | "skip" | undefined;
} & ScheduleTiming &
  Pick<JobOptions, "queue" | "priority" | "maxRetries" | "maxLost" | "retryDelay" | "timeout" | "tags" | "meta" | "webhookUrl">;

/** When a schedule fires: a cron in a time zone, or an interval. */
export type ScheduleTiming =
  | { readonly cron: string; readonly timeZone?: string | undefined; readonly every?: undefined }
  | { readonly every: Duration; readonly cron?: undefined; readonly timeZone?: undefined };

/** A schedule as people see it. */
export interface Schedule {
  readonly name: string;
  readonly cron: string | null;
  /** Milliseconds. */
  readonly every: number | null;
  readonly timeZone: string | null;
  readonly type: string;
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly maxRetries: number;
  readonly maxLost: number;
  readonly retryDelay: number;
  readonly timeout: number;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly webhookUrl: string | null;
  readonly catchUp: "one" | "skip";
  readonly overlap: "allow" | "skip";
  readonly paused: boolean;
  readonly nextRunAt: number | null;
  /** The latest tick that was taken. */
  readonly lastRunAt: number | null;
  readonly lastJobId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Recurring jobs, by name. */
export interface Schedules {
  /** Makes or changes the schedule of that name. The same again changes nothing and keeps the next tick. */
  upsert(schedule: ScheduleInput): Promise<Schedule>;
  get(name: string): Promise<Schedule | null>;
  list(): Promise<Schedule[]>;
  /** False when there was none. */
  remove(name: string): Promise<boolean>;
  pause(name: string): Promise<Schedule>;
  /** Ticks that passed while it was paused are not made up for. */
  resume(name: string): Promise<Schedule>;
  /** Makes a job now, beside the ticks. */
  run(name: string): Promise<EnqueuedJob>;
  /** The next ticks, of a stored schedule or of a timing that is only tried. */
  preview(schedule: string | ScheduleTiming, count?: number): Promise<number[]>;
}

// ── Work ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A job type with its payload schema and options, made by defineJob. Callers give the schema's input, handlers get its output. */
export interface JobDefinition<Input, Output = Input> {
  readonly type: string;
  readonly input: StandardSchemaV1<Input, Output> | undefined;
  /** Defaults for each job of this type. */
  readonly options: JobOptions;
  /** The delay before the n-th retry, instead of the stored curve, for failures that the handler reports. */
  readonly backoff: Backoff | undefined;
  /** Joins the definition with the code that runs it. */
  handle<Result>(handler: Handler<Output, Result>): HandledJob<Result>;
  /** An item for enqueueMany. */
  job(...payloadAndOptions: PayloadAndOptions<Input, JobOptions>): JobInput;
}

/** The delay before the n-th retry. */
export type Backoff = (retry: number, error: unknown) => Duration;

/** The code that runs a job. What it returns is the result; what it throws fails the attempt. */
export type Handler<Input = unknown, Result = unknown> = (payload: Input, ctx: Context<Input>) => Result | Promise<Result>;

/** A definition with its handler: what a list of handlers consists of. */
export interface HandledJob<Result = unknown> {
  readonly definition: JobDefinition<unknown>;
  readonly handler: Handler<never, Result>;
}

/** Handlers by type (`"*"`: any type that has none of its own), or a list of handled definitions. */
export type Handlers = Readonly<Record<string, Handler<any>>> | readonly HandledJob[]; // oxlint-disable-line no-explicit-any -- each handler knows its own payload

/** What a handler is given beside its payload. */
export interface Context<Payload = unknown> {
  readonly job: Job<Payload>;
  /** Aborts at the timeout, at a cancel, when the lease is lost, and shortly before the end of a shutdown. */
  readonly signal: AbortSignal;
  /** Writes a line into the job's log. Lines are gathered, cut at 4 KiB, and at most 1,000 a job are kept. */
  readonly log: (text: string) => void;
  /** Says how far the job is, 0..100. Only the latest of many is written. */
  readonly progress: (percent: number, note?: string) => void;
  /** Completes the job inside an open transaction of the handler's own; what the handler returns afterwards is not stored. */
  readonly complete: (result: unknown, options: { readonly tx: unknown }) => Promise<void>;
  /**
   * Extends the lease once, by this time (from 1 s to 1 h less the worker's lease), and does not renew it meanwhile. On PostgreSQL, call it before
   * you begin a transaction in REPEATABLE READ or SERIALIZABLE that calls `complete`: a renewal in between would make the transaction fail with
   * 40001. Rejects when the lease could not be extended: with `stale_lease` when it is gone, else it is renewed as before.
   */
  readonly holdLease: (time: Duration) => Promise<void>;
}

/** What a worker can be told. */
export interface WorkOptions {
  /** How many jobs at once: fixed, or growing and shrinking with the work. Default 10. */
  readonly concurrency?: number | { readonly min: number; readonly max: number } | undefined;
  /** Which queues, taking turns; with weights as an object. `*` is all of them, also those that come later. Default: `default`. */
  readonly queues?: readonly string[] | Readonly<Record<string, number>> | undefined;
  /** How long a claim holds without being renewed. Default 30 s. */
  readonly lease?: Duration | undefined;
  /** How long handlers may go on after stop. Default 30 s. */
  readonly grace?: Duration | undefined;
  /**
   * How long a handler may take to end after its signal aborted (timeout, cancel, lost lease), before its slot is given to others and a timeout
   * is written as a failure. From 0 to 1 min; default 5 s. With 0 a retry may overlap a handler that still runs.
   */
  readonly settle?: Duration | undefined;
}

/** A worker that runs in this process. */
export interface WorkerHandle extends AsyncDisposable {
  readonly id: string;
  /** Stops claiming, lets handlers finish, aborts them 5 s before the grace ends (at half of a grace below 10 s), gives back what is left. Rejects with
   * `store_unavailable`, stopped all the same, when an outcome could not be reported within a second after the grace. May be called twice. */
  stop(options?: { readonly grace?: Duration | undefined }): Promise<void>;
  readonly state: "idle" | "busy" | "stopping" | "stopped";
  /** Slots now, and how many of them are taken. */
  readonly slots: number;
  readonly running: number;
  /** Handlers that ignored their abort and still run. */
  readonly abandoned: number;
  /** False while it cannot claim: too many abandoned handlers, too many outcomes that could not be reported, or the store is away. */
  readonly healthy: boolean;
}

/** A worker in any process, as it last said about itself. */
export interface WorkerInfo extends WorkerEntry {
  readonly heartbeatAt: number;
}

/** A lease: the job, and the fence under which it was claimed. */
export interface LeaseRef {
  readonly id: string;
  readonly fence: number;
}

/** A claimed job. `facts` is what the rules need to know when it is settled; hand it back with the report to spare a look. */
export interface LeasedJob {
  readonly job: Job;
  readonly fence: number;
  readonly leaseUntil: number;
  readonly facts: LeaseFacts;
  /** Payload and result as they are stored, where they are known: for those who hand the job on. */
  readonly texts?: BodyTexts | undefined;
}

/** What the rules need to know of a claimed job when its attempt ends. */
export interface LeaseFacts {
  readonly type: string;
  readonly queue: string;
  readonly retryCount: number;
  readonly maxRetries: number;
  readonly lostCount: number;
  readonly maxLost: number;
  readonly retryDelayMs: number;
  readonly snoozes: number;
  readonly webhookUrl: string | null;
  readonly deadLetters: boolean;
}

/** What a worker would take. */
export interface ClaimRequest {
  readonly workerId: string;
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  readonly leaseMs: number;
  /** Counts the claims of a worker. */
  readonly turn: number;
  /** The answer to the claim of this turn was lost: asks for what it may have granted. */
  readonly again: boolean;
  /** The worker is on another machine than this client: what it holds must survive a power cut here. Default false. */
  readonly remote?: boolean | undefined;
}

/** How an attempt ended. */
export interface Report extends LeaseRef {
  readonly outcome: Outcome;
  readonly facts?: LeaseFacts | undefined;
}

/** What a handler says while it runs. */
export interface LeaseNote extends LeaseRef {
  readonly type: string;
  readonly queue: string;
  readonly progress: Progress | null;
  readonly lines: readonly string[];
}

/** What workers are made of. */
export interface Leases {
  /** Reports ended attempts and claims for free slots in one round trip. */
  exchange(reports: readonly Report[], claim: ClaimRequest | null): Promise<{ results: LeaseAnswer[]; jobs: LeasedJob[] }>;
  /** Reports inside a transaction of the caller's own. */
  settleWithin(tx: unknown, report: Report): Promise<Exclude<LeaseAnswer, "locked">>;
  extend(leases: readonly LeaseRef[], leaseMs: number): Promise<LeaseAnswer[]>;
  note(notes: readonly LeaseNote[]): Promise<LeaseAnswer[]>;
  register(worker: WorkerEntry, ttlMs: number): Promise<void>;
  unregister(workerId: string): Promise<void>;
  /** Calls back when there may be work in a queue, or when leases may have been ended by somebody else. A hint: polling is the truth. */
  watch(listener: (hint: { readonly topic: "work"; readonly queue: string } | { readonly topic: "lease" }) => void): () => void;
}
