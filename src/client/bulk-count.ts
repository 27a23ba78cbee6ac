import { BULK_QUEUE } from "../core/bulk.ts";
import { isInTallies } from "../core/filter.ts";
import type { Store } from "../store/store.ts";
import { countJobs, sumOfTallies } from "./count.ts";
import { listToChange } from "./search.ts";
import type { FieldFilter } from "./where.ts";

const PAGE = 1000;
const MAX_COUNTED = 10_000;
/** If few jobs match, a page has few results, so the number of pages is bounded, too. */
const MAX_PAGES = 20;

export interface Matched {
  readonly matched: number;
  readonly matchedIsCapped: boolean;
}

/** How many of these an operation with a limit changes. */
export function atMost(limit: number | null, { matched, matchedIsCapped }: Matched): Matched {
  return limit !== null && matched >= limit ? { matched: limit, matchedIsCapped: false } : { matched, matchedIsCapped };
}

/**
 * How many jobs match, except bulk operations, which are never changed. From the tallies if the filter names only status and queue; by one
 * count if that reaches the end; otherwise page by page, up to MAX_COUNTED jobs or MAX_PAGES pages.
 */
export async function countMatching(store: Store, query: FieldFilter): Promise<Matched> {
  const { where, ...plain } = query;
  if (where === undefined && isInTallies(plain)) return { matched: await sumOfTallies(store, plain, BULK_QUEUE), matchedIsCapped: false };
  if (query.q !== undefined || query.internal === true) return countByWalking(store, query);
  const { count, isCapped } = await countJobs(store, query);
  return isCapped ? countByWalking(store, query) : { matched: count, matchedIsCapped: false };
}

async function countByWalking(store: Store, query: FieldFilter): Promise<Matched> {
  let matched = 0;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const found = await listToChange(store, { ...query, sort: "state", limit: PAGE, cursor });
    matched += found.jobs.filter(({ queue }) => queue !== BULK_QUEUE).length;
    if (found.cursor === null) return { matched, matchedIsCapped: false };
    if (matched >= MAX_COUNTED || page === MAX_PAGES) return { matched, matchedIsCapped: true };
    cursor = found.cursor;
  }
}
