/**
 * BULK OPERATIONS: one change for all jobs that match. An operation is itself a job, of a type and in a queue of our own, so that it has a
 * lease, goes on elsewhere after a crash, is retried, cancelled and pruned like any other, and needs no place of its own in any store.
 *
 *   payload   what is to be done, and how many jobs matched when it began; fixed
 *   log       how far it is: a mark after each batch, and the first jobs that could not be changed. A new attempt goes on from the last mark
 *   result    what was done in all
 */
import { INTERNAL_MARK, INTERNAL_TYPES } from "./internal.ts";
import { type Status, TERMINAL } from "./job.ts";
import { CANCEL, RETRY } from "./lifecycle.ts";

export const BULK_TYPE: string = `${INTERNAL_TYPES}bulk`;
export const BULK_QUEUE: string = `${INTERNAL_MARK}bulk`;

/** What can be done to many jobs at once. */
export const BULK_ACTIONS = ["retry", "cancel", "delete"] as const;
/** One thing that can be done to many jobs at once. */
export type BulkAction = (typeof BULK_ACTIONS)[number];

/** Jobs in another status are none of the operation's. */
export const STATUSES_OF: Readonly<Record<BulkAction, readonly Status[]>> = {
  retry: RETRY.from,
  cancel: CANCEL.from,
  delete: TERMINAL,
};

/** How many jobs that could not be changed are listed. */
export const MAX_FAILURES = 100;

/** A job that could not be changed, and why. */
export interface BulkFailure {
  readonly id: string;
  readonly code: "not_found" | "wrong_status" | "store_unavailable";
  readonly message: string;
}

/** How far an operation is: counts, and from where the next batch is. */
export interface BulkMark {
  readonly processed: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly batches: number;
  /** Null before the first batch, and after the last. */
  readonly cursor: string | null;
}

export const AT_THE_START: BulkMark = { processed: 0, succeeded: 0, failed: 0, batches: 0, cursor: null };

/** What the log of an operation tells. */
export interface BulkLog {
  readonly mark: BulkMark;
  readonly failures: readonly BulkFailure[];
}

/**
 * Whether a mark is written after this batch. A job keeps a thousand lines: the more was done, the rarer the marks, so that there is always
 * room for the next. What a crash loses is the way since the last mark, and to go it again changes nothing twice.
 */
export function isMarked(batch: number): boolean {
  if (batch <= 200) return true;
  return batch % (batch <= 2000 ? 10 : 100) === 0;
}

/** The lines that a batch leaves: what failed, then the mark. */
export function linesOf(failures: readonly BulkFailure[], mark: BulkMark | null): string[] {
  const lines = failures.map((failure) => JSON.stringify({ failure }));
  return mark === null ? lines : [...lines, JSON.stringify({ mark })];
}

/** Reads the log. A line may be there twice, and what is no line of ours is passed over. */
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

/** What has become of an operation. */
export const BULK_STATUSES = ["running", "completed", "stopped", "failed"] as const;
/** What has become of an operation. */
export type BulkStatus = (typeof BULK_STATUSES)[number];

/** An operation is stopped by a cancel, and has failed when its retries are spent. */
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
