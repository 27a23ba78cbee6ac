import { MillraceError } from "../../core/errors.ts";
import type { JobRecord, JobSummaryRecord } from "../../core/job.ts";
import { type ListQuery, MAX_CANDIDATES } from "../store.ts";
import type { Shelf } from "./shelf.ts";
import { type StoredJob, summaryOf } from "./stored-job.ts";

/** Lists newest first, which is by falling sequence: a cursor is the sequence of the last job that was looked at. */
export function listJobs(shelf: Shelf, query: ListQuery): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const jobs: JobSummaryRecord[] = [];
  let below = query.cursor === undefined ? shelf.lastSeq + 1 : decodeCursor(query.cursor, shelf.lastSeq);
  let looked = 0;
  for (const job of shelf.newestFirst(below, query.to ?? Infinity, query.status)) {
    if (query.from !== undefined && job.record.createdAt < query.from) break;
    const matches = matchesQuery(job.record, query);
    // One more than was asked for is looked up, so that the last page says that it is the last.
    if (looked === MAX_CANDIDATES || (matches && jobs.length === query.limit)) return { jobs, cursor: encodeCursor(below) };
    if (matches) jobs.push(summaryOf(job));
    below = job.seq;
    looked++;
  }
  return { jobs, cursor: null };
}

/** Everything but the status, by which the shelf has chosen already. */
function matchesQuery(job: JobRecord, query: ListQuery): boolean {
  return (
    (query.type === undefined || job.type === query.type) &&
    (query.queue === undefined || job.queue === query.queue) &&
    (query.priority === undefined || (job.priority >= query.priority.min && job.priority <= query.priority.max)) &&
    (query.tag === undefined || job.tags.includes(query.tag)) &&
    (query.to === undefined || job.createdAt < query.to)
  );
}

function encodeCursor(seq: StoredJob["seq"]): string {
  return `m${seq.toString(36)}`;
}

function decodeCursor(cursor: string, lastSeq: number): number {
  const seq = /^m[1-9a-z][0-9a-z]{0,10}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (seq <= lastSeq) return seq;
  throw new MillraceError("invalid_cursor", "cursor must be one that this list gave out", { field: "cursor" });
}
