import { MillraceError } from "../../core/errors.ts";
import { type Filter, leavesOut, type Matcher, matcherOf } from "../../core/filter.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import { type Search, searchFor } from "../../core/search.ts";
import { STATE } from "../numbers.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import type { Catalog, QueueRow } from "./catalog.ts";
import { laneOf, readSummary, type Row, searchedOf, seqOf } from "./codec.ts";
import { type Conditions, conditionsOf, leftOutBy } from "./conditions.ts";
import type { Connection } from "./connection.ts";
import {
  countJobs,
  CREATED_AT,
  HIGHEST_SEQ,
  lookAtJob,
  NTH_BELOW,
  NTH_CANDIDATE_BELOW,
  SEARCH_PAYLOAD,
  searchJob,
  searchJobs,
  SEQS_DUE,
  SEQS_ENDED,
  SEQS_OF_LANE,
  SEQS_RUNNING,
  SMALL_PAYLOAD_BYTES,
  TALLY_OF_STATE,
  walkJobs,
} from "./statements.ts";
import type { View } from "./transaction.ts";

/** A search stops after reading this many bytes of payloads, because it blocks this process meanwhile. */
const MOST_PAYLOAD_BYTES = 16 * 1024 * 1024;
/** How many candidates one statement looks at; fewer if it searches payloads. */
const BATCH = 2000;
const SEARCHED_BATCH = 250;

type Page = { jobs: JobSummaryRecord[]; cursor: string | null };

/**
 * Lists newest first, by falling sequence. If few jobs have the wanted statuses, their sequences are picked from the indexes of these
 * statuses; otherwise it walks down the table. Both look at MAX_CANDIDATES jobs at most.
 */
export function listJobs({ on, catalog }: View, query: ListQuery): Page {
  return new Scan(on, catalog, query).list(query.limit);
}

export function countMatches({ on, catalog }: View, filter: Filter): { count: number; isCapped: boolean } {
  return new Scan(on, catalog, filter).count();
}

/** Candidates that passed the database's filter, newest first, and below which sequence the next ones are (null: there are none). */
interface Batch {
  readonly rows: readonly Row[];
  readonly next: number | null;
}

/** One pass through the candidates of a filter. */
class Scan {
  readonly #on: Connection;
  readonly #catalog: Catalog;
  readonly #filter: Filter;
  readonly #range: Range;
  /** The sequences of the candidates, if they are few. */
  readonly #picked: readonly number[] | null;
  readonly #isMeant: Matcher;
  /** Internal queues to skip. */
  readonly #leftOut: readonly number[];
  /** Payload bytes read so far. */
  #bytes = 0;

  constructor(on: Connection, catalog: Catalog, query: Filter & { readonly cursor?: string | undefined }) {
    this.#on = on;
    this.#catalog = catalog;
    this.#filter = query;
    this.#range = seqRange(on, query);
    this.#picked = pickFew(on, catalog, query, this.#range);
    this.#isMeant = matcherOf(query);
    this.#leftOut = leftOutBy(catalog, query);
  }

  list(limit: number): Page {
    const jobs: JobSummaryRecord[] = [];
    let below: number | null = null;
    for (const { rows, next } of this.#batches(() => limit - jobs.length)) {
      for (const row of rows) {
        const job = this.#jobIn(row);
        if (job !== null) jobs.push(job);
        if (jobs.length === limit || this.#hasReadEnough) return { jobs, cursor: encodeCursor(seqOf(row)) };
      }
      below = next;
      if (this.#hasReadEnough) break;
    }
    return { jobs, cursor: below === null ? null : encodeCursor(below) };
  }

  count(): { count: number; isCapped: boolean } {
    const where = conditionsOf(this.#catalog, this.#filter, this.#leftOut);
    if (where.isExact && this.#picked === null) return this.#countAtOnce(where);
    let count = 0;
    let below: number | null = null;
    for (const { rows, next } of this.#batches(() => MAX_CANDIDATES)) {
      count += rows.filter((row) => this.#jobIn(row) !== null).length;
      below = next;
      if (this.#hasReadEnough) break;
    }
    return { count, isCapped: below !== null && this.#hasBelow(below) };
  }

  #countAtOnce({ text, values }: Conditions): { count: number; isCapped: boolean } {
    const { below, from } = this.#range;
    const end = this.#nthBelow(below, MAX_CANDIDATES - 1);
    const count = this.#on.number(countJobs(text), ...values, below, end ?? from)!;
    return { count, isCapped: end !== null && this.#hasBelow(end) };
  }

  get #hasReadEnough(): boolean {
    return this.#bytes >= MOST_PAYLOAD_BYTES;
  }

  #batches(spaceLeft: () => number): Iterable<Batch> {
    return this.#picked === null ? this.#walk(spaceLeft) : this.#fetch(this.#picked);
  }

  *#walk(spaceLeft: () => number): Generator<Batch> {
    const { text, values, search } = conditionsOf(this.#catalog, this.#filter, this.#leftOut);
    const size = search === null ? BATCH : SEARCHED_BATCH;
    const statement = search === null ? walkJobs(text) : searchJobs(text);
    const given = search === null ? values : [search.text, ...values];
    let { below } = this.#range;
    for (let looked = 0; looked < MAX_CANDIDATES; looked += size) {
      const end = this.#nthBelow(below, size - 1);
      const asked = spaceLeft();
      const rows = this.#on.all(statement, ...given, below, end ?? this.#range.from, asked);
      if (search !== null) this.#bytes += this.#on.number(SMALL_PAYLOAD_BYTES, below, end ?? this.#range.from) ?? 0;
      const next = rows.length === asked ? seqOf(rows.at(-1)!) : end;
      yield { rows, next };
      if (next === null) return;
      below = next;
    }
  }

  *#fetch(seqs: readonly number[]): Generator<Batch> {
    // The search is not a condition of the statement: left-out rows would not tell how much was read.
    const { text, values } = conditionsOf(this.#catalog, { ...this.#filter, q: undefined }, this.#leftOut);
    const search = this.#filter.q === undefined ? null : searchFor(this.#filter.q);
    const statement = search === null ? lookAtJob(text) : searchJob(text);
    const given = search === null ? values : [search.text, ...values];
    for (let at = 0; at < seqs.length; at += SEARCHED_BATCH) {
      const some = seqs.slice(at, at + SEARCHED_BATCH);
      const rows = some.map((seq) => this.#on.get(statement, ...given, seq)).filter((row) => row !== undefined);
      if (search !== null) for (const row of rows) if (searchedOf(row).isFound !== null) this.#bytes += searchedOf(row).payloadBytes;
      yield { rows, next: at + SEARCHED_BATCH < seqs.length ? some.at(-1)! : null };
    }
  }

  /** The job, if it matches. */
  #jobIn(row: Row): JobSummaryRecord | null {
    const job = readSummary(row, this.#catalog.namesOf(laneOf(row)));
    return this.#isMeant(job, (search) => this.#isInPayload(row, search)) ? job : null;
  }

  #isInPayload(row: Row, search: Search): boolean {
    const { payloadBytes, isFound } = searchedOf(row);
    if (isFound !== null) return isFound;
    this.#bytes += payloadBytes;
    return this.#on.number(SEARCH_PAYLOAD, search.text, seqOf(row)) === 1;
  }

  #hasBelow(below: number): boolean {
    return this.#nthBelow(below, 0, MAX_PASSED) !== null;
  }

  /**
   * The sequence of the candidate after `passed` others, or null if there are fewer. If too many internal jobs are in between, the sequence
   * of the last job that may be looked at.
   */
  #nthBelow(below: number, passed: number, most: number = (passed + 1) * (MAX_PASSED / MAX_CANDIDATES)): number | null {
    const { from } = this.#range;
    if (this.#leftOut.length === 0) return this.#on.number(NTH_BELOW, below, from, passed);
    const nth = this.#on.number(NTH_CANDIDATE_BELOW, below, from, most, JSON.stringify(this.#leftOut), passed);
    return nth ?? this.#on.number(NTH_BELOW, below, from, most - 1);
  }
}

/** The sequences of all jobs in the wanted statuses, newest first, if the tallies say that they are few; else null. */
function pickFew(on: Connection, catalog: Catalog, query: Filter, range: Range): number[] | null {
  if (query.status === undefined) return null;
  const all = catalog.allQueues();
  const queues = all.filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  const picks = query.status.map((status) => pickOf(on, catalog, STATE[status], queues, all));
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

/** Pending, ended and blocked jobs can be picked by queue. The indexes of running, scheduled and retrying jobs do not have the queue. */
function pickOf(on: Connection, catalog: Catalog, state: number, queues: readonly QueueRow[], all: readonly QueueRow[]): Pick {
  const countIn = (some: readonly QueueRow[], which = state): number =>
    some.reduce((sum, { id }) => sum + on.number(TALLY_OF_STATE, id, which)!, 0);
  const read = (text: string, ...values: number[]): number[] => (on.all(text, ...values) as [number][]).map(([seq]) => seq);
  if (state >= STATE.completed) {
    return { count: countIn(queues), seqs: (below) => queues.flatMap(({ id }) => read(SEQS_ENDED, state, below, id)) };
  }
  if (state === STATE.pending) {
    const lanes = queues.flatMap(({ id }) => catalog.lanes(id, "*"));
    return { count: countIn(queues), seqs: (below) => lanes.flatMap((lane) => read(SEQS_OF_LANE, lane, below)) };
  }
  if (state === STATE.running) return { count: countIn(all), seqs: (below) => read(SEQS_RUNNING, state, below) };
  // Scheduled and retrying jobs share one index: to find one status, it reads both.
  const count = countIn(all, STATE.scheduled) + countIn(all, STATE.retrying);
  return { count, seqs: (below) => read(SEQS_DUE, state, below) };
}

/** from <= seq < below */
interface Range {
  readonly from: number;
  readonly below: number;
}

/** Creation times rise with the sequence, so a range of dates is a range of sequences, found by binary search. */
function seqRange(on: Connection, query: Filter & { readonly cursor?: string | undefined }): Range {
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

/** Has a check digit, so that a changed cursor is refused instead of listing from elsewhere. */
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
    throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
  return seq;
}
