import type { Facets } from "../../core/facets.ts";
import { type Filter, leavesOut, leftOutOf, matcherOf, statusesOf } from "../../core/filter.ts";
import { type JobSummaryRecord, type Status, STATUSES } from "../../core/job.ts";
import { type StateOrder, stateOrderOf } from "../../core/list-order.ts";
import { partitionOf } from "../../core/partition.ts";
import { searchFor } from "../../core/search.ts";
import { comesBefore, decodePlace, encodePlace, invalidCursor, orderOf, type Place } from "../state-order.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import { jsonOf, listOf, numberOf, readLanes, readSummary, type Reply, seqOf, statesOf, textOf } from "./codec.ts";
import { chunksOf, type Context } from "./context.ts";
import { longId } from "./ids.ts";
import { queueState, queueStates } from "./queues.ts";
import {
  COUNT,
  COUNT_BY_STATE,
  COUNT_FOUND,
  COUNT_FOUND_BY_STATE,
  LIST,
  LIST_BY_STATE,
  SEARCH,
  SEARCH_BY_STATE,
} from "./statements/list.ts";

interface Row {
  /** Newest created first, only the sequence says where it is. */
  readonly place: Place;
  readonly job: JobSummaryRecord;
}

/** What scripts read: all jobs by their creation, or the lines of some statuses. */
type Line = "created" | StateOrder | "running" | "blocked";

/** How scripts call the lines of a state. */
const LETTER: Readonly<Record<Exclude<Line, "created">, string>> = { ended: "E", pending: "P", due: "D", running: "R", blocked: "B" };

/** One partition's jobs, read in stretches. */
interface Source {
  readonly partition: number;
  /** Those of its queues that are wanted. */
  readonly queues: readonly string[];
  /** If it is only one. */
  readonly queue: string | undefined;
  readonly line: Line;
  rows: Row[];
  /** The next stretch is after this place; null if there is none. */
  after: Place | "start" | null;
  /** How far the last stretch went, if it did not begin at the start; null if none was read yet. */
  span: number | null;
}

/** The most jobs that one call returns. */
const LONGEST_STRETCH = 500;
/** The most jobs that one call looks at, or searches: it blocks the server meanwhile. */
const MOST_LOOKED_AT = 2000;
const MOST_SEARCHED = 500;
/** The same for the first call to each partition, which shows how many of the jobs it has. */
const FIRST_LOOKED_AT = 500;

/** Columns of a job in a reply: id, body, record, where the search text was found, and by what it is sorted. */
const COLUMNS = 5;
const IN_PAYLOAD = 1;

/**
 * Lists newest first, by falling sequence, or in the order of a state. The sequence is the time of insertion in microseconds, so it also
 * orders jobs of different partitions. Each partition returns its jobs in stretches, which are merged. A cursor is the place right before
 * the next job.
 */
export async function listJobs(context: Context, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const order = orderOf(query);
  const after = query.cursor === undefined ? "start" : decodeCursor(order, query.cursor);
  const sources = await sourcesOf(context, query, order ?? "created", after);
  const jobs: JobSummaryRecord[] = [];
  const looked = new Looked();
  for (;;) {
    const source = firstOf(sources, order);
    // A source with nothing before the first job is not read before that job is shown. So a page always makes progress.
    const isOpen = ({ rows, after }: Source): boolean =>
      rows.length === 0 && after !== null && (source === null || after === "start" || comesBefore(order, after, source.rows[0]!.place));
    const empty = furthestBehind(sources.filter(isOpen), order);
    if (empty.length > 0) {
      if (looked.isEnough) return { jobs, cursor: encodeCursor(order, firstLeft(sources, order)) };
      const stretch = stretchFor(query, order, query.limit - jobs.length, empty.length);
      const most = empty[0]!.span === null ? Math.min(FIRST_LOOKED_AT, looked.share(2 * empty.length)) : looked.share(empty.length);
      await Promise.all(empty.map(async (source) => looked.add(await fill(context, source, query, stretch, most))));
      continue;
    }
    if (source === null) return { jobs, cursor: null };
    // It looks for one job more than asked for, so that the last page has no cursor.
    if (jobs.length === query.limit) return { jobs, cursor: encodeCursor(order, rightBefore(order, source.rows[0]!.place)) };
    jobs.push(source.rows.shift()!.job);
  }
}

/**
 * How many jobs each of `sources` returns next. If every job matches, each gets an equal share of what is missing, and one that has most of
 * the jobs is asked once more: what is read beyond the page is read again for the next one. With a filter, all that match may be in one. If
 * some are filtered out here, it is not known how many it takes.
 */
function stretchFor(query: ListQuery, order: StateOrder | null, missing: number, sources: number): number {
  if (filtersHere(query, order)) return LONGEST_STRETCH;
  const { type, priority, tag, limitKey, facets, q } = query;
  const isPlain = [type, priority, tag, limitKey, facets, q].every((filter) => filter === undefined);
  return Math.min(LONGEST_STRETCH, Math.ceil(missing / (isPlain ? sources : 1)) + 1);
}

/** How many jobs a call has looked at. Skipped jobs, of a queue that is left out or of another status, are not candidates, but have their own limit. */
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

/** The source whose next job comes first. */
function firstOf(sources: readonly Source[], order: StateOrder | null): Source | null {
  let best: Source | null = null;
  for (const source of sources) {
    if (source.rows.length > 0 && (best === null || comesBefore(order, source.rows[0]!.place, best.rows[0]!.place))) best = source;
  }
  return best;
}

/**
 * Which of these to read next: first all, then the one that is furthest behind, and those that it may catch up with. What a source
 * has read further ahead is lost if the page ends before, so one with few jobs waits for one with most of them.
 */
function furthestBehind(open: readonly Source[], order: StateOrder | null): readonly Source[] {
  const unread = open.filter(({ span }) => span === null);
  if (unread.length > 0 || open.length < 2) return unread.length > 0 ? unread : open;
  const last = open.reduce((first, source) => (comesBefore(order, placeAfter(source), placeAfter(first)) ? source : first));
  return open.filter((source) => distance(placeAfter(last), placeAfter(source)) <= last.span!);
}

function placeAfter({ after }: Source): Place {
  return after as Place;
}

/** In the order of creation only sequences differ, which are times. */
function distance(a: Place, b: Place): number {
  return Math.abs(a.at - b.at) || (a.at === 0 && b.at === 0 ? Math.abs(a.seq - b.seq) : 0);
}

/** Where the next page begins if this one has looked at enough: nothing after it was shown yet. */
function firstLeft(sources: readonly Source[], order: StateOrder | null): Place {
  const places = sources.flatMap(({ rows, after }) =>
    rows.length > 0 ? [rightBefore(order, rows[0]!.place)] : after === null || after === "start" ? [] : [after],
  );
  return places.reduce((first, place) => (comesBefore(order, place, first) ? place : first));
}

function rightBefore(order: StateOrder | null, { at, seq }: Place): Place {
  return { at, seq: order === "pending" || order === "due" ? seq - 1 : seq + 1 };
}

/** Reads the next stretch of a source. Returns how many jobs it looked at, and how many of these were skipped. */
async function fill(
  context: Context,
  source: Source,
  query: ListQuery,
  want: number,
  most: number,
): Promise<{ looked: number; passed: number }> {
  const [parts, after, looked, lanes, , passed] = listOf(await readStretch(context, source, query, want, most));
  const isByCreation = source.line === "created";
  const isMeant = matcherOf(isByCreation ? { ...query, from: undefined } : query);
  const before = source.after;
  source.after = readPlace(textOf(after), source.line);
  source.span = before === null || before === "start" || source.after === null ? 0 : distance(before, source.after);
  for (const { place, job, isInPayload } of readRows(parts, lanes)) {
    // What follows is older still.
    if (isByCreation && query.from !== undefined && job.createdAt < query.from) source.after = null;
    else if (isMeant(job, () => isInPayload)) source.rows.push({ place, job });
  }
  return { looked: numberOf(looked), passed: numberOf(passed) };
}

function readPlace(text: string, line: Line): Place | null {
  if (text === "") return null;
  const [at, seq] = text.split(" ").map(Number);
  return line === "created" ? { at: 0, seq: at! } : { at: at!, seq: seq! };
}

function readRows(parts: Reply | undefined, lanes: Reply | undefined): (Row & { isInPayload: boolean })[] {
  const names = readLanes(lanes);
  const list = listOf(parts);
  return Array.from({ length: list.length / COLUMNS }, (_, index) => {
    const [id, body, record, found, at] = list.slice(index * COLUMNS, (index + 1) * COLUMNS) as [Buffer, Buffer, Buffer, number, Buffer];
    const place = { at: numberOf(at), seq: seqOf(record) };
    return { place, job: readSummary(longId(id), body, record, names), isInPayload: found === IN_PAYLOAD };
  });
}

function readStretch({ session, keys }: Context, source: Source, query: ListQuery, want: number, most: number): Promise<Reply> {
  const [list, search] = source.line === "created" ? [LIST, SEARCH] : [LIST_BY_STATE, SEARCH_BY_STATE];
  return session.run(query.q === undefined ? list : search, keys.partition(source.partition), argsOf(source, query, want, most));
}

/** The arguments of the scripts that look through jobs. */
function argsOf({ after, line, queues, queue }: Source, filter: Filter, want: number, most: number): string[] {
  const { type, priority, from, to, endedFrom, endedTo, q } = filter;
  const states = statesOf([...new Set(statusesOf(filter) ?? STATUSES)]);
  const [min, max, since, before, endsFrom, endsBefore] = [priority?.min, priority?.max, from, to, endedFrom, endedTo].map((value) =>
    value === undefined ? "" : String(value),
  );
  const place = after === "start" || after === null ? { at: "", seq: "" } : { at: String(after.at), seq: String(after.seq) };
  const begins = line === "created" ? place.seq : place.at;
  const bound = String(Math.min(most, q === undefined ? MOST_LOOKED_AT : MOST_SEARCHED));
  const wanted = [type ?? "", queue ?? "", min!, max!, since!, jsonOf(filter.tag), jsonOf(filter.facets), jsonOf(leftOutOf(filter))];
  const args = [begins, before!, states, String(want), bound, ...wanted, endsFrom!, endsBefore!, ...textsOf(q), filter.limitKey ?? ""];
  if (line !== "created") return [...args, LETTER[line], place.seq, ...queues];
  // At its start the tallies may say that there is no such job. Further down they could not say whether the rest has one.
  return after === "start" && statusesOf(filter) !== undefined ? [...args, ...queues] : args;
}

/** The three arguments of a search. */
function textsOf(q: string | undefined): string[] {
  if (q === undefined) return ["", "", ""];
  const { text, inJson } = searchFor(q);
  return [text, inJson, /^[0-9a-f-]+$/.test(text) ? "1" : ""];
}

/** If a facet is wanted, counts in its indexes. If these have too many jobs, but few of the wanted statuses, counts in their lines. */
export async function countMatches(context: Context, filter: Filter): Promise<{ count: number; isCapped: boolean }> {
  const { queue, facets, from, to } = filter;
  const statuses = statusesOf(filter);
  if (statuses === undefined || from !== undefined || to !== undefined) return countIn(context, filter, "created");
  if (facets === undefined) return countIn(context, filter, "state");
  const inFacet = await countIn(context, filter, "created");
  if (!inFacet.isCapped) return inFacet;
  const queues = queue === undefined ? await queueStates(context) : [await queueState(context, queue)];
  const counts = queues.filter(({ name }) => !leavesOut(filter, name)).flatMap((state) => state.counts);
  const wanted = counts.filter(({ status }) => statuses.includes(status));
  const isFew = wanted.reduce((sum, { count }) => sum + count, 0) <= MAX_CANDIDATES;
  return isFew ? countIn(context, filter, "state") : inFacet;
}

/** Filters that scripts cannot apply are applied here to what they return. */
async function countIn(context: Context, filter: Filter, order: "created" | "state"): Promise<{ count: number; isCapped: boolean }> {
  const { tag, group, q, from, to } = filter;
  if (tag !== undefined || group !== undefined || (q !== undefined && (from !== undefined || to !== undefined))) {
    const { jobs, cursor } = await listJobs(context, { ...filter, sort: order, limit: MAX_CANDIDATES });
    return { count: jobs.length, isCapped: cursor !== null };
  }
  const status = statusesOf(filter);
  const groups = order === "created" ? [{ line: "created" as const, status }] : linesOf(status!);
  const looked = new Looked();
  let count = 0;
  for (const { line, status } of groups) {
    const wanted = { ...filter, status };
    const sources = await sourcesOf(context, wanted, line, "start");
    for (let open = sources; open.length > 0; open = sources.filter((source) => source.after !== null)) {
      if (looked.isEnough) {
        const more = await Promise.all(open.map((source) => countStretch(context, source, wanted, 1)));
        const isMore = more.some(({ looked, passed }) => looked > passed) || open.some((source) => source.after !== null);
        if (isMore) return { count, isCapped: true };
        break;
      }
      const most = looked.share(open.length);
      for (const some of await Promise.all(open.map((source) => countStretch(context, source, wanted, most)))) {
        count += some.count;
        looked.add(some);
      }
    }
  }
  return { count, isCapped: false };
}

/** The statuses by the line in which their jobs are. */
function linesOf(statuses: readonly Status[]): { line: Line; status: readonly Status[] }[] {
  const lineOf = (status: Status): Line => stateOrderOf([status]) ?? (status as "running" | "blocked");
  return Array.from(Map.groupBy(statuses, lineOf), ([line, status]) => ({ line, status }));
}

async function countStretch(
  { session, keys }: Context,
  source: Source,
  filter: Filter,
  most: number,
): Promise<{ count: number; looked: number; passed: number }> {
  const [plain, found] = source.line === "created" ? [COUNT, COUNT_FOUND] : [COUNT_BY_STATE, COUNT_FOUND_BY_STATE];
  const args = argsOf(source, filter, most, most);
  const reply = await session.run(filter.q === undefined ? plain : found, keys.partition(source.partition), args);
  const [parts, after, looked, lanes, shown, passed] = listOf(reply);
  source.after = readPlace(textOf(after), source.line);
  const isMeant = matcherOf(filter);
  const doubtful = readRows(parts, lanes).filter(({ job }) => isMeant(job, () => false));
  return { count: numberOf(shown) + doubtful.length, looked: numberOf(looked), passed: numberOf(passed) };
}

/** A source for each partition with a wanted queue; or, by creation and with facets, for each queue that has them: each has its own index. */
async function sourcesOf(context: Context, filter: Filter, line: Line, after: Place | "start"): Promise<Source[]> {
  if (statusesOf(filter)?.length === 0) return [];
  const { queue, facets } = filter;
  const isIndexed = line === "created" && facets !== undefined;
  const names = (queue === undefined ? await context.registry.names() : [queue]).filter((name) => !leavesOut(filter, name));
  const queues = isIndexed && queue === undefined ? await withFacets(context, names, facets) : names;
  const groups = isIndexed ? queues.map((name) => [name]) : Map.groupBy(queues, partitionOf).values();
  return Array.from(groups, (some): Source => {
    const only = isIndexed ? some[0] : queue;
    return { partition: partitionOf(some[0]!), queues: some, queue: only, line, rows: [], after, span: null };
  });
}

/**
 * Those of the queues that have a job with each of these facets. Any queue may have declared them once, and its index tells. To ask for the
 * keys costs far less than a script that finds nothing.
 */
async function withFacets({ session, keys }: Context, queues: readonly string[], facets: Facets): Promise<string[]> {
  const wanted = Object.entries(facets);
  const found: string[] = [];
  for (const some of chunksOf(queues)) {
    const has = await Promise.all(
      some.map((queue) => session.command("EXISTS", ...wanted.map(([field, value]) => keys.facet(queue, field, value)))),
    );
    found.push(...some.filter((_, index) => numberOf(has[index]) === wanted.length));
  }
  return found;
}

/**
 * Whether many results may be left out here. The script finds a tag or a text, and hardly any job that does not match. Newest created first,
 * `from` and `to` are where a list ends and begins.
 */
function filtersHere({ group, from, to }: ListQuery, order: StateOrder | null): boolean {
  return group !== undefined || (order !== null && (from !== undefined || to !== undefined));
}

function encodeCursor(order: StateOrder | null, place: Place): string {
  return order === null ? `r${place.seq.toString(36)}` : encodePlace("r", order, place);
}

function decodeCursor(order: StateOrder | null, cursor: string): Place {
  if (order !== null) return decodePlace("r", order, cursor);
  const seq = /^r[0-9a-z]{1,11}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw invalidCursor();
  return { at: 0, seq };
}
