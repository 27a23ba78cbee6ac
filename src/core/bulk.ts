/**
 * BULK OPERATIONS: one change to all jobs that match. An operation is itself an internal job, so it has a lease, continues elsewhere after a
 * crash, is retried, cancelled and pruned like any other job, and needs no storage of its own.
 *
 *   payload   what to do, and how many jobs matched when it began; it does not change
 *   log       the progress: a mark after each batch, and the first jobs that could not be changed. A new attempt continues at the last mark
 *   result    the totals
 */
import { formatDuration } from "./duration.ts";
import { INTERNAL_MARK, INTERNAL_TYPES } from "./internal.ts";
import { type Status, TERMINAL } from "./job.ts";
import { CANCEL, RETRY } from "./lifecycle.ts";
import { DAY_MS } from "./time-units.ts";

export const BULK_TYPE: string = `${INTERNAL_TYPES}bulk`;
export const BULK_QUEUE: string = `${INTERNAL_MARK}bulk`;

export const BULK_ACTIONS = ["retry", "cancel", "delete"] as const;
/** One change that you can make to many jobs at once. */
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** The operation leaves jobs in any other status alone. */
export const STATUSES_OF: Readonly<Record<BulkAction, readonly Status[]>> = { retry: RETRY.from, cancel: CANCEL.from, delete: TERMINAL };

/** The largest page of a list of operations, and its size by default. */
export const MAX_OPERATIONS_PAGE = 100;

/** The most jobs that the limit of an operation can name, and the shortest and longest time over which it can spread them. */
export const MAX_BULK_LIMIT = 1_000_000;
export const MIN_SPREAD_MS = 1000;
export const MAX_SPREAD_MS: number = DAY_MS;
export const SPREAD_RULE = `a time from ${formatDuration(MIN_SPREAD_MS)} to ${formatDuration(MAX_SPREAD_MS)}, such as "10m"`;

/** The fields of a request. */
export const BULK_FIELDS = ["action", "filter", "all", "limit", "spread"] as const;

/** How many of the jobs that could not be changed are listed. */
export const MAX_FAILURES = 100;

/** A job that could not be changed, and why. */
export interface BulkFailure {
  readonly id: string;
  readonly code: "not_found" | "wrong_status" | "store_unavailable";
  readonly message: string;
}

/** How far an operation has come: its counts, and where the next batch starts. */
export interface BulkMark {
  readonly processed: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly batches: number;
  /** Null before the first batch, and after the last. */
  readonly cursor: string | null;
}

export const AT_THE_START: BulkMark = { processed: 0, succeeded: 0, failed: 0, batches: 0, cursor: null };

export interface BulkLog {
  readonly mark: BulkMark;
  readonly failures: readonly BulkFailure[];
}

/** How many jobs of a batch come due at different times, at most: each time is a call of its own. */
const MAX_STEPS = 50;

/**
 * When the jobs of a batch come due, if all `total` of them are spread evenly over a time and `done` of them were before this batch: how many
 * together, and after how long. If there are more jobs than were counted, they start over.
 */
export function spreadSteps(
  size: number,
  { done, total, spreadMs }: { readonly done: number; readonly total: number; readonly spreadMs: number },
): { readonly jobs: number; readonly delayMs: number }[] {
  const together = Math.max(1, Math.ceil(size / MAX_STEPS));
  return Array.from({ length: Math.ceil(size / together) }, (_, step) => ({
    jobs: Math.min(together, size - step * together),
    delayMs: Math.floor((((done + step * together) % total) * spreadMs) / total),
  }));
}

/** Whether to write a mark after this batch: ever more rarely, because a job keeps 1,000 log lines. Repeating batches changes no job twice. */
export function isMarked(batch: number): boolean {
  if (batch <= 200) return true;
  return batch % (batch <= 2000 ? 10 : 100) === 0;
}

/** The log lines of a batch: the failures, then the mark. */
export function linesOf(failures: readonly BulkFailure[], mark: BulkMark | null): string[] {
  const lines = failures.map((failure) => JSON.stringify({ failure }));
  return mark === null ? lines : [...lines, JSON.stringify({ mark })];
}

/** Reads the log. A line may occur twice; lines that are not ours are skipped. */
export function readBulkLog(lines: readonly { readonly text: string }[]): BulkLog {
  let mark = AT_THE_START;
  const failures = new Map<string, BulkFailure>();
  for (const { text } of lines) {
    const line = readLine(text);
    if (line.mark !== undefined) mark = line.mark;
    if (line.failure !== undefined && failures.size < MAX_FAILURES) failures.set(line.failure.id, line.failure);
  }
  return { mark, failures: [...failures.values()] };
}

function readLine(text: string): { readonly mark?: BulkMark; readonly failure?: BulkFailure } {
  try {
    return (JSON.parse(text) ?? {}) as ReturnType<typeof readLine>;
  } catch {
    return {};
  }
}

export const BULK_STATUSES = ["running", "completed", "stopped", "failed"] as const;
/** How an operation stands. */
export type BulkStatus = (typeof BULK_STATUSES)[number];

/** A cancelled operation is `stopped`; one that has no retries left has `failed`. */
export function bulkStatusOf(status: Status): BulkStatus {
  switch (status) {
    case "completed":
      return "completed";
    case "cancelled":
      return "stopped";
    case "dead":
    case "failed":
      return "failed";
    default:
      return "running";
  }
}
