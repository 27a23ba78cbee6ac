/** Types of handlers, workers and leases. */
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Job, Progress } from "../../core/job.ts";
import type { BodyTexts } from "../../core/json-text.ts";
import type { LeaseAnswer } from "../../core/lease.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import type { JsonSchema, SchemaText } from "../../core/payload-schema.ts";
import type { StandardSchemaV1 } from "../../core/standard-schema.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { JobInput, PayloadAndOptions } from "./jobs.ts";

/** A job type with its payload schema and options, made by defineJob. Producers give the schema's input, handlers get its output. */
export interface JobDefinition<Input, Output = Input> {
  readonly type: string;
  readonly input: StandardSchemaV1<Input, Output> | undefined;
  /** What workers publish instead of the JSON Schema that `input` makes of itself. */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Defaults for all jobs of this type. */
  readonly options: JobOptions;
  /** The delay before the n-th retry after an error of the handler, instead of `retryDelay`. */
  readonly backoff: Backoff | undefined;
  /** Adds the handler. */
  handle<Result>(handler: Handler<Output, Result>): HandledJob<Result>;
  /** An item for enqueueMany. */
  job(...payloadAndOptions: PayloadAndOptions<Input, JobOptions>): JobInput;
}

/** The delay before the n-th retry. */
export type Backoff = (retry: number, error: unknown) => Duration;

/** Runs a job. What it returns is the result; if it throws, the attempt fails. */
export type Handler<Input = unknown, Result = unknown> = (payload: Input, ctx: Context<Input>) => Result | Promise<Result>;

/** A definition with its handler: an item of a list of handlers. */
export interface HandledJob<Result = unknown> {
  readonly definition: JobDefinition<unknown>;
  readonly handler: Handler<never, Result>;
}

/** Handlers by type (`"*"` takes any other type), or a list of definitions with handlers. */
export type Handlers = Readonly<Record<string, Handler<any>>> | readonly HandledJob[]; // oxlint-disable-line no-explicit-any -- each handler knows its own payload

/** What a handler gets besides the payload. */
export interface Context<Payload = unknown> {
  readonly job: Job<Payload>;
  /** Aborts at the timeout, on cancel, if the lease is lost, and shortly before the end of a shutdown. */
  readonly signal: AbortSignal;
  /** Adds a line to the job's log. Lines are gathered, cut at 4 KiB, and at most 1,000 of a job are kept. */
  readonly log: (text: string) => void;
  /** Reports progress, 0..100. If you call it often, only the latest is written. */
  readonly progress: (percent: number, note?: string) => void;
  /** Completes the job within your open transaction; what the handler returns afterwards is not stored. */
  readonly complete: (result: unknown, options: { readonly tx: unknown }) => Promise<void>;
  /**
   * Extends the lease once by this time (1 s to 1 h less the worker's lease) and does not renew it meanwhile. On PostgreSQL, call it before you
   * begin a REPEATABLE READ or SERIALIZABLE transaction that calls `complete`: a renewal in between would make the transaction fail with 40001.
   * Rejects if the lease could not be extended: with `stale_lease` if it is gone; otherwise it is renewed as before.
   */
  readonly holdLease: (time: Duration) => Promise<void>;
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

/** What the rules need to know about a claimed job when its attempt ends. */
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
}

/** How an attempt ended. */
export interface Report extends LeaseRef {
  readonly outcome: Outcome;
  readonly facts?: LeaseFacts | undefined;
}

/** What a handler reports while it runs. */
export interface LeaseNote extends LeaseRef {
  readonly type: string;
  readonly queue: string;
  readonly progress: Progress | null;
  readonly lines: readonly string[];
}

/** The calls that workers use. */
export interface Leases {
  /** Reports ended attempts and claims for free slots in one round trip. */
  exchange(reports: readonly Report[], claim: ClaimRequest | null): Promise<{ results: LeaseAnswer[]; jobs: LeasedJob[] }>;
  /** Reports within the caller's transaction. */
  settleWithin(tx: unknown, report: Report): Promise<Exclude<LeaseAnswer, "locked">>;
  extend(leases: readonly LeaseRef[], leaseMs: number): Promise<LeaseAnswer[]>;
  note(notes: readonly LeaseNote[]): Promise<LeaseAnswer[]>;
  /** Publishes JSON Schemas of payloads. Which type has which, the worker's entry says. */
  publishSchemas(schemas: readonly SchemaText[]): Promise<void>;
  register(worker: WorkerEntry, ttlMs: number): Promise<void>;
  unregister(workerId: string): Promise<void>;
  /** Calls back when there may be work in a queue, or when leases may have ended. Only a hint: workers must still poll. */
  watch(listener: (hint: { readonly topic: "work"; readonly queue: string } | { readonly topic: "lease" }) => void): () => void;
}
