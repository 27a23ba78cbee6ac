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
  /** From below which sequence the next stretch is; null when there is none. */
  below: string | null;
}

/** The most jobs that one call shows. */
const LONGEST_STRETCH = 500;
/** The most jobs that one call looks at, and whose bodies it searches: nobody else gets on meanwhile. */
const MOST_LOOKED_AT = 2000;
const MOST_SEARCHED = 500;

/** Of a job in a reply: id, body, record, and where what is searched for was found. */
const COLUMNS = 4;
const IN_PAYLOAD = 1;

/**
 * Lists newest first, which is by falling sequence: the sequence is the time of insertion in microseconds, so it orders jobs of different
 * partitions too. Each partition gives its jobs in stretches, and these are merged. A cursor is the sequence of the last job that was shown or
 * passed over.
 */
export async function listJobs(context: Context, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const below = query.cursor === undefined ? "" : decodeCursor(query.cursor);
  const sources = await sourcesOf(context, query, below);
  const jobs: JobSummaryRecord[] = [];
  const looked = new Looked();
  for (;;) {
    const source = newest(sources);
    // One that holds nothing above the newest job need not be looked at before that is shown. So a page always gets further than where it began.
    const isOpen = ({ rows, below }: Source): boolean =>
      rows.length === 0 && below !== null && (source === null || below === "" || Number(below) > source.rows[0]!.seq);
    const empty = sources.filter(isOpen);
    if (empty.length > 0) {
      if (looked.isEnough) return { jobs, cursor: highest(sources) };
      // Where some may be passed over here, one does not know how many it takes.
      const stretch = isPicky(query) ? LONGEST_STRETCH : Math.min(LONGEST_STRETCH, Math.ceil((2 * query.limit) / sources.length) + 1);
      const most = looked.share(empty.length);
      await Promise.all(empty.map(async (source) => looked.add(await fill(context, source, query, stretch, most))));
      continue;
    }
    if (source === null) return { jobs, cursor: null };
    // One more than was asked for is looked up, so that the last page says that it is the last.
    if (jobs.length === query.limit) return { jobs, cursor: encodeCursor(source.rows[0]!.seq + 1) };
    jobs.push(source.rows.shift()!.job);
  }
}

/** How many jobs a call has looked at. Those of our own that are left out are no candidates, but have a bound of their own. */
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

  /** How many each of so many sources may still look at. */
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

/** Where the next page begins when this one ends for having looked at enough: whatever is below it was not shown yet. */
function highest(sources: readonly Source[]): string {
  const marks = sources.flatMap(({ rows, below }) => (rows.length > 0 ? [rows[0]!.seq + 1] : below === null ? [] : [Number(below)]));
  return encodeCursor(Math.max(...marks));
}

/** Reads the next stretch of a source. Tells how many jobs were looked at, and how many of these are our own and left out. */
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
    // What comes behind it is older still.
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
    ? session.run(LIST, place, wordsOf(source, query, want, Math.min(most, MOST_LOOKED_AT)))
    : session.run(SEARCH, place, searchWordsOf(source, query, query.q, want, most));
}

/** What every script is told that looks through jobs. */
function wordsOf(source: Source, filter: Filter, want: number, most: number): string[] {
  const { status, type, queue, priority, tag, from, to, internal } = filter;
  const states = statesOf([...new Set(status ?? STATUSES)]);
  const [min, max, since, before] = [priority?.min, priority?.max, from, to].map((value) => (value === undefined ? "" : String(value)));
  const wanted = [type ?? "", queue ?? "", min!, max!, since!, tag === undefined ? "" : JSON.stringify(tag), internal === true ? "1" : ""];
  return [source.below!, before!, states, String(want), String(most), ...wanted];
}

/** The same where a text is searched for. */
function searchWordsOf(source: Source, filter: Filter, q: string, want: number, most: number): string[] {
  const { text, inJson } = searchFor(q);
  const isLikeId = /^[0-9a-f-]+$/.test(text);
  return [...wordsOf(source, filter, want, Math.min(most, MOST_SEARCHED)), text, inJson, isLikeId ? "1" : ""];
}

/** How many jobs a list would find among the candidates that it looks at. What scripts cannot tell is read and looked at here. */
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
      ? await session.run(COUNT, place, wordsOf(source, filter, most, most))
      : await session.run(COUNT_FOUND, place, searchWordsOf(source, filter, filter.q, most, most));
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

/** Whether it is not the script alone that chooses. */
function isPicky({ tag, group, q, to }: ListQuery): boolean {
  return [tag, group, q, to].some((filter) => filter !== undefined);
}

function encodeCursor(below: number): string {
  return `r${below.toString(36)}`;
}

function decodeCursor(cursor: string): string {
  const below = /^r[0-9a-z]{1,11}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (!Number.isSafeInteger(below)) throw new MillraceError("invalid_cursor", "cursor must be one that list gave out", { field: "cursor" });
  return String(below);
}
