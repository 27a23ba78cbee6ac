import { MillraceError } from "../../core/errors.ts";
import { type Filter, matcherOf } from "../../core/filter.ts";
import { type JobSummaryRecord, STATUSES } from "../../core/job.ts";
import { partitionOf } from "../../core/partition.ts";
import { searchFor } from "../../core/search.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import { listOf, numberOf, readLanes, readSummary, type Reply, seqOf, statesOf, textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { longId } from "./ids.ts";
import { COUNT, COUNT_FOUND, LIST, SEARCH } from "./statements/query.ts";

interface Row {
  readonly seq: number;
  readonly job: JobSummaryRecord;
}

/** One partition's jobs, read in stretches. */
interface Source {
  readonly partition: number;
  rows: Row[];
  /** The next stretch is below this sequence; null if there is none. */
  below: string | null;
}

/** The most jobs that one call returns. */
const LONGEST_STRETCH = 500;
/** The most jobs that one call looks at, or searches: it blocks the server meanwhile. */
const MOST_LOOKED_AT = 2000;
const MOST_SEARCHED = 500;

/** Columns of a job in a reply: id, body, record, and where the search text was found. */
const COLUMNS = 4;
const IN_PAYLOAD = 1;

/**
 * Lists newest first, by falling sequence. The sequence is the time of insertion in microseconds, so it also orders jobs of different
 * partitions. Each partition returns its jobs in stretches, which are merged. A cursor is the sequence of the last job that was shown or
 * skipped.
 */
export async function listJobs(context: Context, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const below = query.cursor === undefined ? "" : decodeCursor(query.cursor);
  const sources = await sourcesOf(context, query, below);
  const jobs: JobSummaryRecord[] = [];
  const looked = new Looked();
  for (;;) {
    const source = newest(sources);
    // A source with nothing above the newest job is not read before that job is shown. So a page always makes progress.
    const isOpen = ({ rows, below }: Source): boolean =>
      rows.length === 0 && below !== null && (source === null || below === "" || Number(below) > source.rows[0]!.seq);
    const empty = sources.filter(isOpen);
    if (empty.length > 0) {
      if (looked.isEnough) return { jobs, cursor: highest(sources) };
      // If some are filtered out here, it is not known how many it takes.
      const stretch = filtersHere(query) ? LONGEST_STRETCH : Math.min(LONGEST_STRETCH, Math.ceil((2 * query.limit) / sources.length) + 1);
      const most = looked.share(empty.length);
      await Promise.all(empty.map(async (source) => looked.add(await fill(context, source, query, stretch, most))));
      continue;
    }
    if (source === null) return { jobs, cursor: null };
    // It looks for one job more than asked for, so that the last page has no cursor.
    if (jobs.length === query.limit) return { jobs, cursor: encodeCursor(source.rows[0]!.seq + 1) };
    jobs.push(source.rows.shift()!.job);
  }
}

/** How many jobs a call has looked at. Skipped internal jobs are not candidates, but have their own limit. */
class Looked {
  #candidates = 0;
  #passed = 0;

  add({ looked, passed }: { readonly looked: number; readonly passed: number }): void {
    this.#candidates += looked - passed;
    this.#passed += passed;
  }

  get isEnough(): boolean {
    return this.#candidates >= MAX_CANDIDATES || this.#passed >= MAX_PASSED;
  }

  /** How many jobs each of `sources` may still look at. */
  share(sources: number): number {
    return Math.max(1, Math.floor((MAX_CANDIDATES - this.#candidates) / sources));
  }
}

/** The source whose next job is the newest. */
function newest(sources: readonly Source[]): Source | null {
  let best: Source | null = null;
  for (const source of sources) {
    if (source.rows.length > 0 && (best === null || source.rows[0]!.seq > best.rows[0]!.seq)) best = source;
  }
  return best;
}

/** Where the next page begins if this one has looked at enough: nothing below it was shown yet. */
function highest(sources: readonly Source[]): string {
  const marks = sources.flatMap(({ rows, below }) => (rows.length > 0 ? [rows[0]!.seq + 1] : below === null ? [] : [Number(below)]));
  return encodeCursor(Math.max(...marks));
}

/** Reads the next stretch of a source. Returns how many jobs it looked at, and how many of these were skipped internal jobs. */
async function fill(
  context: Context,
  source: Source,
  query: ListQuery,
  want: number,
  most: number,
): Promise<{ looked: number; passed: number }> {
  const [parts, below, looked, lanes, , passed] = listOf(await readStretch(context, source, query, want, most));
  const isMeant = matcherOf({ ...query, from: undefined });
  source.below = textOf(below) === "" ? null : textOf(below);
  for (const { seq, job, isInPayload } of readRows(parts, lanes)) {
    // What follows is older still.
    if (query.from !== undefined && job.createdAt < query.from) source.below = null;
    else if (isMeant(job, () => isInPayload)) source.rows.push({ seq, job });
  }
  return { looked: numberOf(looked), passed: numberOf(passed) };
}

function readRows(parts: Reply | undefined, lanes: Reply | undefined): (Row & { isInPayload: boolean })[] {
  const names = readLanes(lanes);
  const list = listOf(parts);
  return Array.from({ length: list.length / COLUMNS }, (_, index) => {
    const [id, body, record, place] = list.slice(index * COLUMNS, (index + 1) * COLUMNS) as [Buffer, Buffer, Buffer, number];
    return { seq: seqOf(record), job: readSummary(longId(id), body, record, names), isInPayload: place === IN_PAYLOAD };
  });
}

function readStretch({ session, keys }: Context, source: Source, query: ListQuery, want: number, most: number): Promise<Reply> {
  const place = keys.partition(source.partition);
  return query.q === undefined
    ? session.run(LIST, place, filterArgs(source, query, want, Math.min(most, MOST_LOOKED_AT)))
    : session.run(SEARCH, place, searchArgs(source, query, query.q, want, most));
}

/** The arguments of the scripts that look through jobs. */
function filterArgs(source: Source, filter: Filter, want: number, most: number): string[] {
  const { status, type, queue, priority, tag, from, to, internal } = filter;
  const states = statesOf([...new Set(status ?? STATUSES)]);
  const [min, max, since, before] = [priority?.min, priority?.max, from, to].map((value) => (value === undefined ? "" : String(value)));
  const wanted = [type ?? "", queue ?? "", min!, max!, since!, tag === undefined ? "" : JSON.stringify(tag), internal === true ? "1" : ""];
  return [source.below!, before!, states, String(want), String(most), ...wanted];
}

/** The same for a search. */
function searchArgs(source: Source, filter: Filter, q: string, want: number, most: number): string[] {
  const { text, inJson } = searchFor(q);
  const isLikeId = /^[0-9a-f-]+$/.test(text);
  return [...filterArgs(source, filter, want, Math.min(most, MOST_SEARCHED)), text, inJson, isLikeId ? "1" : ""];
}

/** Filters that scripts cannot apply are applied here to what they return. */
export async function countMatches(context: Context, filter: Filter): Promise<{ count: number; isCapped: boolean }> {
  const { tag, group, q, from, to } = filter;
  const isDated = from !== undefined || to !== undefined;
  if (tag !== undefined || group !== undefined || (q !== undefined && isDated)) {
    const { jobs, cursor } = await listJobs(context, { ...filter, limit: MAX_CANDIDATES });
    return { count: jobs.length, isCapped: cursor !== null };
  }
  const sources = await sourcesOf(context, filter, "");
  let count = 0;
  for (const looked = new Looked(); !looked.isEnough;) {
    const open = sources.filter((source) => source.below !== null);
    if (open.length === 0) return { count, isCapped: false };
    const most = Math.min(MOST_LOOKED_AT, looked.share(open.length));
    for (const some of await Promise.all(open.map((source) => countStretch(context, source, filter, most)))) {
      count += some.count;
      looked.add(some);
    }
  }
  return { count, isCapped: sources.some((source) => source.below !== null) };
}

async function countStretch(
  { session, keys }: Context,
  source: Source,
  filter: Filter,
  most: number,
): Promise<{ count: number; looked: number; passed: number }> {
  const place = keys.partition(source.partition);
  const reply =
    filter.q === undefined
      ? await session.run(COUNT, place, filterArgs(source, filter, most, most))
      : await session.run(COUNT_FOUND, place, searchArgs(source, filter, filter.q, most, most));
  const [parts, below, looked, lanes, shown, passed] = listOf(reply);
  source.below = textOf(below) === "" ? null : textOf(below);
  const isMeant = matcherOf(filter);
  const doubtful = readRows(parts, lanes).filter(({ job }) => isMeant(job, () => false));
  return { count: numberOf(shown) + doubtful.length, looked: numberOf(looked), passed: numberOf(passed) };
}

async function sourcesOf({ registry }: Context, { status, queue }: Filter, below: string): Promise<Source[]> {
  if (status?.length === 0) return [];
  const partitions = queue === undefined ? [...(await registry.partitions()).keys()] : [partitionOf(queue)];
  return partitions.map((partition) => ({ partition, rows: [], below }));
}

/** Whether results are also filtered here, not only in the script. */
function filtersHere({ tag, group, q, to }: ListQuery): boolean {
  return [tag, group, q, to].some((filter) => filter !== undefined);
}

function encodeCursor(below: number): string {
  return `r${below.toString(36)}`;
}

function decodeCursor(cursor: string): string {
  const below = /^r[0-9a-z]{1,11}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (!Number.isSafeInteger(below))
    throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
  return String(below);
}
