/**
 * A PAGE OF A LIST, with the total if asked for: counting may cost a hundred times as much as the page. A page by number reads all jobs
 * before it: at most 10,000, and only until one list call ends short.
 */
import type { Client, JobCount, JobFilter, JobPage, ListJobs } from "../../client/client.ts";
import { invalid } from "../../core/errors.ts";
import { DEFAULT_PAGE, isInTallies, MAX_PAGE } from "../../core/filter.ts";
import type { AnswerFrom, QueryIn } from "../contract.ts";
import { MAX_SKIPPED } from "../contract/schemas.ts";
import { fromFilterWire } from "../wire/bulk.ts";
import { toSummaryWire } from "../wire/job.ts";

type PageWire = AnswerFrom<"GET /api/v1/jobs">;
type PageQuery = QueryIn<"GET /api/v1/jobs">;
type Filter = Omit<ListJobs, "limit" | "cursor">;
type List = (query: ListJobs) => Promise<JobPage>;

const NOT_COUNTED = { total: null, total_is_capped: false };

/** Reads a page with `list`. `status` is what to count where `list` implies it. */
export async function readPage(client: Client, list: List, query: PageQuery, status: ListJobs["status"] = query.status): Promise<PageWire> {
  const { limit = DEFAULT_PAGE, cursor, page, total, sort, ...wanted } = query;
  const counted = { ...fromFilterWire(wanted), status };
  const filter = { ...fromFilterWire(wanted), sort };
  if (cursor !== undefined) {
    const found = await list({ ...filter, limit, cursor });
    return toPageWire(found, { ...(total === true ? toTotal(await client.count(counted)) : NOT_COUNTED), page: null, limit });
  }
  const number = page ?? 1;
  if (number * limit > MAX_SKIPPED) throw invalid("page", `at most ${MAX_SKIPPED} divided by limit: beyond that, use next_cursor`, number);
  const start = await skip(list, filter, (number - 1) * limit);
  const found = start.isThere ? await list({ ...filter, limit, cursor: start.cursor }) : { jobs: [], cursor: start.cursor ?? null };
  const seen = start.skipped + found.jobs.length;
  // Page numbers need the total.
  if (!(total ?? page !== undefined)) return toPageWire(found, { ...NOT_COUNTED, page: number, limit });
  const { count, isCapped } = await countAll(client, counted, seen, found.cursor, found.jobs.length < limit);
  // Jobs may have changed between the page and the count.
  return toPageWire(found, { ...toTotal({ count: Math.max(count, seen), isCapped }), page: number, limit });
}

/** A short page with a cursor has read as many jobs as one call may: counting would read them again. */
async function countAll(client: Client, filter: JobFilter, seen: number, cursor: string | null, isShort: boolean): Promise<JobCount> {
  if (cursor === null) return { count: seen, isCapped: false };
  return isShort && !isInTallies(filter) ? { count: seen, isCapped: true } : client.count(filter);
}

function toTotal({ count, isCapped }: JobCount): Pick<PageWire, "total" | "total_is_capped"> {
  return { total: count, total_is_capped: isCapped };
}

function toPageWire({ jobs, cursor }: JobPage, facts: Omit<PageWire, "jobs" | "next_cursor">): PageWire {
  return { jobs: jobs.map(toSummaryWire), ...facts, next_cursor: cursor };
}

/** Where a page starts. `isThere` is false if the list ended before it, or if one call could not read that far. */
interface Start {
  readonly skipped: number;
  readonly cursor: string | null | undefined;
  readonly isThere: boolean;
}

async function skip(list: List, filter: Filter, jobs: number): Promise<Start> {
  let skipped = 0;
  let cursor: string | null | undefined = undefined;
  while (skipped < jobs) {
    const limit = Math.min(MAX_PAGE, jobs - skipped);
    const page: JobPage = await list({ ...filter, limit, cursor });
    skipped += page.jobs.length;
    cursor = page.cursor;
    if (cursor === null || page.jobs.length < limit) return { skipped, cursor, isThere: false };
  }
  return { skipped, cursor, isThere: true };
}
