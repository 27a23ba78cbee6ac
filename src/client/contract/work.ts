/** What is said of work: handlers, workers, and the leases that they are made of. */
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Job, Progress } from "../../core/job.ts";
import type { BodyTexts } from "../../core/json-text.ts";
import type { LeaseAnswer } from "../../core/lease.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import type { StandardSchemaV1 } from "../../core/standard-schema.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { JobInput, PayloadAndOptions } from "./jobs.ts";

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
