import { leavesOut, matcherOf, statusesOf } from "../../core/filter.ts";
import { type JobSummaryRecord, KEPT_FOR_A_TIME } from "../../core/job.ts";
import type { StateOrder } from "../../core/list-order.ts";
import { rank } from "../../core/rank.ts";
import { comesBefore, decodePlace, encodePlace, type Place } from "../state-order.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import type { Context } from "./context.ts";
import type { StoredQueue } from "./queues.ts";
import { type StoredJob, summaryOf } from "./stored-job.ts";

interface Candidate extends Place {
  readonly job: StoredJob;
}

/** Lists in the order of a state: merges the lines of that state, from after the cursor on. */
export function listByState(context: Context, query: ListQuery, order: StateOrder): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const after = query.cursor === undefined ? null : decodePlace("m", order, query.cursor);
  const isMeant = matcherOf(query);
  const jobs: JobSummaryRecord[] = [];
  let last: Candidate | null = null;
  let looked = 0;
  let passed = 0;
  for (const candidate of merged(linesOf(context, query, order, after), order)) {
    if (query.endedFrom !== undefined && order === "ended" && candidate.at < query.endedFrom) break;
    const { record } = candidate.job;
    const matches = isMeant(record, (search) => search.isInPayload(record.payload));
    // It looks for one job more than asked for, so that the last page has no cursor.
    if (last !== null && (looked === MAX_CANDIDATES || passed === MAX_PASSED || (matches && jobs.length === query.limit)))
      return { jobs, cursor: encodePlace("m", order, last) };
    if (matches) jobs.push(summaryOf(candidate.job));
    last = candidate;
    if (statusesOf(query)!.includes(record.status) && isIn(query, candidate.job.queue)) looked++;
    else passed++;
  }
  return { jobs, cursor: null };
}

/** Whether jobs of a queue are wanted. */
function isIn(query: ListQuery, { name }: StoredQueue): boolean {
  return (query.queue === undefined || name === query.queue) && !leavesOut(query, name);
}

function linesOf(
  { jobs: { bySequence, due, queues } }: Context,
  query: ListQuery,
  order: StateOrder,
  after: Place | null,
): Iterator<Candidate>[] {
  const here = [...queues.values()].filter((queue) => isIn(query, queue));
  switch (order) {
    case "pending":
      return here.flatMap(({ lanes, turns, settings: { headStartMs } }) => {
        const rings = turns.of(query.type === undefined ? "*" : [query.type]);
        const lines = rings.flatMap(({ priority, lines }) => Array.from(lines.values(), (line) => ({ priority, line })));
        return [...lanes.of(query.type).map((lane) => ({ priority: lane.priority, line: lane })), ...lines].map(({ priority, line }) => {
          const ahead = -rank(0, priority, headStartMs);
          const start = after === null ? null : { order: after.at + ahead, seq: after.seq };
          return line.inOrder(start).map((job) => ({ at: job.order - ahead, seq: job.seq, job }));
        });
      });
    case "due": {
      // Without a job of a wanted status, the others of the line are not read in vain.
      if (!here.some((queue) => queue.hasAny(statusesOf(query)!))) return [];
      const start = after === null ? null : { order: after.at, seq: after.seq };
      return [due.inOrder(start).map((job) => ({ at: job.order, seq: job.seq, job }))];
    }
    case "ended": {
      const end = { at: query.endedTo ?? Infinity, seq: 0 };
      const start = after === null || comesBefore(order, after, end) ? end : after;
      const candidateOf = (job: StoredJob): Candidate => ({ at: job.record.completedAt!, seq: job.seq, job });
      const lines = here.map(({ ended }) => ended.fromLast({ order: start.at, seq: start.seq }).map(candidateOf));
      // Dead and failed jobs are in no line, because nothing takes them in order. They are few, as a rule.
      const staying = statusesOf(query)!.filter((status) => !KEPT_FOR_A_TIME.includes(status));
      const stayed = staying.length === 0 ? [] : [...bySequence.newestFirst(bySequence.lastSeq + 1, Infinity, staying)];
      const sorted = stayed
        .filter(({ queue }) => isIn(query, queue))
        .map(candidateOf)
        .filter((candidate) => comesBefore(order, start, candidate))
        .sort((a, b) => (comesBefore(order, a, b) ? -1 : 1));
      return [...lines, sorted.values()];
    }
  }
}

/** All candidates in order, from lines that are each in order. */
function* merged(lines: readonly Iterator<Candidate>[], order: StateOrder): Generator<Candidate> {
  const heads = lines.map((line) => ({ line, next: line.next() }));
  for (;;) {
    let first: (typeof heads)[number] | null = null;
    for (const head of heads) {
      if (head.next.done !== true && (first === null || comesBefore(order, head.next.value, first.next.value as Candidate))) first = head;
    }
    if (first === null) return;
    yield first.next.value as Candidate;
    first.next = first.line.next();
  }
}
