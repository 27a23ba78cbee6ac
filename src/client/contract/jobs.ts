/** What is said of jobs: how they are enqueued, found and listed. */
import type { MillraceError } from "../../core/errors.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { Job, JobSummary, PriorityLevel, Status } from "../../core/job.ts";
import type { JobDefinition } from "./work.ts";

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
export type PayloadAndOptions<Payload, Options> = undefined extends Payload
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
