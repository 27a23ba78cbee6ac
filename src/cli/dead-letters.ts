/** What `retry-dead` and `purge-dead` share: how many jobs are meant, and how far one has come. */
import type { Client, JobFilter } from "../client/client.ts";
import type { Look } from "./progress.ts";

type DeadFilter = Omit<JobFilter, "status">;

const PAGE = 1000;
const MAX_COUNTED = 10_000;

/** How many dead letters match; `isMore` when there are too many to count one by one. */
export async function countDead(client: Client, filter: DeadFilter): Promise<{ count: number; isMore: boolean }> {
  if (isEverything(filter)) return { count: (await client.stats()).deadCount, isMore: false };
  let count = 0;
  let cursor: string | null = null;
  do {
    const page = await client.dead.list({ ...filter, limit: PAGE, cursor });
    count += page.jobs.length;
    cursor = page.cursor;
  } while (cursor !== null && count < MAX_COUNTED);
  return { count, isMore: cursor !== null };
}

/**
 * A way to tell how many of them are gone by now. The number of all dead letters is one figure, which costs nothing to look at; jobs that die
 * meanwhile make it a little too small, and the answer of the work itself is what is told in the end.
 */
export async function progressOf(client: Client, filter: DeadFilter): Promise<Look> {
  const before = (await client.stats()).deadCount;
  return async () => ({ done: Math.max(0, before - (await client.stats()).deadCount), total: isEverything(filter) ? before : null });
}

function isEverything(filter: DeadFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}
