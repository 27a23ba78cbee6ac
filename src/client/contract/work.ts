/** Types of handlers, workers and leases. */
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Job, Progress } from "../../core/job.ts";
import type { BodyTexts } from "../../core/json-text.ts";
import type { LeaseAnswer } from "../../core/lease.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import type { JsonSchema, SchemaText } from "../../core/payload-schema.ts";
import type { StandardSchemaV1 } from "../../core/standard-schema.ts";
import type { NewStep, Parent, StepRecord } from "../../core/steps.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { FlowContext } from "./flows.ts";
import type { Listener, WorkerEvents } from "./hooks.ts";
import type { DefinedJob, PayloadAndOptions } from "./jobs.ts";
import type { DurableContext } from "./steps.ts";

/**
 * A job type with its schemas and options, made by defineJob. Producers give the input of the payload's schema, handlers get its output
 * (`Payload`). Handlers return the input of the result's schema (`Returned`), and its output is stored (`Result`).
 */
export interface JobDefinition<Input, Payload = Input, Result = unknown, Type extends string = string, Returned = Result> {
  readonly type: Type;
  readonly input: StandardSchemaV1<Input, Payload> | undefined;
  readonly output: StandardSchemaV1<Returned, Result> | undefined;
  /** What workers publish instead of the JSON Schema that `input` makes of itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Defaults for all jobs of this type. */
  readonly options: JobOptions;
  /** The delay before the n-th retry after an error of the handler, for jobs that have no other backoff. */
  readonly backoff: Backoff | undefined;
  /** Adds the handler. */
  handle<Value extends Returned>(handler: Handler<Payload, Value, Returned>): HandledJob<Value>;
  /** Adds a handler that gets many jobs at once. Each has its own attempt, lease, timeout and outcome, and uses a slot of the worker. */
  handleMany<Value extends Returned>(handler: BatchHandler<Payload, Value, Returned>, options?: BatchOptions): HandledJob<Value>;
  /** An item for enqueueMany. */
  job(...payloadAndOptions: PayloadAndOptions<Input, JobOptions>): DefinedJob<Input, Result>;
}

/** The delay before the n-th retry of a job, after this error. */
export type Backoff = (retry: number, error: unknown, job: Job) => Duration;

/**
 * Runs a job. What it returns is the result; if it throws, the attempt fails. `Output` is what `ctx.complete` takes: what the definition says of its
 * result.
 */
export type Handler<Input = unknown, Result = unknown, Output = unknown> = (
  payload: Input,
  ctx: Context<Input, Output>,
) => Result | Completed | Promise<Result | Completed>;

declare const COMPLETED: unique symbol;

/** What `ctx.complete` resolves to. A handler may return it instead of a result, which the job then has already. At run time it is undefined. */
export type Completed = void & { readonly [COMPLETED]: true };

/**
 * Runs many jobs of a type at once. It returns a list with an outcome for each job, in their order, or nothing if all are done. An outcome is the
 * result, or an error as a single handler throws it: `new Error(…)`, `RetryAfter`, `Snooze`, `HoldKey` or `Discard`. If it throws, all jobs that have no
 * outcome yet have failed.
 */
export type BatchHandler<Payload = unknown, Result = unknown, Output = unknown> = (
  jobs: readonly Job<Payload>[],
  ctx: BatchContext<Output>,
) => BatchOutcomes<Result> | Promise<BatchOutcomes<Result>>;

/** What a batch handler returns. */
export type BatchOutcomes<Result = unknown> = readonly (Result | Completed | Error)[] | void;

/** Which jobs come together. */
export interface BatchOptions {
  /** The most jobs at once: 1 to 1,000, default 100. There are never more than the worker has slots: see its `concurrency`. */
  readonly size?: number | undefined;
  /** How long to wait for more jobs, at most 5 s. It counts as run time of the jobs. Default: takes what was claimed at once. */
  readonly wait?: Duration | undefined;
}

/** What a batch handler gets besides the jobs. */
export interface BatchContext<Output = unknown> {
  /** Aborts when every job of the batch was aborted. */
  readonly signal: AbortSignal;
  /** The context of one job: its own signal, log, progress, `spend`, `complete` and `holdLease`. */
  readonly of: (job: Job) => Context<unknown, Output>;
  /** Ends one job before the others: a result, or an error. What the handler returns or throws later does not change it. */
  readonly settle: (job: Job, outcome?: unknown) => void;
}

/** A definition with its handler: an item of a list of handlers. */
export interface HandledJob<Result = unknown> {
  readonly definition: JobDefinition<unknown>;
  readonly handler: Handler<never, Result>;
}

/** Handlers by type (`"*"` takes any other type), or a list of definitions with handlers. */
export type Handlers = Readonly<Record<string, Handler<any>>> | readonly HandledJob[]; // oxlint-disable-line no-explicit-any -- each handler knows its own payload

/** What a handler gets besides the payload. */
export interface Context<Payload = unknown, Output = unknown> extends DurableContext {
  readonly job: Job<Payload>;
  /** The flow that the job is a member of. */
  readonly flow: FlowContext;
  /** Aborts at the timeout, on cancel, if the lease is lost, shortly before the end of a shutdown, and when the attempt is suspended (reason `Suspended`). */
  readonly signal: AbortSignal;
  /** Adds a line to the job's log. Lines are gathered, cut at 4 KiB, and at most 1,000 of a job are kept. */
  readonly log: (text: string) => void;
  /** Reports progress, 0..100. If you call it often, only the latest is written. */
  readonly progress: (percent: number, note?: string) => void;
  /**
   * Takes more units of the rates of the job's queue and limit key than its `cost`: what the run really used, such as the tokens of a model. It may be
   * called again, and the units add up. They are told with the outcome, whatever it is; a run that is lost or cancelled tells none. Later starts
   * wait until they are paid back. From 0 to 1,000,000,000 in all.
   */
  readonly spend: (units: number) => void;
  /**
   * Completes the job within your open transaction, with the log lines and the progress so far; later ones are written only if you roll back. What
   * the handler returns afterwards is not stored, and it may return what this resolves to. Rejects if the result does not fit `output`.
   */
  readonly complete: Complete<Output>["complete"];
  /**
   * Extends the lease once by this time (1 s to 1 h less the worker's lease) and does not renew it meanwhile. On PostgreSQL, call it before you
   * begin a REPEATABLE READ or SERIALIZABLE transaction that calls `complete`: a renewal in between would make the transaction fail with 40001.
   * Rejects if the lease could not be extended: with `stale_lease` if it is gone; otherwise it is renewed as before.
   */
  readonly holdLease: (time: Duration) => Promise<void>;
}

/** A method, so that a handler whose context is typed as plain `Context` fits a definition with an output: the result is checked at run time. */
interface Complete<Output> {
  complete(result: Output, options: { readonly tx: unknown }): Promise<Completed>;
}

/** Worker options. */
export interface WorkOptions {
  /** How many jobs to run at once: fixed, or between two bounds depending on the work. Default 10. */
  readonly concurrency?: number | { readonly min: number; readonly max: number } | undefined;
  /** Queues to take turns with; an object gives weights. `*` means all queues, also future ones. Default: `default`. */
  readonly queues?: readonly string[] | Readonly<Record<string, number>> | undefined;
  /** How long a claim holds without renewal. Default 30 s. */
  readonly lease?: Duration | undefined;
  /** How long handlers may go on after stop. Default 30 s. */
  readonly grace?: Duration | undefined;
  /**
   * How long a handler may take to end after its signal aborted (timeout, cancel, lost lease). After that its slot is freed, and a timeout is
   * recorded as a failure. From 0 to 1 min; default 5 s. With 0 a retry may overlap a handler that still runs.
   */
  readonly settle?: Duration | undefined;
  /**
   * The version of your application: at most 100 characters. It is shown with the worker, and kept with each error, so that an error group tells
   * with which version it began.
   */
  readonly version?: string | undefined;
  /**
   * Functions by name for jobs with that `backoff`: `{ slowly: (retry, error, job) => retry * 60_000 }`. Jobs with a name that is not here are
   * retried with exponential backoff, and `onTrouble` is told once.
   */
  readonly backoffs?: Readonly<Record<string, Backoff>> | undefined;
  /**
   * How far ahead of its free slots the worker claims while its handlers are fast: at most the jobs that it will start within this time, and never
   * more than 500 in hand. 0 claims for free slots only. At most 1 s; default 20 ms. Over HTTP it is at least two round trips, up to 200 ms.
   */
  readonly ahead?: Duration | undefined;
}

/** A worker that runs in this process. */
export interface WorkerHandle extends AsyncDisposable {
  readonly id: string;
  /** Stops claiming, lets handlers finish, aborts them 5 s before the grace ends (at half of a grace below 10 s), gives back what is left. Rejects with
   * `store_unavailable`, though stopped, if an outcome could not be reported within a second after the grace. May be called twice. */
  stop(options?: { readonly grace?: Duration | undefined }): Promise<void>;
  readonly state: "idle" | "busy" | "stopping" | "stopped";
  /** Slots now, and how many of them are in use. */
  readonly slots: number;
  readonly running: number;
  /** Handlers that ignored their abort and still run. */
  readonly abandoned: number;
  /** False while it cannot claim: too many abandoned handlers, too many outcomes not reported yet, or the store is unreachable. */
  readonly healthy: boolean;
  /** Like `client.on`, for the jobs of this worker, and for what happens to the worker itself. Returns a function that ends it. */
  on<Name extends keyof WorkerEvents>(event: Name, listener: Listener<WorkerEvents[Name]>): () => void;
}

/** A worker in any process, as it last reported. */
export interface WorkerInfo extends WorkerEntry {
  readonly heartbeatAt: number;
}

/** A lease: the job, and the fence under which it was claimed. */
export interface LeaseRef {
  readonly id: string;
  readonly fence: number;
}

/** A claimed job. Give `facts` back with the report: it has what the rules need, and saves a read. */
export interface LeasedJob {
  readonly job: Job;
  readonly fence: number;
  readonly leaseUntil: number;
  readonly facts: LeaseFacts;
  /** Payload and result as stored, if known: for code that passes the job on. */
  readonly texts?: BodyTexts | undefined;
}

/** What the rules need to know about a claimed job when its attempt ends, and what `job:started` tells. */
export interface LeaseFacts {
  readonly type: string;
  readonly queue: string;
  readonly retryCount: number;
  readonly maxRetries: number;
  readonly lostCount: number;
  readonly maxLost: number;
  readonly retryDelayMs: number;
  readonly backoff: string;
  readonly snoozes: number;
  readonly webhookUrl: string | null;
  readonly limitKey: string | null;
  readonly deadLetters: boolean;
  readonly parent: Parent | null;
  /** The attempt that the claim began, for whom, and when. */
  readonly attempt: number;
  readonly workerId: string | null;
  readonly startedAt: number | null;
  /** Whether the job has had a step. Only of facts that were read for a report: those of a claim cannot know. */
  readonly hasSteps?: boolean | undefined;
}

/** Which jobs a worker wants. */
export interface ClaimRequest {
  readonly workerId: string;
  readonly queues: readonly string[];
  readonly types: readonly string[] | "*";
  readonly limit: number;
  readonly leaseMs: number;
  /** Counts the claims of a worker. */
  readonly turn: number;
  /** The answer to the claim of this turn was lost: asks for the jobs that it may have granted. */
  readonly again: boolean;
  /** The worker is on another machine than this client, so its claims must survive a power cut here. Default false. */
  readonly remote?: boolean | undefined;
  /** The jobs may wait in the worker before their handlers are called. Then `job:started` is told with the report. Default false. */
  readonly ahead?: boolean | undefined;
}

/** How an attempt ended. */
export interface Report extends LeaseRef {
  readonly outcome: Outcome;
  readonly facts?: LeaseFacts | undefined;
  /** How long after the claim the handler was called, if the job was claimed ahead and the handler was called. */
  readonly heldMs?: number | undefined;
  /** The handler was never called: a rate gets back what the claim took. */
  readonly unstarted?: true | undefined;
  /** How many units of its rates the attempt used, beyond its cost. */
  readonly spend?: number | undefined;
}

/** What a handler reports while it runs. */
export interface LeaseNote extends LeaseRef {
  readonly type: string;
  readonly queue: string;
  readonly progress: Progress | null;
  readonly lines: readonly string[];
}

/** The answers to reports, in order, and the claimed jobs. */
export interface Exchanged {
  readonly results: LeaseAnswer[];
  readonly jobs: LeasedJob[];
  /** When the next job may start that waits for a rate or a held limit key: claim again then. Null or absent if none waits for time. */
  readonly againInMs?: number | null | undefined;
}

/** The calls that workers use. */
export interface Leases {
  /** Reports ended attempts and claims for free slots in one round trip. */
  exchange(reports: readonly Report[], claim: ClaimRequest | null): Promise<Exchanged>;
  /** Reports within the caller's transaction, after it has written these notes of the same lease there. */
  settleWithin(tx: unknown, report: Report, notes?: readonly LeaseNote[]): Promise<Exclude<LeaseAnswer, "locked">>;
  extend(leases: readonly LeaseRef[], leaseMs: number): Promise<LeaseAnswer[]>;
  note(notes: readonly LeaseNote[]): Promise<LeaseAnswer[]>;
  /** Stores steps of a running job. `full`: it would have too many, or too large ones. */
  keepSteps(keep: LeaseRef & { readonly steps: readonly NewStep[] }): Promise<LeaseAnswer | "full">;
  /** All steps of a running job, after those whose time has come have ended, and the store's now. Null if the lease does not hold. */
  readSteps(
    lease: LeaseRef,
  ): Promise<{ readonly now: number; readonly life?: number | undefined; readonly steps: readonly StepRecord[] } | null>;
  /** A link that sends a signal to the job. `payload` is JSON. */
  signalUrl(id: string, name: string, ttlMs: number, payload: string | null): Promise<string>;
  /** Publishes JSON Schemas of payloads. Which type has which, the worker's entry says. */
  publishSchemas(schemas: readonly SchemaText[]): Promise<void>;
  register(worker: WorkerEntry, ttlMs: number): Promise<void>;
  unregister(workerId: string): Promise<void>;
  /** Calls back when there may be work in a queue, or when leases may have ended. Only a hint: workers must still poll. */
  watch(listener: (hint: { readonly topic: "work"; readonly queue: string } | { readonly topic: "lease" }) => void): () => void;
}
