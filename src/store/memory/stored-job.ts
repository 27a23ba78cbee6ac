import { type Attempt, attemptOutcome, type JobRecord, type JobSummaryRecord, type LogLine } from "../../core/job.ts";
import type { Outcome } from "../../core/lifecycle.ts";
import type { LeasedRecord } from "../store.ts";
import type { Key } from "./keys.ts";
import type { Standing } from "./line.ts";
import type { QueueBook } from "./queues.ts";
import type { Page } from "./jobs-by-sequence.ts";

export type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/**
 * A job and what only the store needs to know of it. There is one of these a job, and it changes in place; whoever asks gets a copy of
 * the record, so that nobody sees it change.
 */
export interface StoredJob extends Standing {
  readonly record: Mutable<JobRecord>;
  readonly book: QueueBook;
  readonly page: Page;
  /** The number of its level of priority in tallies. */
  readonly level: number;
  /** Null when it has none, or when the key has passed to another job. */
  key: Key | null;
  leaseUntil: number;
  /** The turn of its worker in which it was claimed, if the worker counts them. */
  turn: number | null;
  /** The last settlement that was applied, to know its repeat. */
  settledFence: number | null;
  settledOutcome: Outcome["kind"] | null;
  /** The lease that the last cancel ended, if the job ran. */
  cancelledFence: number | null;
  history: readonly Attempt[];
  logs: LogLine[] | null;
}

/** Shared by the many jobs that have none; frozen, because it is given out. */
export const NO_TAGS: readonly string[] = Object.freeze([]);
export const NO_HISTORY: readonly Attempt[] = [];

export function recordCopy(job: StoredJob): JobRecord {
  return detach({ ...job.record });
}

export function leasedCopy(job: StoredJob): LeasedRecord {
  return detach({ ...job.record, leaseUntil: job.leaseUntil, deadLetters: job.book.settings.deadLetters });
}

/** The record without its bodies, and without the stack of its error. */
export function summaryOf(job: StoredJob): JobSummaryRecord {
  const { payload: _payload, result: _result, ...summary } = detach({ ...job.record });
  if (summary.error !== null) summary.error = { ...summary.error, stack: null };
  return summary;
}

/** Gives a copy its own inner values too, where there are any. */
function detach<Copy extends Mutable<JobSummaryRecord>>(copy: Copy): Copy {
  if (copy.tags.length > 0) copy.tags = [...copy.tags];
  if (copy.error !== null) copy.error = { ...copy.error };
  if (copy.progress !== null) copy.progress = { ...copy.progress };
  return copy;
}

/** Every attempt: the history, and the latest one from the job itself if the history does not have it yet. */
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
    // While it runs, the record still has the error of the attempt before.
    error: runs ? null : record.error,
  };
}
