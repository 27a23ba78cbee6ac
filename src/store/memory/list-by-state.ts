import { leavesOut, matcherOf, statusesOf } from "../../core/filter.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import type { StateOrder } from "../../core/list-order.ts";
import { rank } from "../../core/rank.ts";
import { comesBefore, decodePlace, encodePlace, type Place } from "../state-order.ts";
import { type ListQuery, MAX_CANDIDATES } from "../store.ts";
import type { Context } from "./context.ts";
import { type StoredJob, summaryOf } from "./stored-job.ts";

interface Candidate extends Place {
  readonly job: StoredJob;
}

/**
 * Lists in the order of a state. Looks at every job in the wanted statuses and keeps the first: this engine keeps no line that is sorted
 * for reading, because that would cost each change.
 */
export function listByState(context: Context, query: ListQuery, order: StateOrder): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const after = query.cursor === undefined ? null : decodePlace("m", order, query.cursor);
  const isMeant = matcherOf(query);
  const jobs: JobSummaryRecord[] = [];
  let last: Candidate | null = null;
  for (const [index, candidate] of firstOf(candidatesOf(context, query, order, after), order).entries()) {
    const { record } = candidate.job;
    const matches = isMeant(record, (search) => search.isInPayload(record.payload));
    // It looks for one job more than asked for, so that the last page has no cursor.
    if (last !== null && (index === MAX_CANDIDATES || (matches && jobs.length === query.limit)))
      return { jobs, cursor: encodePlace("m", order, last) };
    if (matches) jobs.push(summaryOf(candidate.job));
    last = candidate;
  }
  return { jobs, cursor: null };
}

function* candidatesOf(context: Context, query: ListQuery, order: StateOrder, after: Place | null): Generator<Candidate> {
  const { endedFrom = -Infinity, endedTo = Infinity } = query;
  for (const job of jobsOf(context, query, order)) {
    if (leavesOut(query, job.queue.name) || (query.queue !== undefined && job.queue.name !== query.queue)) continue;
    const candidate = { at: atOf(job, order), seq: job.seq, job };
    if (order === "ended" && (candidate.at < endedFrom || candidate.at >= endedTo)) continue;
    if (after === null || comesBefore(order, after, candidate)) yield candidate;
  }
}

/** Jobs in the wanted statuses, nearly in their order, so that most of those that follow can be left out at once. */
function jobsOf({ jobs: { bySequence, due, queues } }: Context, query: ListQuery, order: StateOrder): Iterable<StoredJob> {
  const statuses = statusesOf(query);
  switch (order) {
    case "ended":
      return bySequence.newestFirst(bySequence.lastSeq + 1, Infinity, statuses);
    case "pending":
      return queues.values().flatMap(({ lanes }) => lanes.jobs(query.type));
    case "due":
      return due[Symbol.iterator]().filter(({ record }) => statuses!.includes(record.status));
  }
}

function atOf({ record, queue, order: dueAt }: StoredJob, order: StateOrder): number {
  if (order === "ended") return record.completedAt!;
  return order === "due" ? dueAt : rank(dueAt, record.priority, queue.settings.headStartMs);
}

/** The first candidates, in order: as many as one call looks at, and one more. */
function firstOf(candidates: Iterable<Candidate>, order: StateOrder): Candidate[] {
  const most = MAX_CANDIDATES + 1;
  const sorted = (some: Candidate[]): Candidate[] => some.sort((a, b) => (comesBefore(order, a, b) ? -1 : 1)).slice(0, most);
  let first: Candidate[] = [];
  let worst: Candidate | undefined;
  for (const candidate of candidates) {
    if (worst !== undefined && !comesBefore(order, candidate, worst)) continue;
    first.push(candidate);
    if (first.length < 2 * most) continue;
    first = sorted(first);
    worst = first.at(-1);
  }
  return sorted(first);
}
