import { type Filter, leavesOut, type Matcher, matcherOf, statusesOf } from "../../core/filter.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import type { StateOrder } from "../../core/list-order.ts";
import type { Search } from "../../core/search.ts";
import { decodePlace, encodePlace, invalidCursor, orderOf, type Place } from "../state-order.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { laneOf, readSummary, type Row, searchedOf, seqOf } from "./codec.ts";
import { type Conditions, conditionsOf, isCandidate, leftOutBy } from "./conditions.ts";
import type { Connection } from "./connection.ts";
import { placesInOrder } from "./list-by-state.ts";
import { pickFew, pickSome, type Range } from "./pick-by-status.ts";
import {
  candidatesBelow,
  countJobs,
  countPicked,
  CREATED_AT,
  lookAtPicked,
  NTH_BELOW,
  SEARCH_PAYLOAD,
  searchJobs,
  searchPicked,
  SEQS_OF_FACET,
  SMALL_PAYLOAD_BYTES,
  SMALL_PICKED_BYTES,
  walkJobs,
} from "./list-statements.ts";
import { type Line, mergedLines } from "./merged-lines.ts";
import { HIGHEST_SEQ } from "./statements.ts";
import type { View } from "./transaction.ts";

/** A search stops after reading this many bytes of payloads, because it blocks this process meanwhile. */
const MOST_PAYLOAD_BYTES = 16 * 1024 * 1024;
/** How many candidates one statement looks at; fewer if it searches payloads. */
const BATCH = 2000;
const SEARCHED_BATCH = 250;
/** How many jobs one statement reads at most to find a batch of candidates, so that all batches together stay within MAX_PASSED. */
const PASSED_AT_ONCE = SEARCHED_BATCH * (MAX_PASSED / MAX_CANDIDATES);

type Page = { jobs: JobSummaryRecord[]; cursor: string | null };

/**
 * Lists newest first, by falling sequence, or in the order of a state. The sequences of the candidates are picked from the indexes of the
 * wanted statuses if a state gives the order, or if few jobs have these statuses; otherwise it walks down the indexes of a wanted facet, one
 * for each wanted queue, or else the table. All of these look at MAX_CANDIDATES jobs at most.
 */
export function listJobs({ on, catalog }: View, query: ListQuery): Page {
  return new Scan(on, catalog, query).list();
}

export function countMatches({ on, catalog }: View, filter: Filter): { count: number; isCapped: boolean } {
  return new Scan(on, catalog, { ...filter, limit: MAX_CANDIDATES }).count();
}

/** Candidates that passed the database's filter, in order, and after which sequence the next ones are (null: there are none). */
interface Batch {
  readonly rows: readonly Row[];
  readonly next: number | null;
}

/** Sequences of candidates, in order, and after which one the next ones are (null: there are none). */
interface Picked {
  readonly seqs: readonly number[];
  readonly next: number | null;
}

/** One pass through the candidates of a filter. */
class Scan {
  readonly #on: Connection;
  readonly #catalog: Catalog;
  readonly #query: ListQuery;
  readonly #order: StateOrder | null;
  readonly #range: Range;
  readonly #isMeant: Matcher;
  /** Queues to skip: internal ones, and those that the filter names. */
  readonly #leftOut: readonly number[];
  /** The sequences of jobs with a wanted facet, by queue. */
  readonly #facet: readonly Line<Place>[] | null;
  /** In the order of a state: where each sequence is in the index. */
  readonly #at = new Map<number, number>();
  /** Payload bytes read so far. */
  #bytes = 0;

  constructor(on: Connection, catalog: Catalog, query: ListQuery) {
    this.#on = on;
    this.#catalog = catalog;
    this.#query = query;
    this.#order = orderOf(query);
    this.#range = seqRange(on, this.#order === null ? query : { ...query, cursor: undefined });
    this.#isMeant = matcherOf(query);
    this.#leftOut = leftOutBy(catalog, query);
    this.#facet = linesOfFacet(on, catalog, query, this.#range.from);
  }

  list(): Page {
    const { limit } = this.#query;
    const jobs: JobSummaryRecord[] = [];
    let last: number | null = null;
    for (const { rows, next } of this.#batches(() => limit - jobs.length)) {
      for (const row of rows) {
        const job = this.#jobIn(row);
        if (job !== null) jobs.push(job);
        if (jobs.length === limit || this.#hasReadEnough) return { jobs, cursor: this.#cursorAfter(seqOf(row)) };
      }
      last = next;
      if (this.#hasReadEnough) break;
    }
    return { jobs, cursor: last === null ? null : this.#cursorAfter(last) };
  }

  #cursorAfter(seq: number): string {
    return this.#order === null ? encodeCursor(seq) : encodePlace("s", this.#order, { at: this.#at.get(seq)!, seq });
  }

  count(): { count: number; isCapped: boolean } {
    const where = conditionsOf(this.#catalog, this.#query, this.#leftOut);
    const picked = this.#pick();
    if (picked === null) return where.isExact ? this.#countAtOnce(where) : this.#countRows(this.#newest(() => MAX_CANDIDATES));
    const seqs = picked.slice(0, MAX_CANDIDATES);
    const isCapped = picked.length > MAX_CANDIDATES;
    if (where.isExact) return { count: this.#on.number(countPicked(where.text), JSON.stringify(seqs), ...where.values)!, isCapped };
    const { count, isCapped: isCut } = this.#countRows(this.#fetch(slicesOf(seqs)));
    return { count, isCapped: isCapped || isCut };
  }

  /**
   * Sequences of jobs in the wanted statuses, or with a wanted facet: all, or one more than may be looked at. Null if it is better to walk
   * from the newest.
   */
  #pick(): number[] | null {
    const { from, to } = this.#query;
    const isDated = from !== undefined || to !== undefined;
    if (this.#facet !== null) {
      return (
        this.#few() ??
        this.#seqsOf(this.#facet)
          .take(MAX_CANDIDATES + 1)
          .toArray()
      );
    }
    return isDated ? this.#few() : pickSome(this.#on, this.#catalog, this.#query, this.#range);
  }

  #few(): number[] | null {
    return pickFew(this.#on, this.#catalog, this.#query, this.#range);
  }

  #countRows(batches: Iterable<Batch>): { count: number; isCapped: boolean } {
    let count = 0;
    let below: number | null = null;
    for (const { rows, next } of batches) {
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
    if (this.#order !== null) return this.#fetch(this.#inOrder(this.#order, spaceLeft));
    const few = this.#few();
    return few === null ? this.#newest(spaceLeft) : this.#fetch(slicesOf(few));
  }

  /** Newest first. If jobs are passed over, their sequences are read first: so those are looked at only once. */
  #newest(spaceLeft: () => number): Iterable<Batch> {
    if (this.#facet !== null) return this.#fetch(this.#withFacet(this.#facet));
    const isPassing = this.#leftOut.length > 0 || statusesOf(this.#query) !== undefined;
    return isPassing ? this.#fetch(this.#passing()) : this.#walk(spaceLeft);
  }

  #seqsOf(facet: readonly Line<Place>[]): IteratorObject<number> {
    return mergedLines(facet, null, placeOf(this.#range.below)).map(({ seq }) => seq);
  }

  *#withFacet(facet: readonly Line<Place>[]): Generator<Picked> {
    let seqs: number[] = [];
    let looked = 0;
    for (const seq of this.#seqsOf(facet)) {
      seqs.push(seq);
      looked++;
      if (seqs.length === SEARCHED_BATCH) {
        yield { seqs, next: seq };
        if (looked === MAX_CANDIDATES) return;
        seqs = [];
      }
    }
    yield { seqs, next: null };
  }

  *#passing(): Generator<Picked> {
    const { text, values } = isCandidate(this.#query, this.#leftOut);
    const { from } = this.#range;
    let { below } = this.#range;
    for (let looked = 0; looked < MAX_CANDIDATES; looked += SEARCHED_BATCH) {
      const rows = this.#on.all(candidatesBelow(text), below, from, PASSED_AT_ONCE, ...values, SEARCHED_BATCH, 0) as [number][];
      const seqs = rows.map(([seq]) => seq);
      const isFull = seqs.length === SEARCHED_BATCH;
      const next = isFull ? seqs.at(-1)! : this.#on.number(NTH_BELOW, below, from, PASSED_AT_ONCE - 1);
      yield { seqs, next };
      if (next === null) return;
      below = next;
    }
  }

  *#inOrder(order: StateOrder, spaceLeft: () => number): Generator<Picked> {
    const { cursor } = this.#query;
    const after = cursor === undefined ? null : decodePlace("s", order, cursor);
    let seqs: number[] = [];
    let looked = 0;
    let passed = 0;
    let size = Math.min(SEARCHED_BATCH, spaceLeft());
    for (const { at, seq, isOther } of placesInOrder(this.#on, this.#catalog, this.#query, order, after)) {
      this.#at.set(seq, at);
      if (isOther) passed++;
      else {
        seqs.push(seq);
        looked++;
      }
      const isEnough = looked === MAX_CANDIDATES || passed === MAX_PASSED;
      if (isEnough || seqs.length === size) {
        yield { seqs, next: seq };
        if (isEnough) return;
        seqs = [];
        size = Math.min(SEARCHED_BATCH, 2 * size);
      }
    }
    yield { seqs, next: null };
  }

  *#walk(spaceLeft: () => number): Generator<Batch> {
    const { text, values, search } = conditionsOf(this.#catalog, this.#query, this.#leftOut);
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

  *#fetch(picked: Iterable<Picked>): Generator<Batch> {
    const { text, values, search } = conditionsOf(this.#catalog, this.#query, this.#leftOut);
    for (const { seqs, next } of picked) {
      const some = JSON.stringify(seqs);
      if (search === null) yield { rows: this.#on.all(lookAtPicked(text), some, ...values), next };
      else {
        this.#bytes += this.#on.number(SMALL_PICKED_BYTES, some) ?? 0;
        yield { rows: this.#on.all(searchPicked(text), search.text, some, ...values), next };
      }
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
   * The sequence of the candidate after `passed` others, or null if there are fewer. If too many other jobs are in between, the sequence of
   * the last job that may be looked at.
   */
  #nthBelow(below: number, passed: number, most: number = (passed + 1) * (MAX_PASSED / MAX_CANDIDATES)): number | null {
    const { from } = this.#range;
    if (this.#leftOut.length === 0 && statusesOf(this.#query) === undefined) return this.#on.number(NTH_BELOW, below, from, passed);
    const { text, values } = isCandidate(this.#query, this.#leftOut);
    const nth = this.#on.number(candidatesBelow(text), below, from, most, ...values, 1, passed);
    return nth ?? this.#on.number(NTH_BELOW, below, from, most - 1);
  }
}

/** The indexes of the first wanted facet, down to a sequence; null if none is wanted. */
function linesOfFacet(on: Connection, catalog: Catalog, query: Filter, from: number): Line<Place>[] | null {
  const [first] = Object.entries(query.facets ?? {});
  if (first === undefined) return null;
  const queues = catalog.allQueues().filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  return queues.map(({ id }) => ({ seq: below }, limit) => {
    return (on.all(SEQS_OF_FACET, id, ...first, below, from, limit) as [number][]).map(([seq]) => placeOf(seq));
  });
}

/** Newest created first, only the sequence says where a job is. */
function placeOf(seq: number): Place {
  return { at: 0, seq };
}

/** Sequences in batches. */
function* slicesOf(seqs: readonly number[]): Generator<Picked> {
  for (let at = 0; at < seqs.length; at += SEARCHED_BATCH) {
    const some = seqs.slice(at, at + SEARCHED_BATCH);
    yield { seqs: some, next: at + SEARCHED_BATCH < seqs.length ? some.at(-1)! : null };
  }
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
  if (!Number.isSafeInteger(seq) || check !== checkOf(seq) || cursor !== encodeCursor(seq)) throw invalidCursor();
  return seq;
}
