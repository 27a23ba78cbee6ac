import type { Facets } from "./facets.ts";
import { callerOf, coalesceOf, type CoalesceRef, declaredFacets, type FlowRef, flowOf } from "./flow-parent.ts";
import { withTexts } from "./json-text.ts";
import type { MemberText } from "./flow.ts";
import type { Notice, Parent } from "./steps.ts";

/** All statuses of a job. lifecycle.ts has the ways from one to another. */
export const STATUSES = ["scheduled", "pending", "running", "retrying", "blocked", "completed", "failed", "dead", "cancelled"] as const;
/** Where a job is in its life. */
export type Status = (typeof STATUSES)[number];

/** Jobs that count against a queue's capacity. Blocked jobs do not: they wait for something other than time or a worker. */
export const WAITING: readonly Status[] = ["scheduled", "pending", "retrying"];
/** Jobs that do not change again unless somebody acts. */
export const TERMINAL: readonly Status[] = ["completed", "failed", "dead", "cancelled"];

/** Those of them that retention removes. The others stay until someone acts. */
export const KEPT_FOR_A_TIME: readonly Status[] = ["completed", "cancelled"];

export function isTerminal(status: Status): boolean {
  return TERMINAL.includes(status);
}

/** Names for the usual priorities. */
export const PRIORITY_LEVELS = { low: -10, default: 0, high: 10, critical: 20 } as const;
/** The name of a usual priority. */
export type PriorityLevel = keyof typeof PRIORITY_LEVELS;
export const MIN_PRIORITY = -100;
export const MAX_PRIORITY = 100;

/** The level to which a priority belongs. */
export function levelOf(priority: number): PriorityLevel {
  if (priority >= PRIORITY_LEVELS.critical) return "critical";
  if (priority >= PRIORITY_LEVELS.high) return "high";
  return priority >= PRIORITY_LEVELS.default ? "default" : "low";
}

/** Defaults of a job. They are here because a client in a browser cannot load job-options.ts. Times in milliseconds. */
export const USUAL_JOB = { maxRetries: 3, retryDelay: 1000, timeout: 30_000, backoff: "exponential" } as const;

/** The default of `maxLost`. A job without retries must not run twice unless its caller asked for it. */
export function usualMaxLost(maxRetries: number): number {
  return maxRetries === 0 ? 0 : 3;
}

/** Why an attempt did not succeed, as its worker reports it. */
export interface AttemptError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** `expired`: it did not start in time. */
  readonly kind: "error" | "timeout" | "lost" | "cancelled" | "expired";
  /** The version of the application that the worker ran; absent if it has none. */
  readonly version?: string | undefined;
}

/** Why an attempt did not succeed, as it is stored. */
export interface JobError extends AttemptError {
  /** Equal for errors that differ only in numbers, ids and quoted texts: see error-group.ts. */
  readonly group: string;
}

/** How far a running handler is, by its own account. */
export interface Progress {
  /** 0..100 */
  readonly percent: number;
  readonly note: string | null;
}

/** A line that a handler wrote with `ctx.log`. */
export interface LogLine {
  /** Counts up from 1 within the job. */
  readonly number: number;
  readonly at: number;
  readonly attempt: number;
  readonly text: string;
}
export const MAX_LOG_LINES = 1000;
export const MAX_LOG_LINE_BYTES: number = 4 * 1024;
/** The longest name of an error, and the longest of its other texts. */
export const MAX_ERROR_NAME_LENGTH = 256;
export const MAX_ERROR_TEXT_LENGTH: number = 64 * 1024;

/** One attempt in a job's history. A running attempt has no end yet. */
export interface Attempt {
  readonly number: number;
  readonly workerId: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly durationMs: number | null;
  /** How this attempt ended. After `failed` the job may run again. A lost attempt is `failed` with an error of kind `lost`. */
  readonly outcome: "running" | "completed" | "failed" | "cancelled";
  readonly error: JobError | null;
}

/** The outcome of a job's latest attempt, as far as its status shows it. */
export function attemptOutcome(status: Status): Attempt["outcome"] {
  return status === "running" || status === "completed" || status === "cancelled" ? status : "failed";
}

/** A job as stores keep it: JSON as text, times in milliseconds since the epoch by the store's clock. */
export interface JobRecord {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: Status;
  readonly payload: string;
  readonly maxRetries: number;
  readonly retryCount: number;
  /** How often it runs again in one life after its lease ran out. Such an attempt is lost, and costs no retry. */
  readonly maxLost: number;
  /** Attempts of this life that were lost, including the last one: may be `maxLost` + 1. */
  readonly lostCount: number;
  /** Attempts started. Release and snooze give theirs back. */
  readonly attempt: number;
  readonly snoozes: number;
  readonly retryDelayMs: number;
  /** How the delay grows: see retry.ts. */
  readonly backoff: string;
  readonly timeoutMs: number;
  readonly result: string | null;
  readonly error: JobError | null;
  readonly progress: Progress | null;
  readonly idempotencyKey: string | null;
  readonly keyTtlMs: number;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: string | null;
  /** Values of the payload fields that its queue declares: see facets.ts. */
  readonly facets: Facets | null;
  /** Jobs with a limit key share the limits of that key in their queue, and take turns with other keys: see limits.ts. */
  readonly limitKey: string | null;
  /** How many units of a rate its start takes. */
  readonly cost: number;
  /** Not started so long after it was due, it is cancelled instead; null if it may start at any time. */
  readonly startWithinMs: number | null;
  /** Whether it may have steps: see steps.ts. */
  readonly hasSteps: boolean;
  /** The job that called it, or the flow that it is a member of. */
  readonly parent: Parent | null;
  /** The worker of the latest attempt; shown only while the job runs. */
  readonly workerId: string | null;
  readonly fence: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When it is or was due: the time of creation for an immediate job. */
  readonly runAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  /** How long the latest ended attempt ran, as its worker measured it. */
  readonly runMs: number | null;
}

/** A record as lists return it: without payload, result and error stack. */
export type JobSummaryRecord = Omit<JobRecord, "payload" | "result">;

/** A job as clients return it. Times are milliseconds since the epoch; what is not set is null. */
export interface Job<Payload = unknown, Result = unknown> extends JobSummary {
  readonly payload: Payload;
  readonly result: Result | null;
}

/** What lists show of a job: everything but payload, result and stack. */
export interface JobSummary {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: Status;
  readonly maxRetries: number;
  readonly retryCount: number;
  /** How often it runs again in one life after its worker died or was cut off. */
  readonly maxLost: number;
  /** Attempts of this life that were lost. */
  readonly lostCount: number;
  readonly attempt: number;
  /** Delay before the first retry, in milliseconds. */
  readonly retryDelay: number;
  /** How the delay grows: `exponential` doubles it with each retry, `fixed` keeps it; any other name is a function of the workers. */
  readonly backoff: string;
  /** How many milliseconds an attempt may take; 0 for no limit. */
  readonly timeout: number;
  readonly error: JobError | null;
  readonly progress: Progress | null;
  readonly idempotencyKey: string | null;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  /** Values of the payload fields that its queue declares as facets. */
  readonly facets: Facets | null;
  /** Jobs with a limit key share the limits of that key in their queue, and take turns with other keys. */
  readonly limitKey: string | null;
  /** How many units of a rate its start takes. */
  readonly cost: number;
  /** Whether it may have steps: results, sleeps, waits and calls that its handler keeps. */
  readonly hasSteps: boolean;
  /** The job and the step that called it, if one did. */
  readonly parent: Parent | null;
  /** The flow that it is a member of, and its name there. */
  readonly flow: FlowRef | null;
  /** Its coalescing key. */
  readonly coalesce: CoalesceRef | null;
  /** How many milliseconds after its due time it may start at the latest; null for no limit. */
  readonly startWithin: number | null;
  /** The worker that runs it now. */
  readonly workerId: string | null;
  readonly fence: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When it is or was due, if not at its creation. */
  readonly scheduledAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  /** How long the latest ended attempt ran. */
  readonly durationMs: number | null;
}

export function toJob(record: JobRecord): Job {
  const summary = toJobSummary(record) as { -readonly [K in keyof Job]: Job[K] };
  summary.payload = JSON.parse(record.payload) as unknown;
  summary.result = record.result === null ? null : (JSON.parse(record.result) as unknown);
  return summary;
}

/** Like `toJob`, and remembers the texts of payload and result. */
export function toJobWithTexts(record: JobRecord): Job {
  return withTexts(toJob(record), record.payload, record.result);
}

export function toJobSummary(record: JobSummaryRecord): JobSummary {
  return {
    id: record.id,
    type: record.type,
    queue: record.queue,
    priority: record.priority,
    status: record.status,
    maxRetries: record.maxRetries,
    retryCount: record.retryCount,
    maxLost: record.maxLost,
    lostCount: record.lostCount,
    attempt: record.attempt,
    retryDelay: record.retryDelayMs,
    backoff: record.backoff,
    timeout: record.timeoutMs,
    error: record.error,
    progress: record.progress,
    idempotencyKey: record.idempotencyKey,
    webhookUrl: record.webhookUrl,
    tags: record.tags,
    meta: record.meta === null ? null : (JSON.parse(record.meta) as Record<string, unknown>),
    facets: record.facets === null ? null : declaredFacets(record.facets),
    limitKey: record.limitKey,
    cost: record.cost,
    hasSteps: record.hasSteps,
    parent: record.parent === null ? null : callerOf(record),
    flow: record.parent === null ? null : flowOf(record),
    coalesce: record.parent === null ? null : coalesceOf(record),
    startWithin: record.startWithinMs,
    workerId: record.status === "running" ? record.workerId : null,
    fence: record.fence,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    scheduledAt: record.runAt === record.createdAt ? null : record.runAt,
    startedAt: record.startedAt,
    completedAt: record.completedAt,
    durationMs: record.runMs,
  };
}

/** A job to insert. The store adds what only it knows: sequence, times, status. */
export interface NewJob {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly payload: string;
  readonly maxRetries: number;
  readonly maxLost: number;
  readonly retryDelayMs: number;
  /** How the delay grows: see retry.ts. */
  readonly backoff: string;
  readonly timeoutMs: number;
  /** Due this long after the store's now; 0 is at once. */
  readonly delayMs: number;
  /** Due at this time of the store's clock, instead of `delayMs`; a time in the past is at once. */
  readonly runAt: number | null;
  /** Insert it as blocked, whatever `delayMs` and `runAt` say. What unblocks it sets its due time. No user option sets this. */
  readonly blocked?: boolean | undefined;
  readonly idempotencyKey: string | null;
  readonly keyTtlMs: number;
  /** Set when there is a key. */
  readonly fingerprint: string | null;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: string | null;
  readonly facets: Facets | null;
  /** See limits.ts. */
  readonly limitKey: string | null;
  readonly cost: number;
  /** Not started so long after it was due, it is cancelled instead; null if it may start at any time. */
  readonly startWithinMs?: number | null | undefined;
  /** The job that calls it, or the flow that it is a member of: its end is told there. */
  readonly parent?: Parent | null | undefined;
  /** It is a flow: what is stored beside it in the same commit. */
  readonly flow?: NewFlow | undefined;
}

/** A flow to store: see flow.ts. Its texts are the core's. */
export interface NewFlow {
  readonly head: string;
  readonly members: readonly MemberText[];
  readonly notices: readonly Notice[];
}

/** What internal jobs have in common: due at once, without priority, keys, tags, meta and a backoff of their own. */
export const PLAIN_JOB = {
  priority: 0,
  delayMs: 0,
  runAt: null,
  backoff: USUAL_JOB.backoff,
  idempotencyKey: null,
  keyTtlMs: 0,
  fingerprint: null,
  tags: [],
  meta: null,
  facets: null,
  limitKey: null,
  cost: 1,
} as const satisfies Partial<NewJob>;

export function recordOf(job: NewJob, status: Status, createdAt: number, runAt: number): JobRecord {
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    priority: job.priority,
    status,
    payload: job.payload,
    maxRetries: job.maxRetries,
    retryCount: 0,
    maxLost: job.maxLost,
    lostCount: 0,
    attempt: 0,
    snoozes: 0,
    retryDelayMs: job.retryDelayMs,
    backoff: job.backoff,
    timeoutMs: job.timeoutMs,
    result: null,
    error: null,
    progress: null,
    idempotencyKey: job.idempotencyKey,
    keyTtlMs: job.keyTtlMs,
    webhookUrl: job.webhookUrl,
    tags: job.tags,
    meta: job.meta,
    facets: job.facets,
    limitKey: job.limitKey,
    cost: job.cost,
    startWithinMs: job.startWithinMs ?? null,
    hasSteps: false,
    parent: job.parent ?? null,
    workerId: null,
    fence: 0,
    createdAt,
    updatedAt: createdAt,
    runAt,
    startedAt: null,
    completedAt: null,
    runMs: null,
  };
}
