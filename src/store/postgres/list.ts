import { MillraceError } from "../../core/errors.ts";
import { type Filter, matcherOf } from "../../core/filter.ts";
import type { JobSummaryRecord, Status } from "../../core/job.ts";
import { searchFor } from "../../core/search.ts";
import { LEVELS, STATE, tallyMetric } from "../numbers.ts";
import { type ListQuery, MAX_CANDIDATES, MAX_PASSED } from "../store.ts";
import { encodeText, numbers, type Row } from "./codec.ts";
import { type Context, readSummaries } from "./context.ts";

/** The position of a job in a list: when it was created, and its sequence among jobs of the same moment. */
type Position = readonly [createdAt: number, seq: number];

/** How many more stretches a list may walk because it skipped internal jobs. */
const MAX_STRETCHES = MAX_PASSED / MAX_CANDIDATES;

/**
 * Lists newest first. If few jobs have the wanted statuses, they are picked from the tables of these statuses; otherwise it walks down from
 * the newest job and leaves out what does not match. Both look at MAX_CANDIDATES jobs at most; a walk goes on for as many more as it
 * skipped internal jobs.
 */
export async function listJobs(context: Context, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const areFew = await hasFew(context, query);
  const jobs: JobSummaryRecord[] = [];
  let after = query.cursor === undefined ? null : decodeCursor(query.cursor);
  for (const walk = new Walk(context, query); ;) {
    const limit = query.limit - jobs.length;
    const page = await listStretch(context, query, after, areFew, walk.left, limit);
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
  const search = query.q === undefined ? null : searchFor(query.q);
  const texts = search === null ? [] : [search.text, search.inJson];
  const { pick, walk } = search === null ? context.sql : context.sql.search;
  const rows = await context.connections.call(areFew ? pick : walk, [
    ...rangeOf(query, after),
    ...filterValues(query),
    most,
    limit,
    ...texts,
  ]);
  const found = await readSummaries(context, rows, 2);
  // A search compares everything but the payload in its stored form, so some matches are wrong.
  const isMeant = matcherOf({ q: query.q, internal: true });
  const jobs = found.filter((job, index) => isMeant(job, () => rows[index]![1] as boolean));
  return { jobs, last: rows.length === limit ? [found.at(-1)!.createdAt, rows.at(-1)![0] as number] : null };
}

export async function countMatches(context: Context, filter: Filter): Promise<{ count: number; isCapped: boolean }> {
  const areFew = await hasFew(context, filter);
  let count = 0;
  let after: Position | null = null;
  for (const walk = new Walk(context, filter); ;) {
    const values = [...rangeOf(filter, after), ...filterValues(filter), walk.left, MAX_CANDIDATES];
    count += await (filter.q === undefined ? countPlain(context, filter, areFew, values) : countFound(context, filter.q, areFew, values));
    after = areFew ? null : await walk.advance(after);
    if (after === null) return { count, isCapped: false };
    if (walk.isOver) return { count, isCapped: await walk.hasMore(after) };
  }
}

/** A walk: how many candidates it may still look at, and where it goes on. */
class Walk {
  readonly #context: Context;
  readonly #filter: Filter;
  /** How many jobs the next stretch looks at. */
  left: number = MAX_CANDIDATES;
  #stretches = 0;

  constructor(context: Context, filter: Filter) {
    this.#context = context;
    this.#filter = filter;
  }

  get isOver(): boolean {
    return this.left <= 0 || this.#stretches >= MAX_STRETCHES;
  }

  /** The end of the stretch after this position; null at the end of the list. */
  async advance(after: Position | null): Promise<Position | null> {
    const end = await this.#ask(after, this.left);
    if (end === null) return null;
    this.left -= end[2];
    this.#stretches++;
    return [end[0], end[1]];
  }

  /** Whether there is a job after this position. */
  async hasMore(after: Position): Promise<boolean> {
    return (await this.#ask(after, 1)) !== null;
  }

  async #ask(after: Position | null, jobs: number): Promise<readonly [createdAt: number, seq: number, looked: number] | null> {
    const { connections, sql } = this.#context;
    const values = [...rangeOf(this.#filter, after), jobs, this.#filter.internal ?? false];
    const [row] = (await connections.call(sql.lastCandidate, values)) as (Row | undefined)[];
    return row === undefined ? null : [row[0] as number, row[1] as number, row[2] as number];
  }
}

async function countPlain(context: Context, { status, group }: Filter, areFew: boolean, values: readonly unknown[]): Promise<number> {
  const { count, countBodies } = context.sql;
  const isOfBody = status === undefined && group === undefined;
  const [row] = await context.connections.call(areFew ? count.pick : isOfBody ? countBodies : count.walk, values);
  return row![0] as number;
}

/** The server counts matches in payloads. Other possible matches are read and checked here. */
async function countFound(context: Context, q: string, areFew: boolean, values: readonly unknown[]): Promise<number> {
  const { countInPayload, searchBeside } = context.sql;
  const search = searchFor(q);
  const [row] = await context.connections.call(areFew ? countInPayload.pick : countInPayload.walk, [...values, search.text]);
  const rows = await context.connections.call(areFew ? searchBeside.pick : searchBeside.walk, [...values, search.text, search.inJson]);
  const beside = await readSummaries(context, rows, 2);
  return (row![0] as number) + beside.filter((job) => search.isInSummary(job)).length;
}

/** The range of a list, as statements take it. */
function rangeOf({ from, to }: Filter, after: Position | null): (number | null)[] {
  return [after?.[0] ?? null, after?.[1] ?? null, from ?? null, to ?? null];
}

/** The filter, as statements take it. */
function filterValues({ status, type, queue, priority, tag, group, internal = false }: Filter): unknown[] {
  const { min = null, max = null } = priority ?? {};
  return [statesOf(status), type ?? null, queue ?? null, min, max, tag === undefined ? null : encodeText(tag), group ?? null, internal];
}

function statesOf(status: Filter["status"]): string | null {
  return status === undefined ? null : numbers(status.map((one) => STATE[one]));
}

/** The tallies of all jobs in these statuses, as statements take them. */
export function talliesOf(statuses: readonly Status[]): string {
  return numbers(statuses.flatMap((status) => LEVELS.map((_, level) => tallyMetric(STATE[status], level))));
}

/** Whether few enough jobs have the wanted statuses to look at all. Scheduled and retrying jobs share one table. */
async function hasFew(context: Context, { status, queue, internal = false }: Filter): Promise<boolean> {
  if (status === undefined) return false;
  const isDue = status.includes("scheduled") || status.includes("retrying");
  const looked = new Set(isDue ? [...status, "scheduled" as const, "retrying" as const] : status);
  const [row] = await context.connections.call(context.sql.countStates, [talliesOf([...looked]), queue ?? null, internal]);
  return (row![0] as number) <= MAX_CANDIDATES;
}

function encodeCursor([createdAt, seq]: Position): string {
  return `p${createdAt.toString(36)}.${seq.toString(36)}`;
}

function decodeCursor(cursor: string): Position {
  const found = /^p(-?[0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(cursor);
  const place = found === null ? null : ([Number.parseInt(found[1]!, 36), Number.parseInt(found[2]!, 36)] as const);
  if (place === null || !place.every(Number.isSafeInteger)) {
    throw new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
  }
  return place;
}
