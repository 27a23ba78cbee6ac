/** Types for enqueueing, finding and listing jobs. */
import type { AttemptOption } from "../../core/attempt-options.ts";
import type { CoalesceOptions, CoalesceOutcome } from "../../core/coalesce.ts";
import type { MillraceError } from "../../core/errors.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Job, JobSummary, PriorityLevel, Status } from "../../core/job.ts";
import type { Sort } from "../../core/list-order.ts";
import type { JobDefinition } from "./work.ts";

/** Options of enqueue. */
export interface EnqueueOptions extends JobOptions, GivenId, OnlyDefaults, Coalescing {
  /**
   * Your open transaction on this store: the job exists if and when you commit. SQLite: a `DatabaseSync` of `node:sqlite`. PostgreSQL: a client of
   * pg, a transaction of Drizzle, Kysely, Knex, Prisma, TypeORM or postgres.js, or any `QueryTransaction`.
   */
  readonly tx?: unknown;
}

/** For jobs of which one is enough. */
export interface Coalescing {
  /** Merges this job into the one of the same key that waits: debounce, throttle, or once more after the one that runs. */
  readonly coalesce?: CoalesceOptions | undefined;
}

/** For clients that may have to send a call again before its answer is known; others use idempotency keys. */
export interface GivenId {
  /** A UUIDv7 with the partition of its queue. Sent again, it means the same job. */
  readonly id?: string | undefined;
}

/** For clients that send their own defaults with a job. */
export interface OnlyDefaults {
  /** Options that are set here only as defaults: those of the queue come before them. */
  readonly unset?: readonly AttemptOption[] | undefined;
}

/** What enqueue takes after the type. The payload is optional if it may be undefined. */
export type PayloadAndOptions<Payload, Options> = undefined extends Payload
  ? [payload?: NoInfer<Payload>, options?: Options]
  : [payload: NoInfer<Payload>, options?: Options];

/** A payload as a field. It is optional if it may be undefined. */
export type PayloadField<Payload> = undefined extends Payload ? { readonly payload?: Payload } : { readonly payload: Payload };

/** A definition, by what a caller knows of it: the payload that it gives, and the result that it gets. */
export type DefinitionOf<Input, Result = unknown> = JobDefinition<Input, any, Result, any, any>; // oxlint-disable-line no-explicit-any -- what handlers get and return does not matter to a caller

/** One item of enqueueMany. `definition.job(payload, options)` makes one with a typed payload. */
export interface JobInput<Name extends string = string> extends JobOptions, GivenId, OnlyDefaults, Coalescing {
  readonly type: Name | JobDefinition<unknown>;
  readonly payload?: unknown;
}

/** An item of enqueueMany with a definition, as `definition.job(payload, options)` makes it. */
export type DefinedJob<Input, Result = unknown> = JobOptions &
  GivenId & { readonly type: DefinitionOf<Input, Result> } & PayloadField<Input>;

/** The job that enqueue returns. Its payload is the stored JSON, in which a Date is a string. */
export type EnqueuedJob<Payload = unknown, Result = unknown> = Job<Payload, Result> & {
  /** False if the idempotency key was known: then this is the job stored under it. */
  readonly created: boolean;
  /** True if only the key of that job is left: then only its id, type, queue and status are known. */
  readonly pruned: boolean;
  /** With `coalesce`: whether this job is new, has got the payload of this call, or is as before. */
  readonly outcome?: CoalesceOutcome | undefined;
};

/** The result for one job of many: the job, or its error. */
export type EnqueueResult<Payload = unknown, Result = unknown> =
  | { readonly ok: true; readonly job: EnqueuedJob<Payload, Result> }
  | { readonly ok: false; readonly error: MillraceError };

/** Status filters also accept the names of other queues, in any case. `failed` matches failed and dead. */
export type StatusFilter =
  | Status
  | "queued"
  | "processing"
  | "active"
  | "done"
  | "dead_letter"
  | "dead_lettered"
  | "failed_only"
  | (string & {});

/** Selects jobs. Absent fields do not matter. */
export interface JobFilter {
  readonly status?: StatusFilter | readonly StatusFilter[] | undefined;
  readonly type?: string | undefined;
  readonly queue?: string | undefined;
  /** Include internal jobs: webhook deliveries and bulk operations. `type` and `queue` can then name them: `millrace:webhook`, `millrace:bulk`. */
  readonly internal?: boolean | undefined;
  /** A level (critical: 20 and more, high: 10..19, default: 0..9, low: below 0) or an exact priority. */
  readonly priority?: PriorityLevel | number | undefined;
  readonly tag?: string | undefined;
  /** Jobs with this limit key, in any queue. */
  readonly limitKey?: string | undefined;
  /** The members of this flow. */
  readonly flow?: string | undefined;
  /**
   * Jobs whose payload has these fields: `{ customer: "globex" }`, `{ "customer.id": 42 }`; at most 4. With `queue`, a field that the queue
   * declares as a facet is found by an index, among the jobs that were enqueued since it was declared. Any other field is searched like `q`.
   */
  readonly where?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** Jobs with an error of this group: see `dead.groups`. */
  readonly group?: string | undefined;
  /**
   * A text in the id, type, tags, idempotency key, error name or error message, or in the first 16 KiB of the payload's JSON; 1 to 200 characters.
   * A to Z match in either case. A whole id finds its job at once; any other text is searched in at most 10,000 jobs a page.
   */
  readonly q?: string | undefined;
  /** Created at or after this time. */
  readonly from?: Date | string | number | undefined;
  /** Created before this time. */
  readonly to?: Date | string | number | undefined;
  /** Ended at or after this time. A job that has not ended does not match. */
  readonly endedFrom?: Date | string | number | undefined;
  /** Ended before this time. A job that has not ended does not match. */
  readonly endedTo?: Date | string | number | undefined;
}

/** A filter, and which page of its jobs. */
export interface ListJobs extends JobFilter {
  /** 1..1000, default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | null | undefined;
  /**
   * `created` (default): newest created first. `state`: in the order of the wanted statuses, so that a page is full at once, unless many jobs
   * of another status share its index. Only completed, cancelled, failed and dead: latest end first. Only pending: next in line first. Only
   * scheduled and retrying: soonest due first. Any other statuses, or none: newest created first.
   */
  readonly sort?: Sort | undefined;
}

/** A page of jobs. */
export interface JobPage {
  readonly jobs: JobSummary[];
  readonly cursor: string | null;
}

/** How many jobs match. */
export interface JobCount {
  readonly count: number;
  /** Whether there may be more, because not all jobs were looked at. */
  readonly isCapped: boolean;
}
