/**
 * A PAGE OF A LIST, and for those who ask how many jobs there are in all: to count may cost a hundred times as much as the page. Pages by number are walked to from the start, over 10,000 jobs at most, and over no more
 * than one list looks at in vain.
 */
import type { Client, JobCount, JobPage, ListJobs } from "../../client/client.ts";
import { invalid } from "../../core/errors.ts";
import { DEFAULT_PAGE, isInTallies, MAX_PAGE } from "../../core/filter.ts";
import type { AnswerFrom, QueryIn } from "../contract.ts";
import { MAX_SKIPPED } from "../contract/schemas.ts";
import { toSummaryWire } from "../wire/job.ts";

type PageWire = AnswerFrom<"GET /api/v1/jobs">;
type PageQuery = Pick<QueryIn<"GET /api/v1/jobs">, "limit" | "cursor" | "page" | "total">;
type Filter = Omit<ListJobs, "limit" | "cursor">;
type List = (query: ListJobs) => Promise<JobPage>;

const NOT_COUNTED = { total: null, total_is_capped: false };

/** Lists by `list`; `filter` is what it filters by, with the status where that is no question. */
export async function readPage(client: Client, list: List, filter: Filter, page: PageQuery, status = filter.status): Promise<PageWire> {
  const { limit = DEFAULT_PAGE, cursor } = page;
  if (cursor !== undefined) {
    const found = await list({ ...filter, limit, cursor });
    const counted = page.total === true ? toTotal(await client.count({ ...filter, status })) : NOT_COUNTED;
    return toPageWire(found, { ...counted, page: null, limit });
  }
  const number = page.page ?? 1;
  if (number * limit > MAX_SKIPPED)
    throw invalid("page", `at most ${MAX_SKIPPED} divided by limit: beyond that, go by next_cursor`, number);
  const start = await skip(list, filter, (number - 1) * limit);
  const found = start.isThere ? await list({ ...filter, limit, cursor: start.cursor }) : { jobs: [], cursor: start.cursor ?? null };
  const seen = start.skipped + found.jobs.length;
  // Whoever goes by the numbers of pages has to know how many there are.
  if (!(page.total ?? page.page !== undefined)) return toPageWire(found, { ...NOT_COUNTED, page: number, limit });
  const { count, isCapped } = await countAll(client, { ...filter, status }, seen, found.cursor, found.jobs.length < limit);
  // What came meanwhile may have pushed others out of the count.
  return toPageWire(found, { ...toTotal({ count: Math.max(count, seen), isCapped }), page: number, limit });
}

/** A page that is short and goes on all the same looked at as many jobs as one may. */
async function countAll(client: Client, filter: Filter, seen: number, cursor: string | null, isShort: boolean): Promise<JobCount> {
  if (cursor === null) return { count: seen, isCapped: false };
  return isShort && !isInTallies(filter) ? { count: seen, isCapped: true } : client.count(filter);
}

function toTotal({ count, isCapped }: JobCount): Pick<PageWire, "total" | "total_is_capped"> {
  return { total: count, total_is_capped: isCapped };
}

function toPageWire({ jobs, cursor }: JobPage, facts: Omit<PageWire, "jobs" | "next_cursor">): PageWire {
  return { jobs: jobs.map(toSummaryWire), ...facts, next_cursor: cursor };
}

/** Where a page begins. It is not there when the list ended before, or when so much was looked at in vain that another call has to go on. */
interface Start {
  readonly skipped: number;
  readonly cursor: string | null | undefined;
  readonly isThere: boolean;
}

/** Walks over so many jobs. */
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
