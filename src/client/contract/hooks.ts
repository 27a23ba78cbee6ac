/** Types of hooks and middleware. Both belong to one process: they see the jobs that this client enqueues and runs. */
import type { JOB_EVENTS } from "../../core/hook-events.ts";
import type { Job } from "../../core/job.ts";
import type { Trouble } from "../../core/trouble.ts";
import type { EnqueueResult, JobInput } from "./jobs.ts";
import type { Context } from "./work.ts";

/**
 * A job as listeners get it: as this attempt left it. Left out is what only the store knows; `client.get` has it. `durationMs` is null if the
 * worker did not measure the attempt, such as after a cancel.
 */
export type HeardJob<Payload = unknown, Result = unknown> = Omit<
  Job<Payload, Result>,
  "progress" | "updatedAt" | "scheduledAt" | "completedAt"
>;

/** What a client tells about jobs that its workers run, by event. All but `started` and `lost` fire once the store has accepted it. */
export interface JobEvents extends Record<(typeof JOB_EVENTS)[number], [job: HeardJob, error: Error] | [job: HeardJob]> {
  /** An attempt begins. */
  readonly started: [job: HeardJob];
  /** The job completed; its `result` is the stored JSON. */
  readonly completed: [job: HeardJob];
  /** An attempt failed, and an automatic retry follows. `error` is what the handler threw; anything but an Error is the `cause` of one. */
  readonly failed: [job: HeardJob, error: Error];
  /** The job failed for good: its status is `dead`, or `failed` in a queue without dead letters. `error` as with `failed`. */
  readonly dead: [job: HeardJob, error: Error];
  /** Somebody cancelled the job while it ran. */
  readonly cancelled: [job: HeardJob];
  /**
   * The lease of an attempt ran out or passed to another worker, so its outcome does not count. Told by the process that ran it, with the job as
   * it was then; if that process died, by the one whose upkeep found out, with the job as it is now.
   */
  readonly lost: [job: HeardJob, error: Error];
  /** The handler threw `Snooze`: the job runs later. */
  readonly snoozed: [job: HeardJob];
  /** The handler reached a durable sleep, wait or call: the job goes on when that has ended. */
  readonly suspended: [job: HeardJob];
  /** The job was given back unfinished, at a shutdown. */
  readonly released: [job: HeardJob];
}

/** What a worker tells: about its jobs, and about itself. */
export interface WorkerEvents extends JobEvents {
  /** The store answered its first claim. */
  readonly ready: [];
  /** It has nothing to run, and its last claim found nothing. Fires again after it has run something. */
  readonly idle: [];
  /** `stop` was called, or its client closes. It claims nothing more. */
  readonly stopping: [];
  readonly stopped: [];
  /** A problem outside of jobs, which `onTrouble` of the client gets, too. */
  readonly trouble: [trouble: Trouble];
}

/** Called with what happened. What it returns does not matter; if it throws or rejects, `onTrouble` is told, and nothing else happens. */
export type Listener<About extends readonly unknown[]> = (...about: About) => unknown;

/** A job that is about to be enqueued. Its options are those of the call, of its definition and of the client's defaults, in this order. */
export interface EnqueueItem extends JobInput {
  readonly type: string;
  readonly payload: unknown;
}

/**
 * Wraps enqueue: gets the jobs of one call (one for `enqueue`, all for `enqueueMany`), hands them or changed ones to `next`, and returns its
 * results, one for each job in order. If it throws, the call fails.
 */
export type EnqueueMiddleware = (
  jobs: readonly EnqueueItem[],
  next: (jobs: readonly EnqueueItem[]) => Promise<EnqueueResult[]>,
) => Promise<EnqueueResult[]>;

/**
 * Wraps the handlers of a client: gets the payload, hands it or a changed one to `next`, and returns its result or another. It is part of the
 * attempt: its time counts towards the timeout, `ctx.signal` aborts it, and if it throws, the attempt fails as if the handler had thrown.
 */
export type HandleMiddleware = (payload: unknown, ctx: Context, next: (payload: unknown) => Promise<unknown>) => unknown;

/** What `client.use` takes: code around each enqueue, around each handler, or both. */
export interface Middleware {
  readonly enqueue?: EnqueueMiddleware | undefined;
  readonly handle?: HandleMiddleware | undefined;
}

/** @internal What a worker needs of its client. */
export interface Hooks {
  /** The first is the outermost. */
  readonly middleware: readonly HandleMiddleware[];
  hears(event: keyof JobEvents): boolean;
  emit<Name extends keyof JobEvents>(event: Name, ...about: JobEvents[Name]): void;
}
