import { endedInTime, type Filter, leavesOut, matcherOf, statusesOf } from "../../core/filter.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import { invalidCursor, orderOf } from "../state-order.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import type { Context } from "./context.ts";
import type { Jobs } from "./jobs.ts";
import { listByState } from "./list-by-state.ts";
import { type StoredJob, summaryOf } from "./stored-job.ts";

export function listJobs(context: Context, query: ListQuery): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const order = orderOf(query);
  return order === null ? listNewest(context, query) : listByState(context, query, order);
}

/** Lists newest first, by falling sequence. A cursor is the sequence of the last job that was looked at. */
function listNewest({ jobs: stored }: Context, query: ListQuery): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const jobs: JobSummaryRecord[] = [];
  const isMeant = matcherOf(query);
  let below = query.cursor === undefined ? stored.bySequence.lastSeq + 1 : decodeCursor(query.cursor, stored.bySequence.lastSeq);
  let looked = 0;
  let passed = 0;
  for (const job of newestFirst(stored, query, below)) {
    if (query.from !== undefined && job.record.createdAt < query.from) break;
    if (leavesOut(query, job.record.queue)) {
      if (passed++ === MAX_PASSED) return { jobs, cursor: encodeCursor(below) };
      below = job.seq;
      continue;
    }
    const matches = isMeant(job.record, (search) => search.isInPayload(job.record.payload));
    // It looks for one job more than asked for, so that the last page has no cursor.
    if (looked === MAX_CANDIDATES || (matches && jobs.length === query.limit)) return { jobs, cursor: encodeCursor(below) };
    if (matches) jobs.push(summaryOf(job));
    below = job.seq;
    looked++;
  }
  return { jobs, cursor: null };
}

export function countMatches({ jobs }: Context, filter: Filter): { count: number; isCapped: boolean } {
  const isMeant = matcherOf(filter);
  let count = 0;
  let looked = 0;
  let passed = 0;
  for (const job of newestFirst(jobs, filter, jobs.bySequence.lastSeq + 1)) {
    if (filter.from !== undefined && job.record.createdAt < filter.from) break;
    if (leavesOut(filter, job.record.queue) || isElsewhere(filter, job)) {
      if (passed++ === MAX_PASSED) return { count, isCapped: true };
      continue;
    }
    if (looked++ === MAX_CANDIDATES) return { count, isCapped: true };
    if (isMeant(job.record, (search) => search.isInPayload(job.record.payload))) count++;
  }
  return { count, isCapped: false };
}

/** The jobs that are looked at, newest first: those in the wanted statuses, and if a facet is wanted, only those with it. */
function newestFirst({ bySequence, queues }: Jobs, filter: Filter, below: number): Iterable<StoredJob> {
  const { queue, facets, to = Infinity } = filter;
  const statuses = statusesOf(filter);
  if (facets === undefined) return bySequence.newestFirst(below, to, statuses);
  const here = queue === undefined ? [...queues.values()] : [queues.get(queue)].filter((one) => one !== undefined);
  const found = here.flatMap(({ byFacet }) => byFacet.newestFirst(facets, below)).sort((a, b) => b.seq - a.seq);
  return found.filter(({ record }) => record.createdAt < to && (statuses === undefined || statuses.includes(record.status)));
}

/**
 * Whether a count by status does not look at this job: its queue is another one, it ended at another time, or it is pending and its type
 * is another one.
 */
function isElsewhere(filter: Filter, { record }: StoredJob): boolean {
  const { queue, type } = filter;
  if (statusesOf(filter) === undefined) return false;
  if (!endedInTime(filter, record)) return true;
  return (queue !== undefined && record.queue !== queue) || (type !== undefined && record.status === "pending" && record.type !== type);
}

function encodeCursor(seq: StoredJob["seq"]): string {
  return `m${seq.toString(36)}`;
}

function decodeCursor(cursor: string, lastSeq: number): number {
  const seq = /^m[1-9a-z][0-9a-z]{0,10}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (seq <= lastSeq) return seq;
  throw invalidCursor();
}
