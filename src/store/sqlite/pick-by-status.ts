/** THE SEQUENCES OF JOBS IN SOME STATUSES, picked from the indexes of these statuses. */
import { type Filter, leavesOut, statusesOf } from "../../core/filter.ts";
import type { Status } from "../../core/job.ts";
import { STATE } from "../numbers.ts";
import { MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import type { Catalog, QueueRow } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import { SEQS_DUE, SEQS_ENDED, SEQS_ENDED_WITHIN, SEQS_OF_LANE, SEQS_RUNNING } from "./list-statements.ts";
import { TALLY_OF_STATE } from "./statements.ts";

/** from <= seq < below */
export interface Range {
  readonly from: number;
  readonly below: number;
}

/** The sequences of all jobs in the wanted statuses, newest first, if the tallies say that they are few; else null. */
export function pickFew(on: Connection, catalog: Catalog, query: Filter, range: Range): number[] | null {
  const picks = picksOf(on, catalog, query);
  if (picks === null) return null;
  // Without a job of a wanted status, the others of its index are not read in vain.
  if (picks.every(({ count, passed }) => count() === passed())) return [];
  if (picks.reduce((sum, { count }) => sum + count(), 0) > MAX_CANDIDATES) return null;
  return picks
    .flatMap(({ seqs }) => seqs(range.below, MAX_CANDIDATES))
    .filter((seq) => seq >= range.from)
    .sort((a, b) => b - a);
}

/**
 * The sequences of all jobs in the wanted statuses, newest first; if they are many, of one more than may be looked at. Null if all statuses
 * are wanted, or if an index has too many other jobs.
 */
export function pickSome(on: Connection, catalog: Catalog, query: Filter, range: Range): number[] | null {
  const found: number[] = [];
  const picks = picksOf(on, catalog, query);
  for (const { seqs, passed } of picks ?? []) {
    const left = MAX_CANDIDATES + 1 - found.length;
    if (left > 0 && passed() > MAX_PASSED) return null;
    found.push(...seqs(range.below, left));
  }
  return picks === null ? null : found.sort((a, b) => b - a);
}

interface Pick {
  /** How many jobs it looks at, and how many of these are in another status. */
  readonly count: () => number;
  readonly passed: () => number;
  /** Up to `most` sequences below one. */
  readonly seqs: (below: number, most: number) => number[];
}

const NONE = (): number => 0;

/** Where the jobs of each wanted status are; null if all statuses are wanted. */
function picksOf(on: Connection, catalog: Catalog, query: Filter): Pick[] | null {
  const all = catalog.allQueues();
  const queues = all.filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  const statuses = statusesOf(query);
  // Scheduled and retrying jobs share one index, so it is read once for both.
  const isRead = (status: Status): boolean => status === "retrying" && statuses!.includes("scheduled");
  return statuses?.filter((status) => !isRead(status)).map((status) => pickOf(on, catalog, query, STATE[status], queues, all)) ?? null;
}

/**
 * Pending, ended and blocked jobs can be picked by queue, and pending ones by type. The indexes of running, scheduled and retrying jobs
 * have neither.
 */
function pickOf(
  on: Connection,
  catalog: Catalog,
  { type, status, endedFrom, endedTo }: Filter,
  state: number,
  queues: readonly QueueRow[],
  all: readonly QueueRow[],
): Pick {
  const countIn = (some: readonly QueueRow[], which = state): number =>
    some.reduce((sum, { id }) => sum + on.number(TALLY_OF_STATE, id, which)!, 0);
  const read = (text: string, ...values: (number | null)[]): number[] => (on.all(text, ...values) as [number][]).map(([seq]) => seq);
  const readEach = (places: readonly number[], most: number, readOne: (place: number, left: number) => number[]): number[] => {
    const found: number[] = [];
    for (const place of places) if (found.length < most) found.push(...readOne(place, most - found.length));
    return found;
  };
  if (state >= STATE.completed) {
    const ids = queues.map(({ id }) => id);
    const isDated = endedFrom !== undefined || endedTo !== undefined;
    const readOne = (below: number) => (queue: number, left: number) =>
      isDated
        ? read(SEQS_ENDED_WITHIN, state, below, queue, left, endedFrom ?? null, endedTo ?? null)
        : read(SEQS_ENDED, state, below, queue, left);
    return { count: () => countIn(queues), passed: NONE, seqs: (below, most) => readEach(ids, most, readOne(below)) };
  }
  if (state === STATE.pending) {
    const lanes = queues.flatMap(({ id }) => catalog.lanesOfAll(id, type === undefined ? "*" : [type]));
    const readOne = (below: number) => (lane: number, left: number) => read(SEQS_OF_LANE, lane, below, left);
    return { count: () => countIn(queues), passed: NONE, seqs: (below, most) => readEach(lanes, most, readOne(below)) };
  }
  if (state === STATE.running) {
    return { count: () => countIn(all), passed: NONE, seqs: (below, most) => read(SEQS_RUNNING, state, below, most) };
  }
  // To find one of the two statuses, it reads both.
  const other = state === STATE.scheduled ? STATE.retrying : STATE.scheduled;
  const areBoth = state === STATE.scheduled && status!.includes("retrying");
  const highest = areBoth ? other : state;
  const countOther = (): number => countIn(all, other);
  return {
    count: () => countIn(all) + countOther(),
    passed: areBoth ? NONE : countOther,
    seqs: (below, most) => read(SEQS_DUE, state, highest, below, most),
  };
}
