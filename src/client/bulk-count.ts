import { BULK_QUEUE } from "../core/bulk.ts";
import type { Filter } from "../core/filter.ts";
import type { Store } from "../store/store.ts";

const PAGE = 1000;
const MAX_COUNTED = 10_000;
/** A filter that few jobs meet finds little on each page: then it is the pages that end it. */
const MAX_PAGES = 20;

/**
 * How many jobs match: from tallies, where status and queue are all that is named; else by walking, which ends after MAX_COUNTED or MAX_PAGES.
 * Operations themselves are none of the jobs that an operation is about.
 */
export async function countMatching(store: Store, query: Filter): Promise<{ matched: number; matchedIsCapped: boolean }> {
  return isInTallies(query) ? countByTallies(store, query) : countByWalking(store, query);
}

function isInTallies(query: Filter): boolean {
  return Object.entries(query).every(([name, value]) => value === undefined || name === "queue" || name === "status");
}

async function countByTallies(store: Store, { queue, status }: Filter): Promise<{ matched: number; matchedIsCapped: boolean }> {
  const queues = (await store.queues()).filter(({ name }) => (queue === undefined ? name !== BULK_QUEUE : name === queue));
  const cells = queues.flatMap(({ counts }) => counts).filter((cell) => status === undefined || status.includes(cell.status));
  return { matched: cells.reduce((sum, { count }) => sum + count, 0), matchedIsCapped: false };
}

async function countByWalking(store: Store, query: Filter): Promise<{ matched: number; matchedIsCapped: boolean }> {
  let matched = 0;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const found = await store.list({ ...query, limit: PAGE, cursor });
    matched += found.jobs.filter(({ queue }) => queue !== BULK_QUEUE).length;
    if (found.cursor === null) return { matched, matchedIsCapped: false };
    if (matched >= MAX_COUNTED || page === MAX_PAGES) return { matched, matchedIsCapped: true };
    cursor = found.cursor;
  }
}
