import { type Attempt, attemptOutcome, type JobRecord, type JobSummaryRecord, type LogLine } from "../../core/job.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import type { ManualChange } from "../../core/manual-change.ts";
import type { LeasedRecord } from "../store.ts";
import type { StoredFlow } from "./flows.ts";
import type { Key } from "./keys.ts";
import type { LineItem } from "./line.ts";
import type { TypeCounters } from "./counters.ts";
import type { StoredQueue } from "./queues.ts";
import type { Steps } from "./steps.ts";
import type { Page } from "./jobs-by-sequence.ts";

export type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/**
 * A job and what only the store needs to know about it. There is one per job, and it changes in place; callers get a copy of the record, so
 * that they never see it change.
 */
export interface StoredJob extends LineItem {
  readonly record: Mutable<JobRecord>;
  readonly queue: StoredQueue;
  readonly counters: TypeCounters;
  readonly page: Page;
  /** The number of its priority level in tallies. */
  readonly level: number;
  /** Null if it has none, or if the key has passed to another job. */
  key: Key | null;
  leaseUntil: number;
  /** The worker's turn in which it was claimed, if the worker counts turns. */
  turn: number | null;
  /** The last applied settlement, to recognise its repeat. */
  settledFence: number | null;
  settledOutcome: Outcome["kind"] | null;
  /** The lease that the last cancel ended, if the job ran. */
  cancelledFence: number | null;
  history: readonly Attempt[];
  changes: readonly ManualChange[];
  logs: LogLine[] | null;
  steps: Steps | null;
  /** What is kept beside it if it is a flow. */
  flow: StoredFlow | null;
  /** When a suspended job becomes pending by itself, while it is blocked. */
  wakeAt: number | null;
  /** It was suspended: its next claim takes no units of a rate. */
  isResumed: boolean;
  /** The present claim took no units, so none are given back. */
  wasFree: boolean;
}

/** Shared by the many jobs without tags; frozen, because callers get it. */
export const NO_TAGS: readonly string[] = Object.freeze([]);
export const NO_HISTORY: readonly Attempt[] = [];
export const NO_CHANGES: readonly ManualChange[] = [];

export function recordCopy(job: StoredJob): JobRecord {
  return detach({ ...job.record });
}

export function leasedCopy(job: StoredJob): LeasedRecord {
  return detach({ ...job.record, leaseUntil: job.leaseUntil, deadLetters: job.queue.settings.deadLetters });
}

/** The record without payload, result, and the stack of its error. */
export function summaryOf(job: StoredJob): JobSummaryRecord {
  const { payload: _payload, result: _result, ...summary } = detach({ ...job.record });
  if (summary.error !== null) summary.error = { ...summary.error, stack: null };
  return summary;
}

/** Copies inner values too. */
function detach<Copy extends Mutable<JobSummaryRecord>>(copy: Copy): Copy {
  if (copy.tags.length > 0) copy.tags = [...copy.tags];
  if (copy.facets !== null) copy.facets = { ...copy.facets };
  if (copy.error !== null) copy.error = { ...copy.error };
  if (copy.progress !== null) copy.progress = { ...copy.progress };
  if (copy.parent !== null) copy.parent = { ...copy.parent };
  return copy;
}

/** The history, and the latest attempt from the job itself if the history does not have it yet. */
export function everyAttempt(job: StoredJob): Attempt[] {
  const { record, history } = job;
  const isKnown = record.attempt === 0 || history.at(-1)?.number === record.attempt;
  return isKnown ? [...history] : [...history, latestAttempt(record)];
}

function latestAttempt(record: JobRecord): Attempt {
  const runs = record.status === "running";
  return {
    number: record.attempt,
    workerId: record.workerId,
    startedAt: record.startedAt!,
    endedAt: runs ? null : record.completedAt,
    durationMs: runs ? null : record.runMs,
    outcome: attemptOutcome(record.status),
    // While it runs, the record still has the error of the previous attempt.
    error: runs ? null : record.error,
  };
}
