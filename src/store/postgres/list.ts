import { MillraceError } from "../../core/errors.ts";
import { type Filter, matcherOf } from "../../core/filter.ts";
import type { JobSummaryRecord } from "../../core/job.ts";
import { searchFor } from "../../core/search.ts";
import { type ListQuery, MAX_CANDIDATES } from "../store.ts";
import { encodeText, numbers, type Row, stateNumber } from "./codec.ts";
import { type Desk, readSummaries } from "./desk.ts";

/** The place of a job in a list: when it was created, and its sequence among those of the same moment. */
type Place = readonly [createdAt: number, seq: number];

/**
 * Lists newest first. Two ways lead there: jobs of statuses that few have are picked from the places where these stand; otherwise one walks
 * down from the newest and leaves out what does not match. Both look at MAX_CANDIDATES jobs at most.
 */
export async function listJobs(desk: Desk, query: ListQuery): Promise<{ jobs: JobSummaryRecord[]; cursor: string | null }> {
  const range = rangeOf(query, query.cursor === undefined ? null : decodeCursor(query.cursor));
  const search = query.q === undefined ? null : searchFor(query.q);
  const texts = search === null ? [] : [search.text, search.inJson];
  const areFew = await hasFew(desk, query);
  const { pick, walk } = search === null ? desk.sql : desk.sql.search;
  const rows = await desk.connections.call(areFew ? pick : walk, [...range, ...wordsOf(query), MAX_CANDIDATES, query.limit, ...texts]);
  const found = await readSummaries(desk, rows, 2);
  // What a search found beside the payload was compared as it is stored: some of it may not be what was asked for.
  const isMeant = matcherOf({ q: query.q });
  const jobs = found.filter((job, index) => isMeant(job, () => rows[index]![1] as boolean));
  if (rows.length === query.limit) return { jobs, cursor: encodeCursor([found.at(-1)!.createdAt, rows.at(-1)![0] as number]) };
  const last = areFew ? null : await candidate(desk, range, MAX_CANDIDATES);
  return { jobs, cursor: last === null ? null : encodeCursor(last) };
}

/** How many jobs a list would find among the candidates that it looks at. */
export async function countMatches(desk: Desk, filter: Filter): Promise<{ count: number; isCapped: boolean }> {
  const range = rangeOf(filter, null);
  const values = [...range, ...wordsOf(filter), MAX_CANDIDATES, MAX_CANDIDATES];
  const areFew = await hasFew(desk, filter);
  const count = await (filter.q === undefined ? countPlain(desk, filter, areFew, values) : countFound(desk, filter.q, areFew, values));
  return { count, isCapped: !areFew && (await candidate(desk, range, MAX_CANDIDATES + 1)) !== null };
}

async function countPlain(desk: Desk, { status, group }: Filter, areFew: boolean, values: readonly unknown[]): Promise<number> {
  const { count, countBodies } = desk.sql;
  const isOfBody = status === undefined && group === undefined;
  const [row] = await desk.connections.call(areFew ? count.pick : isOfBody ? countBodies : count.walk, values);
  return row![0] as number;
}

/** What is in payloads the server counts; what may be beside them is read, to look more closely. */
async function countFound(desk: Desk, q: string, areFew: boolean, values: readonly unknown[]): Promise<number> {
  const { countInPayload, searchBeside } = desk.sql;
  const search = searchFor(q);
  const [row] = await desk.connections.call(areFew ? countInPayload.pick : countInPayload.walk, [...values, search.text]);
  const rows = await desk.connections.call(areFew ? searchBeside.pick : searchBeside.walk, [...values, search.text, search.inJson]);
  const beside = await readSummaries(desk, rows, 2);
  return (row![0] as number) + beside.filter((job) => search.isInSummary(job)).length;
}

/** Where a list is, as statements take it. */
function rangeOf({ from, to }: Filter, after: Place | null): (number | null)[] {
  return [after?.[0] ?? null, after?.[1] ?? null, from ?? null, to ?? null];
}

/** What it filters by, as statements take it. */
function wordsOf({ status, type, queue, priority, tag, group }: Filter): unknown[] {
  const { min = null, max = null } = priority ?? {};
  return [statesOf(status), type ?? null, queue ?? null, min, max, tag === undefined ? null : encodeText(tag), group ?? null];
}

function statesOf(status: Filter["status"]): string | null {
  return status === undefined ? null : numbers(status.map(stateNumber));
}

/** Whether so few jobs are in the wanted statuses that all of them can be looked at. Those that wait for their time stand in one place. */
async function hasFew(desk: Desk, { status, queue }: Filter): Promise<boolean> {
  if (status === undefined) return false;
  const isDue = status.includes("scheduled") || status.includes("retrying");
  const looked = new Set(isDue ? [...status, "scheduled" as const, "retrying" as const] : status);
  return (await countOf(desk, numbers([...looked].map(stateNumber)), queue)) <= MAX_CANDIDATES;
}

async function countOf(desk: Desk, states: string, queue: string | undefined): Promise<number> {
  const [row] = await desk.connections.call(desk.sql.countStates, [states, queue ?? null]);
  return row![0] as number;
}

/** The place of the n-th candidate; null when there are not so many. */
async function candidate(desk: Desk, range: readonly unknown[], n: number): Promise<Place | null> {
  const [row] = (await desk.connections.call(desk.sql.lastCandidate, [...range, n])) as (Row | undefined)[];
  return row === undefined ? null : [row[0] as number, row[1] as number];
}

function encodeCursor([createdAt, seq]: Place): string {
  return `p${createdAt.toString(36)}.${seq.toString(36)}`;
}

function decodeCursor(cursor: string): Place {
  const found = /^p(-?[0-9a-z]{1,11})\.([0-9a-z]{1,11})$/.exec(cursor);
  const place = found === null ? null : ([Number.parseInt(found[1]!, 36), Number.parseInt(found[2]!, 36)] as const);
  if (place === null || !place.every(Number.isSafeInteger)) {
    throw new MillraceError("invalid_cursor", "cursor must be one that list gave out", { field: "cursor" });
  }
  return place;
}
