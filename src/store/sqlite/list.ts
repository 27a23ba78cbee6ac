import { MillraceError } from "../../core/errors.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import { type ListQuery, MAX_CANDIDATES } from "../store.ts";
import type { Catalog, QueueRow } from "./catalog.ts";
import { FIRST_ENDED, laneOf, readSummary, type Row, seqOf, stateNumber } from "./codec.ts";
import type { Connection } from "./connection.ts";
import {
  CREATED_AT,
  FIND_SUMMARY,
  HIGHEST_SEQ,
  SEQS_DUE,
  SEQS_ENDED,
  SEQS_OF_LANE,
  SEQS_RUNNING,
  TALLY_OF_STATE,
  WALK_JOBS,
} from "./statements.ts";

/**
 * Lists newest first, which is by falling sequence. Two ways lead there: jobs of a few statuses with few members are picked through the
 * indexes that hold them; otherwise one walks down the table and filters. Both look at MAX_CANDIDATES jobs at most.
 */
export function listJobs(on: Connection, catalog: Catalog, query: ListQuery): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const range = seqRange(on, query);
  const picked = pickFew(on, catalog, query, range);
  const candidates = picked === null ? walk(on, range) : fetch(on, picked);
  return collect(catalog, query, candidates);
}

function collect(catalog: Catalog, query: ListQuery, candidates: Iterable<Row>): { jobs: JobSummaryRecord[]; cursor: string | null } {
  const jobs: JobSummaryRecord[] = [];
  let looked = 0;
  for (const row of candidates) {
    looked++;
    const job = readSummary(row, catalog.namesOf(laneOf(row)));
    if (matches(job, query)) jobs.push(job);
    if (jobs.length === query.limit || looked === MAX_CANDIDATES) return { jobs, cursor: encodeCursor(seqOf(row)) };
  }
  return { jobs, cursor: null };
}

function* walk(on: Connection, range: Range): Generator<Row> {
  const page = 200;
  for (let below = range.below; ;) {
    const rows = on.all(WALK_JOBS, below, range.from, page);
    yield* rows;
    if (rows.length < page) return;
    below = seqOf(rows[rows.length - 1]!);
  }
}

function* fetch(on: Connection, seqs: Iterable<number>): Generator<Row> {
  for (const seq of seqs) {
    const row = on.get(FIND_SUMMARY, seq);
    if (row !== undefined) yield row;
  }
}

/** The seqs of all jobs of the wanted statuses, newest first, if the tallies say that they are few; else null. */
function pickFew(on: Connection, catalog: Catalog, query: ListQuery, range: Range): number[] | null {
  if (query.status === undefined) return null;
  const all = catalog.allQueues();
  const queues = query.queue === undefined ? all : all.filter(({ name }) => name === query.queue);
  const picks = query.status.map((status) => pickOf(on, catalog, stateNumber(status), queues, all));
  if (picks.reduce((sum, { count }) => sum + count, 0) > MAX_CANDIDATES) return null;
  return picks
    .flatMap(({ seqs }) => seqs(range.below))
    .filter((seq) => seq >= range.from)
    .sort((a, b) => b - a);
}

interface Pick {
  /** How many jobs it looks at. */
  readonly count: number;
  readonly seqs: (below: number) => number[];
}

/** Pending and ended jobs can be picked by queue. The indexes of running and later ones are not by queue: they are picked over all. */
function pickOf(on: Connection, catalog: Catalog, state: number, queues: readonly QueueRow[], all: readonly QueueRow[]): Pick {
  const countIn = (some: readonly QueueRow[]): number => some.reduce((sum, { id }) => sum + on.number(TALLY_OF_STATE, id, state)!, 0);
  const read = (text: string, ...values: number[]): number[] => (on.all(text, ...values) as [number][]).map(([seq]) => seq);
  if (state >= FIRST_ENDED) {
    return { count: countIn(queues), seqs: (below) => queues.flatMap(({ id }) => read(SEQS_ENDED, state, below, id)) };
  }
  if (state === stateNumber("pending")) {
    const lanes = queues.flatMap(({ id }) => catalog.lanes(id, "*"));
    return { count: countIn(queues), seqs: (below) => lanes.flatMap((lane) => read(SEQS_OF_LANE, lane, below)) };
  }
  const text = state === stateNumber("running") ? SEQS_RUNNING : SEQS_DUE;
  return { count: countIn(all), seqs: (below) => read(text, state, below) };
}

function matches(job: JobSummaryRecord, query: ListQuery): boolean {
  return (
    (query.status === undefined || query.status.includes(job.status)) &&
    (query.type === undefined || job.type === query.type) &&
    (query.queue === undefined || job.queue === query.queue) &&
    (query.priority === undefined || (job.priority >= query.priority.min && job.priority <= query.priority.max)) &&
    (query.tag === undefined || job.tags.includes(query.tag)) &&
    (query.from === undefined || job.createdAt >= query.from) &&
    (query.to === undefined || job.createdAt < query.to)
  );
}

/** from <= seq < below */
interface Range {
  readonly from: number;
  readonly below: number;
}

/** Sequence and time of creation rise together, so a range of dates is a range of sequences, found by halving. */
function seqRange(on: Connection, query: ListQuery): Range {
  const top = on.number(HIGHEST_SEQ)! + 1;
  const from = query.from === undefined ? 0 : firstSeqAt(on, query.from, top);
  const below = query.to === undefined ? top : firstSeqAt(on, query.to, top);
  return { from, below: query.cursor === undefined ? below : Math.min(below, decodeCursor(query.cursor)) };
}

/** The lowest seq such that every job at or above it was created at `time` or later. */
function firstSeqAt(on: Connection, time: number, top: number): number {
  let low = 0;
  let high = top;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const nearest = on.get(CREATED_AT, middle) as [number, number] | undefined;
    if (nearest === undefined || nearest[1] < time) low = middle + 1;
    else high = nearest[0];
  }
  return low;
}

/** With a check, so that a cursor somebody changed is refused and does not quietly list from elsewhere. */
function encodeCursor(seq: number): string {
  return `s${seq.toString(36)}.${checkOf(seq)}`;
}

function checkOf(seq: number): string {
  return ((seq * 31 + 7) % 1296).toString(36);
}

function decodeCursor(cursor: string): number {
  const [, digits = "", check] = /^s([0-9a-z]{1,10})\.([0-9a-z]{1,2})$/.exec(cursor) ?? [];
  const seq = Number.parseInt(digits, 36);
  if (!Number.isSafeInteger(seq) || check !== checkOf(seq) || cursor !== encodeCursor(seq))
    throw new MillraceError("invalid_cursor", "cursor must be one that list gave out", { field: "cursor" });
  return seq;
}
