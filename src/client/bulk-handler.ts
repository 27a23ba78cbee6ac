/**
 * RUNS A BULK OPERATION: lists a page of matching jobs, changes all of them, writes a mark; and so on until the list ends.
 *
 * A change applies only to a job that still has one of the operation's statuses, so repeating a part after a crash changes no job twice. The
 * cursor only goes to older jobs, and jobs newer than the operation are left out. So it ends, however many jobs arrive meanwhile.
 */
import {
  BULK_QUEUE,
  BULK_TYPE,
  type BulkAction,
  type BulkFailure,
  type BulkMark,
  isMarked,
  linesOf,
  MAX_FAILURES,
  readBulkLog,
  spreadSteps,
} from "../core/bulk.ts";
import { Discard } from "../core/control-errors.ts";
import { messageOf } from "../core/errors.ts";
import { type Job, type JobSummaryRecord, MAX_LOG_LINES } from "../core/job.ts";
import type { Actor } from "../core/manual-change.ts";
import type { ChangeAnswer } from "../store/store.ts";
import type { ClientParts } from "./announcer.ts";
import { DONE, readWanted } from "./bulk-request.ts";
import { changeJobs } from "./changes.ts";
import type { Context, Handler, Leases } from "./client.ts";
import { heldElsewhere, jobNotFound, wrongStatus } from "./refusals.ts";
import { listToChange } from "./search.ts";
import type { FieldFilter } from "./where.ts";

export interface BulkWorkParts extends ClientParts {
  readonly leases: Pick<Leases, "note">;
}

export interface BulkPayload {
  readonly action: BulkAction;
  readonly filter: object;
  readonly matched: number;
  readonly matched_is_capped: boolean;
  /** What the error of the filter's group said at the start: its jobs may be gone later. Absent as below. */
  readonly group_words?: string | null;
  /** How many jobs at most, and over which time they come due; absent in an operation that an older version started. */
  readonly limit?: number | null;
  readonly spread_ms?: number | null;
  /** Who started it, and why. Absent in an operation that an older version started. */
  readonly by?: string | null;
  readonly reason?: string | null;
}

export interface BulkResult extends Omit<BulkMark, "cursor" | "batches"> {
  readonly failures: readonly BulkFailure[];
}

/** Small, because claims may have to wait while a batch is written. */
const BATCH = 500;

export function bulkHandler(parts: BulkWorkParts): Handler<unknown, BulkResult> {
  return async (given, ctx) => {
    const payload = given as BulkPayload;
    const { action, query } = readWantedAgain(payload);
    const known = readBulkLog(await parts.store.logs(ctx.job.id, 0, MAX_LOG_LINES));
    const failures = [...known.failures];
    let mark = known.mark;
    // A mark without a cursor, unless it is the initial one, is the last: everything was done, but the end was not reported.
    for (let isOver = mark.batches > 0 && mark.cursor === null; !isOver; isOver = mark.cursor === null) {
      await othersTurn();
      ctx.signal.throwIfAborted();
      const batch = await changeBatch(parts, payload, action, query, ctx.job, mark);
      const listed = batch.failures.slice(0, MAX_FAILURES - failures.length);
      failures.push(...listed);
      mark = batch.mark;
      await note(parts, ctx, payload, mark, linesOf(listed, isMarked(mark.batches) || mark.cursor === null ? mark : null));
    }
    const { processed, succeeded, failed } = mark;
    return { processed, succeeded, failed, failures };
  };
}

/** A store in this process answers at once, so without this nothing else here would run until the end. */
function othersTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

/** The request was valid when it was made. If it is not valid now, we did not write it, and a retry would not help. */
function readWantedAgain({ action, filter }: BulkPayload): ReturnType<typeof readWanted> {
  try {
    return readWanted(action, filter);
  } catch (error) {
    throw new Discard(messageOf(error));
  }
}

export function actorOf({ by = null, reason = null }: BulkPayload): Actor {
  return { by, reason };
}

async function changeBatch(
  parts: BulkWorkParts,
  payload: BulkPayload,
  action: BulkAction,
  query: FieldFilter,
  operation: Job,
  mark: BulkMark,
): Promise<{ mark: BulkMark; failures: BulkFailure[] }> {
  // A job created in the same millisecond may be older than the operation.
  const to = Math.min(query.to ?? Infinity, operation.createdAt + 1);
  const left = (payload.limit ?? Infinity) - mark.processed;
  const page = await listToChange(parts.store, { ...query, to, limit: Math.min(BATCH, left), cursor: mark.cursor ?? undefined });
  // An operation changes no operations, itself included.
  const found = page.jobs.filter(({ queue }) => queue !== BULK_QUEUE);
  const answers = await changeInSteps(parts, payload, action, found, query, mark);
  const failures = answers.flatMap((answer, index) => failureOf(found[index]!.id, action, query, answer) ?? []);
  return {
    mark: {
      processed: mark.processed + found.length,
      succeeded: mark.succeeded + found.length - failures.length,
      failed: mark.failed + failures.length,
      batches: mark.batches + 1,
      cursor: found.length < left ? page.cursor : null,
    },
    failures,
  };
}

/** All at once; or, if they are spread over a time, those together that come due together. */
async function changeInSteps(
  parts: BulkWorkParts,
  payload: BulkPayload,
  action: BulkAction,
  found: readonly JobSummaryRecord[],
  query: FieldFilter,
  { processed: done }: BulkMark,
): Promise<ChangeAnswer[]> {
  const { matched, spread_ms: spreadMs = null } = payload;
  const total = Math.max(1, matched);
  const steps = spreadMs === null ? [{ jobs: found.length, delayMs: 0 }] : spreadSteps(found.length, { done, total, spreadMs });
  const answers: ChangeAnswer[] = [];
  for (const { jobs, delayMs } of steps) {
    const some = found.slice(answers.length, answers.length + jobs);
    if (jobs > 0) answers.push(...(await changeJobs(parts, action, some, query.status ?? [], actorOf(payload), delayMs)));
  }
  return answers;
}

function failureOf(id: string, action: BulkAction, query: FieldFilter, answer: ChangeAnswer): BulkFailure | null {
  switch (answer.kind) {
    case "ok":
      return null;
    case "missing":
      return { id, code: "not_found", message: jobNotFound(id).message };
    case "refused":
      if (action === "cancel" && answer.status === "cancelled") return null;
      return { id, code: "wrong_status", message: wrongStatus(id, answer.status, DONE[action], query.status ?? []).message };
    case "locked":
      return { id, code: "store_unavailable", message: heldElsewhere(`job ${id}`).message };
  }
}

/** Reports progress under the lease. At the latest here, the operation learns that it was stopped or taken over. */
async function note(parts: BulkWorkParts, ctx: Context, payload: BulkPayload, mark: BulkMark, lines: string[]): Promise<void> {
  const { id, fence } = ctx.job;
  const { matched, matched_is_capped: isCapped } = payload;
  const percent = mark.cursor === null ? 100 : isCapped || matched === 0 ? 0 : Math.min(99, (mark.processed / matched) * 100);
  const progress = { percent, note: `${mark.processed} of ${matched}${isCapped ? " or more" : ""}` };
  const [answer] = await parts.leases.note([{ id, fence, type: BULK_TYPE, queue: BULK_QUEUE, progress, lines }]);
  if (answer === "ok") return;
  ctx.signal.throwIfAborted();
  throw new Error(answer === "cancelled" ? "the operation was stopped" : "another worker has taken over the operation");
}
