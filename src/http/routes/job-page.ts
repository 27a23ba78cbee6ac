/**
 * A PAGE OF A LIST, and how many jobs there are in all. Pages by number are walked to from the start, and what tallies cannot tell is counted
 * by walking on; both end after 10,000 jobs, however many there are.
 */
import type { Client, JobPage, ListJobs } from "../../client/client.ts";
import { invalid } from "../../core/errors.ts";
import { readStatusFilter } from "../../core/status-filter.ts";
import type { AnswerFrom, QueryIn } from "../contract.ts";
import { toSummaryWire } from "../wire/job.ts";

type PageWire = AnswerFrom<"GET /api/v1/jobs">;
type PageQuery = Pick<QueryIn<"GET /api/v1/jobs">, "limit" | "cursor" | "page">;
type Filter = Omit<ListJobs, "limit" | "cursor">;
type List = (query: ListJobs) => Promise<JobPage>;

const DEFAULT_LIMIT = 100;
const MAX_COUNTED = 10_000;
const MAX_PAGE = 1000;

/** Lists by `list`; `filter` is what it filters by, with the status where that is no question. */
export async function readPage(client: Client, list: List, filter: Filter, page: PageQuery, status = filter.status): Promise<PageWire> {
  const { limit = DEFAULT_LIMIT, cursor } = page;
  if (cursor !== undefined) {
    const found = await list({ ...filter, limit, cursor });
    return toPageWire(found, { total: null, total_is_capped: false, page: null, limit });
  }
  const number = page.page ?? 1;
  if (number * limit > MAX_COUNTED)
    throw invalid("page", `at most ${MAX_COUNTED} divided by limit: beyond that, go by next_cursor`, number);
  const { skipped, cursor: from } = await skip(list, filter, (number - 1) * limit);
  const found = from === null ? { jobs: [], cursor: null } : await list({ ...filter, limit, cursor: from });
  const total = await count(client, list, filter, status, skipped + found.jobs.length, found);
  return toPageWire(found, { ...total, page: number, limit });
}

function toPageWire({ jobs, cursor }: JobPage, facts: Omit<PageWire, "jobs" | "next_cursor">): PageWire {
  return { jobs: jobs.map(toSummaryWire), ...facts, next_cursor: cursor };
}

/** Walks over so many jobs. A null cursor: the list ended before. */
async function skip(list: List, filter: Filter, jobs: number): Promise<{ skipped: number; cursor: string | null | undefined }> {
  let skipped = 0;
  let cursor: string | null | undefined = undefined;
  while (skipped < jobs && cursor !== null) {
    const page = await list({ ...filter, limit: Math.min(MAX_PAGE, jobs - skipped), cursor });
    skipped += page.jobs.length;
    cursor = page.cursor;
  }
  return { skipped, cursor };
}

type Total = Pick<PageWire, "total" | "total_is_capped">;

async function count(
  client: Client,
  list: List,
  filter: Filter,
  status: Filter["status"],
  seen: number,
  { cursor }: JobPage,
): Promise<Total> {
  if (cursor === null) return { total: seen, total_is_capped: false };
  if (isInTallies(filter)) return { total: await countByTallies(client, filter.queue, status), total_is_capped: false };
  return countByWalking(list, filter, seen, cursor);
}

/** Tallies know queue and status, and nothing else. */
function isInTallies(filter: Filter): boolean {
  return Object.entries(filter).every(([name, value]) => value === undefined || name === "queue" || name === "status");
}

async function countByTallies(client: Client, queue: string | undefined, status: Filter["status"]): Promise<number> {
  const wanted = readStatusFilter(status);
  const queues = (await client.queues()).filter(({ name }) => queue === undefined || name === queue);
  return queues
    .flatMap(({ counts }) => Object.entries(counts))
    .reduce((sum, [name, jobs]) => sum + (wanted === undefined || (wanted as readonly string[]).includes(name) ? jobs : 0), 0);
}

/** A page that is short and has a cursor all the same looked at as many jobs as one call may: further on there may be more, or none. */
async function countByWalking(list: List, filter: Filter, seen: number, from: string): Promise<Total> {
  let total = seen;
  let cursor: string | null = from;
  while (total < MAX_COUNTED) {
    const page: JobPage = await list({ ...filter, limit: MAX_PAGE, cursor });
    total += page.jobs.length;
    cursor = page.cursor;
    if (cursor === null) return { total, total_is_capped: false };
    if (page.jobs.length < MAX_PAGE) break;
  }
  return { total: Math.min(total, MAX_COUNTED), total_is_capped: true };
}
