import type { Filter } from "../core/filter.ts";
import type { Store } from "../store/store.ts";
import { leavesAlone, type Wanted } from "./bulk-request.ts";
import { listToChange } from "./search.ts";

const PAGE = 1000;
const MAX_COUNTED = 10_000;
/** A filter that few jobs meet finds little on each page: then it is the pages that end it. */
const MAX_PAGES = 20;

/**
 * How many jobs match: from tallies, where status and queue are all that is named; else by walking, which ends after MAX_COUNTED or MAX_PAGES.
 * Jobs that an operation leaves alone are not counted.
 */
export async function countMatching(store: Store, wanted: Wanted): Promise<{ matched: number; matchedIsCapped: boolean }> {
  return isInTallies(wanted.query) ? countByTallies(store, wanted) : countByWalking(store, wanted);
}

function isInTallies(query: Filter): boolean {
  return Object.entries(query).every(([name, value]) => value === undefined || name === "queue" || name === "status");
}

async function countByTallies(store: Store, wanted: Wanted): Promise<{ matched: number; matchedIsCapped: boolean }> {
  const { queue, status } = wanted.query;
  const queues = (await store.queues()).filter(({ name }) => !leavesAlone(wanted.action, name) && (queue === undefined || name === queue));
  const cells = queues.flatMap(({ counts }) => counts).filter((cell) => status === undefined || status.includes(cell.status));
  return { matched: cells.reduce((sum, { count }) => sum + count, 0), matchedIsCapped: false };
}

async function countByWalking(store: Store, wanted: Wanted): Promise<{ matched: number; matchedIsCapped: boolean }> {
  let matched = 0;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const found = await listToChange(store, { ...wanted.query, limit: PAGE, cursor });
    matched += found.jobs.filter(({ queue }) => !leavesAlone(wanted.action, queue)).length;
    if (found.cursor === null) return { matched, matchedIsCapped: false };
    if (matched >= MAX_COUNTED || page === MAX_PAGES) return { matched, matchedIsCapped: true };
    cursor = found.cursor;
  }
}
