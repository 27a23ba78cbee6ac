/**
 * A PAGE OF A LIST, and how many jobs there are in all. Pages by number are walked to from the start, over 10,000 jobs at most, and over no more
 * than one list looks at in vain.
 */
import type { Client, JobCount, JobPage, ListJobs } from "../../client/client.ts";
import { invalid } from "../../core/errors.ts";
import { isInTallies } from "../../core/filter.ts";
import type { AnswerFrom, QueryIn } from "../contract.ts";
import { toSummaryWire } from "../wire/job.ts";

type PageWire = AnswerFrom<"GET /api/v1/jobs">;
type PageQuery = Pick<QueryIn<"GET /api/v1/jobs">, "limit" | "cursor" | "page">;
type Filter = Omit<ListJobs, "limit" | "cursor">;
type List = (query: ListJobs) => Promise<JobPage>;

const DEFAULT_LIMIT = 100;
const MAX_SKIPPED = 10_000;
const MAX_PAGE = 1000;

/** Lists by `list`; `filter` is what it filters by, with the status where that is no question. */
export async function readPage(client: Client, list: List, filter: Filter, page: PageQuery, status = filter.status): Promise<PageWire> {
  const { limit = DEFAULT_LIMIT, cursor } = page;
  if (cursor !== undefined) {
    const found = await list({ ...filter, limit, cursor });
    return toPageWire(found, { total: null, total_is_capped: false, page: null, limit });
  }
  const number = page.page ?? 1;
  if (number * limit > MAX_SKIPPED)
    throw invalid("page", `at most ${MAX_SKIPPED} divided by limit: beyond that, go by next_cursor`, number);
  const start = await skip(list, filter, (number - 1) * limit);
  const found = start.isThere ? await list({ ...filter, limit, cursor: start.cursor }) : { jobs: [], cursor: start.cursor ?? null };
  const seen = start.skipped + found.jobs.length;
  const { count, isCapped } = await countAll(client, { ...filter, status }, seen, found.cursor, found.jobs.length < limit);
  // What came meanwhile may have pushed others out of the count.
  return toPageWire(found, { total: Math.max(count, seen), total_is_capped: isCapped, page: number, limit });
}

/** A page that is short and goes on all the same looked at as many jobs as one may. */
async function countAll(client: Client, filter: Filter, seen: number, cursor: string | null, isShort: boolean): Promise<JobCount> {
  if (cursor === null) return { count: seen, isCapped: false };
  return isShort && !isInTallies(filter) ? { count: seen, isCapped: true } : client.count(filter);
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
