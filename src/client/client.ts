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
import type { CreatedFlow, FlowOptions, Flows, MembersOf } from "./contract/flows.ts";
import type { JobEvents, Listener, Middleware } from "./contract/hooks.ts";
import type { Limits } from "./contract/limits.ts";
import type {
  DefinitionOf,
  EnqueuedJob,
  EnqueueOptions,
  JobCount,
  JobFilter,
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
import type { ByName, HandlersOf, ItemsOf, JobList, JobName, JobsByName, ResultsOf, ToldOr } from "./contract/registered-jobs.ts";
import type { Schedules } from "./contract/schedules.ts";
import type { JobStep, SignalAnswer, SignalOptions } from "./contract/steps.ts";
import type { FormerWorker } from "../core/worker-entry.ts";
import type { Leases, WorkerHandle, WorkerInfo, WorkOptions } from "./contract/work.ts";

export type * from "./contract/jobs.ts";
export type * from "./contract/queues.ts";
export type * from "./contract/bulk.ts";
export type * from "./contract/flows.ts";
export type * from "./contract/hooks.ts";
export type * from "./contract/limits.ts";
export type * from "./contract/registered-jobs.ts";
export type * from "./contract/schedules.ts";
export type * from "./contract/steps.ts";
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

/** The client behind one with registered jobs. Only a server that is mounted on it uses it. */
export const UNLISTED: unique symbol = Symbol("unlisted");
/** On the context of a handler: whether it was aborted. To read `signal` would count as use of it. */
export const IS_ABORTED: unique symbol = Symbol("isAborted");
/** On the context of a handler: tells that its job is one of many in one call, so it cannot be suspended. */
export const IS_OF_MANY: unique symbol = Symbol("isOfMany");

/** How long to wait for the end of a job, and a signal that ends the waiting. */
export interface WaitOptions {
  readonly timeout?: Duration | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Everything that producers, workers and operators can do. `Jobs` are those that `connect` registered, if it did. */
export interface Client<out Jobs extends JobsByName = JobsByName> extends AsyncDisposable {
  /** Adds a job; resolves once the store has committed it. If the idempotency key is known, returns the stored job with `created` false. */
  enqueue<Payload = ByName, Result = ByName, Name extends JobName<Jobs> = JobName<Jobs>>(
    type: Name | DefinitionOf<Payload, Result>,
    ...payloadAndOptions: PayloadAndOptions<ToldOr<Jobs[Name]["payload"], Payload>, EnqueueOptions>
  ): Promise<EnqueuedJob<ToldOr<Jobs[Name]["payload"], Payload>, ToldOr<Jobs[Name]["result"], Result>>>;

  /** Adds many jobs and answers for each, in order; an error concerns its job only. Of equal keys the first wins. With `tx` the first error throws. */
  enqueueMany<const Kinds extends readonly [] | readonly (JobName<Jobs> | JobList[number])[]>(
    jobs: ItemsOf<Jobs, Kinds>,
    options?: { readonly tx?: unknown },
  ): Promise<ResultsOf<Jobs, Kinds>>;

  /**
   * Creates a flow: jobs that run after each other, `after` the members that they name. All of it is created, or nothing. Resolves once it is
   * committed.
   */
  flow<const Kinds extends readonly [] | readonly (JobName<Jobs> | JobList[number])[]>(
    members: MembersOf<Jobs, Kinds>,
    options?: FlowOptions,
  ): Promise<CreatedFlow>;
  /** Show, cancel and retry flows. */
  readonly flows: Flows;

  /**
   * The job, or null. With its definition, payload and result have the types of the definition, and a job of another type is refused with
   * `invalid_input`. Nothing checks the values again: they are stored JSON, in which a Date is a string.
   */
  get<Payload, Result>(definition: DefinitionOf<Payload, Result>, id: string): Promise<Job<Payload, Result> | null>;
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
  /** The steps of a job that does durable work, in the order in which they began. */
  steps(id: string): Promise<JobStep[]>;
  logs(id: string, page?: { readonly after?: number | undefined; readonly limit?: number | undefined }): Promise<LogLine[]>;
  /** Resolves with the job once it has ended; fails with `wait_timeout` after `timeout` (default 30 s). Takes a definition as `get` does. */
  wait<Payload, Result>(definition: DefinitionOf<Payload, Result>, id: string, options?: WaitOptions): Promise<Job<Payload, Result>>;
  wait<Payload = unknown, Result = unknown>(id: string, options?: WaitOptions): Promise<Job<Payload, Result>>;

  /**
   * Cancels a waiting or running job. The signal of a running handler aborts in any process. Cancelling a cancelled job succeeds, so a repeat is
   * safe; a job that ended otherwise is refused with `wrong_status`.
   */
  cancel(id: string, options?: ChangeOptions): Promise<JobSummary>;
  /**
   * Sends a signal to a job that waits for it with `ctx.waitFor(name)`, or will. It is stored: one that comes early is kept. The first signal of a name
   * counts, later ones are not accepted. A job that has ended refuses it with `wrong_status`.
   */
  signal(id: string, name: string, payload?: unknown, options?: SignalOptions): Promise<SignalAnswer>;
  /**
   * Retries a dead, failed or cancelled job: it starts a new life. A job with steps goes on where it died; with `restart`, it forgets them. With `payload`, the same job runs with that payload; with `now`, also starts a
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
  readonly schedules: Schedules<Jobs>;
  /** Limits of single limit keys, and how much of all limits is used. */
  readonly limits: Limits;
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

  /**
   * Calls a listener when something happens to a job that a worker of this client runs: `client.on("dead", (job, error) => …)`. Returns a
   * function that ends it. `events` has the news of all processes instead. Internal jobs are left out.
   */
  on<Name extends keyof JobEvents>(event: Name, listener: Listener<JobEvents[Name]>): () => void;

  /**
   * Puts code around enqueue and around handlers, for tracing, tenants or encryption. The first used is the outermost. It applies from now on:
   * to jobs that this client enqueues by `enqueue` and `enqueueMany`, and to attempts that its workers start. It does not see jobs that
   * schedules make, members of flows, jobs that handlers call, payloads that `retry` edits, nor internal jobs.
   */
  use(middleware: Middleware): void;

  /**
   * The metrics of this process as text for Prometheus: those of the store, as every process sees them, and those of the jobs that its workers
   * run, which are counted from the first call on.
   */
  metrics(): Promise<string>;

  /** Starts a worker in this process. */
  work(handlers: HandlersOf<Jobs>, options?: WorkOptions): WorkerHandle;
  /** @internal What our own workers and servers use: claim, extend, report. Input is not checked: a server checks what comes from outside. */
  readonly leases: Leases;

  /**
   * Stops workers (within `grace`, by default each within its own) and upkeep, then frees the store. Waits for calls in progress until the grace
   * ends (30 s by default) and 1 s longer; what the store has not answered by then fails. May be called twice.
   */
  close(options?: { readonly grace?: Duration | undefined }): Promise<void>;

  /** @internal */
  readonly [MARKS]?: Marks;
  /** @internal */
  readonly [UNLISTED]?: Client;
}

/** A client without hooks, middleware and metrics, which are added to clients of programs; the dashboard has none. */
export type PlainClient = Omit<Client, "on" | "use" | "metrics">;

/** What a worker needs of a client. */
export interface WorkerClient {
  readonly leases: Leases;
  readonly get: (id: string) => Promise<Job | null>;
  readonly flows: Pick<Flows, "outcomes" | "add">;
}
