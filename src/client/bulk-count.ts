import { BULK_QUEUE } from "../core/bulk.ts";
import { isInTallies } from "../core/filter.ts";
import { isId } from "../lib/id.ts";
import type { Store } from "../store/store.ts";
import { countJobs, sumOfTallies } from "./count.ts";
import { listToChange } from "./search.ts";
import type { FieldFilter } from "./where.ts";

export interface Matched {
  readonly matched: number;
  readonly matchedIsCapped: boolean;
}

/** How many of these an operation with a limit changes. */
export function atMost(limit: number | null, { matched, matchedIsCapped }: Matched): Matched {
  return limit !== null && matched >= limit ? { matched: limit, matchedIsCapped: false } : { matched, matchedIsCapped };
}

/**
 * How many jobs match, except bulk operations, which are never changed. From the tallies if the filter names only status and queue, otherwise
 * by one count: people wait for the answer, so it looks at no more jobs than a page of a list does.
 */
export async function countMatching(store: Store, query: FieldFilter): Promise<Matched> {
  const { where, ...plain } = query;
  if (where === undefined && isInTallies(plain)) return { matched: await sumOfTallies(store, plain, BULK_QUEUE), matchedIsCapped: false };
  // Here a whole id means only that job, and a count would find it in payloads, too.
  if (isId(query.q?.toLowerCase())) return { matched: await countNamed(store, query), matchedIsCapped: false };
  const { count, isCapped } = await countJobs(store, query);
  return { matched: count - (await countOperations(store, query, count)), matchedIsCapped: isCapped };
}

async function countNamed(store: Store, query: FieldFilter): Promise<number> {
  const { jobs } = await listToChange(store, { ...query, limit: 1 });
  return jobs.filter(({ queue }) => queue !== BULK_QUEUE).length;
}

/** How many bulk operations a count has among its jobs, at most. */
async function countOperations(store: Store, query: FieldFilter, count: number): Promise<number> {
  if (query.internal !== true || (query.queue !== undefined && query.queue !== BULK_QUEUE)) return 0;
  return Math.min(count, (await countJobs(store, { ...query, queue: BULK_QUEUE })).count);
}
