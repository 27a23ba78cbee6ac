import { type Filter, leftOutOf, matcherOf, statusesOf } from "../../core/filter.ts";
import type { JobSummaryRecord, Status } from "../../core/job.ts";
import type { StateOrder } from "../../core/list-order.ts";
import { searchFor } from "../../core/search.ts";
import { LEVELS, readTallyMetric, STATE, tallyMetric } from "../numbers.ts";
import { decodePlace, encodePlace, invalidCursor, orderOf, type Place } from "../state-order.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import { encodeFacets, encodeText, numbers, type Row, texts } from "./codec.ts";
import { type Context, readSummaries } from "./context.ts";

/** The position of a job in a list: when it was created, and its sequence among jobs of the same moment. */
type Position = readonly [createdAt: number, seq: number];

/** How many stretches a list may walk because it skipped jobs. */
const MAX_STRETCHES = MAX_PASSED / MAX_CANDIDATES;

/** How many jobs of a facet one call searches: they lie far apart in the table, so that to read one costs three times as much as otherwise. */
const MOST_SEARCHED_OF_FACET = 4000;

/** How many rows of another status or queue a pick reads at most: one after the other, from a narrow table. */
const MAX_READ_BESIDE = 100_000;

/**
 * In the order of a state: how many candidates the first stretch looks at if a filter may leave some out, and how fast stretches grow. Each
 * reads from every queue or lane, so there are few stretches.
 */
const FIRST_STRETCH = 1000;
const GROWTH = 9;
/** About how many rows one stretch of ended jobs reads at most, from all queues together. A page is read in any case. */
const MOST_OF_STRETCH = 100_000;

type Page = { jobs: JobSummaryRecord[]; cursor: string | null };

export function listJobs(context: Context, query: ListQuery): Promise<Page> {
  const order = orderOf(query);
  return order === null ? listNewest(context, query) : listByState(context, query, order);
}

/** Lists in the order of a state: walks the index of that state in stretches. */
async function listByState(context: Context, query: ListQuery, order: StateOrder): Promise<Page> {
  const jobs: JobSummaryRecord[] = [];
  const { statements, texts, isMeant } = searchOf(context, query);
  let place = query.cursor === undefined ? null : decodePlace("p", order, query.cursor);
  // Without a job of a wanted status, the others of the table are not read in vain.
  if (order === "due" && place === null && (await countOf(context, statusesOf(query)!, query)) === 0) return { jobs, cursor: null };
  const longest = await longestStretch(context, query, order);
  let most = Math.min(longest, isFound(query, order) ? query.limit + 1 : FIRST_STRETCH);
  for (let candidates = 0, passed = 0; ;) {
    const limit = query.limit - jobs.length;
    const range = [place?.at ?? null, place?.seq ?? null, query.from ?? null, query.to ?? null];
    const rows = await context.connections.call(statements[order], [...range, ...filterValues(query, most, limit), ...texts]);
    if (rows.length === 0) return { jobs, cursor: null };
    const [looked, wanted, isLast, lastAt, lastSeq] = rows[0] as [number, number, boolean, number, number];
    const found = rows.filter((row) => row[PLACE_COLUMN] !== null);
    const summaries = await readSummaries(context, found, PLACE_COLUMN + 3);
    jobs.push(...summaries.filter((job, index) => isMeant(job, () => found[index]![PLACE_COLUMN + 2] as boolean)));
    if (found.length === limit) return { jobs, cursor: encodePlace("p", order, placeOf(found.at(-1)!)) };
    if (isLast) return { jobs, cursor: null };
    place = { at: lastAt, seq: lastSeq };
    candidates += wanted;
    passed += looked - wanted;
    if (candidates >= MAX_CANDIDATES || passed >= MAX_PASSED) return { jobs, cursor: encodePlace("p", order, place) };
    most = Math.min(most * GROWTH, longest, MAX_CANDIDATES - candidates);
  }
}

/** How many candidates a stretch may look at. Of ended jobs it reads so many from every queue and status. */
async function longestStretch({ connections, sql }: Context, query: ListQuery, order: StateOrder): Promise<number> {
  if (isFound(query, order)) return query.limit + 1;
  if (order !== "ended") return MAX_CANDIDATES;
  const [row] = await connections.call(sql.countQueues, [query.queue ?? null, queuesLeftOut(query)]);
  const [queues] = row as [number];
  return Math.max(query.limit + 1, Math.floor(MOST_OF_STRETCH / Math.max(1, queues * statusesOf(query)!.length)));
}

/** Where the place of a job is in a row, after what the row says of all candidates. */
const PLACE_COLUMN = 5;

function placeOf(row: Row): Place {
  return { at: row[PLACE_COLUMN] as number, seq: row[PLACE_COLUMN + 1] as number };
}

/** Whether every candidate matches, so that no stretch needs to be longer than the page. */
function isFound(query: ListQuery, order: StateOrder): boolean {
  const { type, queue, exceptQueues, priority, tag, limitKey, facets, group, q, from, to, status } = query;
  const filters: unknown[] = [priority, tag, limitKey, facets, group, q, from, to];
  if (order !== "pending") filters.push(type);
  if (order === "due") filters.push(queue, exceptQueues, status?.length === 2 ? undefined : "one of both");
  return filters.every((filter) => filter === undefined);
}

/** The statements of a query, the texts that they search for, and the test of what they find: a search finds some that do not match. */
function searchOf({ sql }: Context, { q }: Filter) {
  const search = q === undefined ? null : searchFor(q);
  return {
    statements: search === null ? sql : sql.search,
    texts: search === null ? [] : [search.text, search.inJson],
    isMeant: matcherOf({ q, internal: true }),
  };
}

/**
 * Lists newest first. If few jobs have the wanted statuses, they are picked from the tables of these statuses; otherwise it walks down from
 * the newest job, or from the newest with a facet, and leaves out what does not match. Both look at MAX_CANDIDATES jobs at most. A walk
 * over all jobs goes on for as many more as it skipped jobs of queues that are left out, and of other statuses.
 */
async function listNewest(context: Context, query: ListQuery): Promise<Page> {
  const areFew = await hasFew(context, query);
  const jobs: JobSummaryRecord[] = [];
  let after = query.cursor === undefined ? null : decodeCursor(query.cursor);
  for (const walk = new Walk(context, query, await longestWalk(context, query, query.limit + 1)); ;) {
    const limit = query.limit - jobs.length;
    const page = await listStretch(context, query, after, areFew, walk.stretch, limit);
    jobs.push(...page.jobs);
    if (page.last !== null) return { jobs, cursor: encodeCursor(page.last) };
    after = areFew ? null : await walk.advance(after);
    if (after === null || walk.isOver) return { jobs, cursor: after === null ? null : encodeCursor(after) };
  }
}

/** One stretch of a list; `last` is the position of the last job if the limit was reached. */
async function listStretch(
  context: Context,
  query: ListQuery,
  after: Position | null,
  areFew: boolean,
  most: number,
  limit: number,
): Promise<{ jobs: JobSummaryRecord[]; last: Position | null }> {
  const { statements, texts, isMeant } = searchOf(context, query);
  const values = [...rangeOf(query, after), ...filterValues(query, most, limit), ...texts];
  const rows = await context.connections.call(statements[areFew ? "pick" : wayOfWalk(query)], values);
  const found = await readSummaries(context, rows, 2);
  const jobs = found.filter((job, index) => isMeant(job, () => rows[index]![1] as boolean));
  return { jobs, last: rows.length === limit ? [found.at(-1)!.createdAt, rows.at(-1)![0] as number] : null };
}

export async function countMatches(context: Context, filter: Filter): Promise<{ count: number; isCapped: boolean }> {
  if (await canPick(context, filter)) {
    const values = [...rangeOf(filter, null), ...filterValues(filter, MAX_CANDIDATES + 1, MAX_CANDIDATES)];
    const [count, looked] = await countStretch(context, filter, "pick", values);
    return { count: Math.min(count, MAX_CANDIDATES), isCapped: looked! > MAX_CANDIDATES };
  }
  let count = 0;
  let after: Position | null = null;
  const filled = await withoutEmpty(context, filter);
  for (const walk = new Walk(context, filled, await longestWalk(context, filled, 1)); ;) {
    const values = [...rangeOf(filled, after), ...filterValues(filled, walk.stretch, MAX_CANDIDATES)];
    const [some] = await countStretch(context, filled, wayOfWalk(filled), values);
    count += some;
    after = await walk.advance(after);
    if (count > MAX_CANDIDATES) return { count: MAX_CANDIDATES, isCapped: true };
    if (after === null) return { count, isCapped: false };
    if (walk.isOver || count === MAX_CANDIDATES) return { count, isCapped: await walk.hasMore(after) };
  }
}

/** A filter without the statuses that no job has: a walk looks for each job in the tables of all wanted ones. */
async function withoutEmpty(context: Context, filter: Filter): Promise<Filter> {
  const status = statusesOf(filter);
  if (status === undefined) return filter;
  const rows = await context.connections.call(context.sql.tallies, [talliesOf(status), filter.queue ?? null, queuesLeftOut(filter)]);
  const filled = new Set(rows.map(([metric]) => readTallyMetric(metric as number).status));
  return { ...filter, status: status.filter((one) => filled.has(one)) };
}

/**
 * Whether a count takes its candidates from the tables of the wanted statuses. Not if these are many, and it asks for a time of creation or
 * can walk the index of a facet; and not for one of the two statuses that share a table, if the other has too many jobs.
 */
async function canPick(context: Context, filter: Filter): Promise<boolean> {
  const status = statusesOf(filter);
  if (status === undefined) return false;
  if (filter.from !== undefined || filter.to !== undefined || isByFacet(filter)) return hasFew(context, filter);
  return hasFewBeside(context, status);
}

/** Whether there are indexes of what is wanted: a facet. */
function isByFacet({ facets }: Filter): boolean {
  return facets !== undefined;
}

type Way = "walk" | "walkFacet" | "walkFacets";

function wayOfWalk(filter: Filter): Way {
  if (!isByFacet(filter)) return "walk";
  return filter.queue === undefined ? "walkFacets" : "walkFacet";
}

/** How many jobs one stretch of a walk looks at, and at least so many. Of a facet in all queues it reads so many from each that has it. */
async function longestWalk({ connections, sql }: Context, filter: Filter, least: number): Promise<number> {
  if (wayOfWalk(filter) !== "walkFacets") return MAX_CANDIDATES;
  const [row] = await connections.call(sql.countFacetQueues, [encodeFacets(filter.facets)]);
  const [queues] = row as [number];
  return Math.max(least, Math.floor(MAX_CANDIDATES / Math.max(1, queues)));
}

/** A walk: how many candidates it may still look at, and where it goes on. */
class Walk {
  readonly #context: Context;
  readonly #filter: Filter;
  readonly #longest: number;
  #left: number;
  #stretches = 0;

  /** Whether every job of a wanted status and queue matches. Then all others are skipped, and there is no need to tell them apart. */
  readonly #isByStatus: boolean;

  constructor(context: Context, filter: Filter, longest: number) {
    this.#context = context;
    this.#filter = filter;
    this.#longest = longest;
    const { status, type, priority, tag, limitKey, facets, group, q, endedFrom, endedTo } = filter;
    const others = [type, priority, tag, limitKey, facets, group, q, endedFrom, endedTo];
    this.#left = isByFacet(filter) && q !== undefined ? MOST_SEARCHED_OF_FACET : MAX_CANDIDATES;
    this.#isByStatus = status !== undefined && others.every((value) => value === undefined);
  }

  /** How many jobs the next stretch looks at. */
  get stretch(): number {
    return Math.min(this.#left, this.#longest);
  }

  get isOver(): boolean {
    return this.#left <= 0 || this.#stretches >= MAX_STRETCHES;
  }

  /** The end of the stretch after this position; null at the end of the list. */
  async advance(after: Position | null): Promise<Position | null> {
    const end = await this.#ask(after, this.stretch);
    if (end === null) return null;
    if (!this.#isByStatus) this.#left -= end[2];
    this.#stretches++;
    return [end[0], end[1]];
  }

  /** Whether there is a job after this position. */
  async hasMore(after: Position): Promise<boolean> {
    return (await this.#ask(after, 1)) !== null;
  }

  async #ask(after: Position | null, jobs: number): Promise<readonly [createdAt: number, seq: number, looked: number] | null> {
    const filter = this.#filter;
    const [statement, ...given] = this.#last();
    const [row] = (await this.#context.connections.call(statement, [...rangeOf(filter, after), jobs, ...given])) as (Row | undefined)[];
    return row === undefined ? null : [row[0] as number, row[1] as number, row[2] as number];
  }

  /** The statement that finds the end of a stretch, and what it takes. */
  #last(): [statement: string, ...values: unknown[]] {
    const { lastCandidate, lastOfFacet, lastOfFacets } = this.#context.sql;
    const { queue } = this.#filter;
    const facets = encodeFacets(this.#filter.facets);
    switch (wayOfWalk(this.#filter)) {
      case "walkFacet":
        return [lastOfFacet, queue, facets];
      case "walkFacets":
        return [lastOfFacets, facets];
      case "walk":
        return this.#isByStatus
          ? [lastCandidate, queuesLeftOut({ internal: true }), null]
          : [lastCandidate, queuesLeftOut(this.#filter), statesOf(this.#filter)];
    }
  }
}

/** How many match, and if they were picked, among how many candidates. */
async function countStretch(context: Context, filter: Filter, way: "pick" | Way, values: readonly unknown[]): Promise<[number, number?]> {
  const { countInPayload, searchBeside } = context.sql;
  if (filter.q === undefined) {
    const [row] = await context.connections.call(countOfRows(context, filter, way), values);
    return row as [number, number?];
  }
  // The server counts matches in payloads. Other possible matches are read and checked here.
  const search = searchFor(filter.q);
  const [row] = await context.connections.call(countInPayload[way], [...values, search.text]);
  const [inPayload, looked] = row as [number, number?];
  const rows = await context.connections.call(searchBeside[way], [...values, search.text, search.inJson]);
  const beside = await readSummaries(context, rows, 2);
  return [inPayload + beside.filter((job) => search.isInSummary(job)).length, looked];
}

/** The statement that counts without a search: it reads of a job only what the filter asks for. */
function countOfRows({ sql }: Context, filter: Filter, way: "pick" | Way): string {
  const { from, to, tag, limitKey, facets, group } = filter;
  if (way === "pick") return [from, to, tag, limitKey, facets].every((value) => value === undefined) ? sql.countPicked : sql.count.pick;
  return statusesOf(filter) === undefined && group === undefined ? sql.countBodies[way] : sql.count[way];
}

/** The range of a list, as statements take it. */
function rangeOf({ from, to }: Filter, after: Position | null): (number | null)[] {
  return [after?.[0] ?? null, after?.[1] ?? null, from ?? null, to ?? null];
}

/** The filter, the most candidates and the limit, as statements take them. */
function filterValues(filter: Filter, most: number, limit: number): unknown[] {
  const { type, queue, priority, tag, group, endedFrom, endedTo } = filter;
  const { min = null, max = null } = priority ?? {};
  const ofJob = [type ?? null, queue ?? null, min, max, tag === undefined ? null : encodeText(tag), group ?? null, queuesLeftOut(filter)];
  return [statesOf(filter), ...ofJob, endedFrom ?? null, endedTo ?? null, most, limit, encodeFacets(filter.facets), encodeLimitKey(filter)];
}

export function encodeLimitKey({ limitKey }: Pick<Filter, "limitKey">): string | null {
  return limitKey === undefined ? null : encodeText(limitKey);
}

/** The queues that a filter leaves out, as statements take them. */
export function queuesLeftOut(filter: Pick<Filter, "internal" | "exceptQueues">): string {
  return texts(leftOutOf(filter));
}

function statesOf(filter: Filter): string | null {
  const status = statusesOf(filter);
  return status === undefined ? null : numbers([...new Set(status)].map((one) => STATE[one]));
}

/** The tallies of all jobs in these statuses, as statements take them. */
export function talliesOf(statuses: readonly Status[]): string {
  return numbers(statuses.flatMap((status) => LEVELS.map((_, level) => tallyMetric(STATE[status], level))));
}

/** Whether few enough jobs have the wanted statuses to look at all. Scheduled and retrying jobs share one table. */
async function hasFew(context: Context, filter: Filter): Promise<boolean> {
  const status = statusesOf(filter);
  if (status === undefined) return false;
  if ((await countOf(context, status, filter)) > MAX_CANDIDATES) return false;
  return !status.some((one) => DUE.includes(one)) || (await countOf(context, DUE, { internal: true })) <= MAX_READ_BESIDE;
}

/** The statuses that share a table. */
const DUE: readonly Status[] = ["scheduled", "retrying"];

/** Whether that table, if only one of both statuses is wanted, has few jobs of the other. */
async function hasFewBeside(context: Context, status: readonly Status[]): Promise<boolean> {
  const others = DUE.filter((one) => !status.includes(one));
  return others.length !== 1 || (await countOf(context, others, { internal: true })) <= MAX_READ_BESIDE;
}

async function countOf({ connections, sql }: Context, statuses: readonly Status[], filter: Filter): Promise<number> {
  const [row] = await connections.call(sql.countStates, [talliesOf(statuses), filter.queue ?? null, queuesLeftOut(filter)]);
  return row![0] as number;
}

function encodeCursor([createdAt, seq]: Position): string {
  return `p${createdAt.toString(36)}.${seq.toString(36)}`;
}

function decodeCursor(cursor: string): Position {
  const found = /^p(-?[0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(cursor);
  const place = found === null ? null : ([Number.parseInt(found[1]!, 36), Number.parseInt(found[2]!, 36)] as const);
  if (place === null || !place.every(Number.isSafeInteger)) {
    throw invalidCursor();
  }
  return place;
}
