import { ErrorTally, type FoundGroup, hoursAgo, MAX_GROUPS, named } from "../core/error-tally.ts";
import { MAX_PAGE } from "../core/filter.ts";
import type { JobError } from "../core/job.ts";
import { type ListQuery, MAX_CANDIDATES, type Store } from "../store/store.ts";
import type { ErrorGroups } from "./client.ts";
import { withMutes } from "./mutes.ts";
import { listJobs } from "./search.ts";

type Reads = Pick<Store, "find" | "list" | "errorGroups" | "schedules">;

interface Found {
  readonly groups: readonly FoundGroup[];
  readonly isCapped: boolean;
}

/** Dead letters by error, among those that match every filter. */
export async function groupErrors(store: Reads & Pick<Store, "mutes">, query: ListQuery): Promise<ErrorGroups> {
  const { groups, isCapped } = await findGroups(store, query);
  return { groups: await withMutes(store, groups), isCapped };
}

async function findGroups(store: Reads, query: ListQuery): Promise<Found> {
  const { q, group, ...others } = query;
  // A text needs what a list reads. Without one, the store groups and reads no jobs.
  if (q !== undefined) return groupListed(store, query);
  const all = await store.errorGroups({ ...others, status: ["dead"], limit: MAX_GROUPS });
  if (group === undefined) return all;
  const groups = all.groups.filter((found) => found.group === group);
  // Only a list finds a group that is not among the largest, or not among the latest jobs.
  return groups.length === 0 && all.isCapped ? groupListed(store, query) : { groups, isCapped: all.isCapped };
}

/**
 * Groups what the list finds, so that groups and list agree. Stops at MAX_CANDIDATES jobs found, or at a page that is not full but has a
 * cursor: such a page has looked at as many jobs as one call may.
 */
async function groupListed(store: Pick<Store, "find" | "list" | "schedules">, query: ListQuery): Promise<Found> {
  // No schedule is read: only the store's time.
  const { now } = await store.schedules([]);
  const tally = new ErrorTally();
  const errors = new Map<string, JobError>();
  let page: Awaited<ReturnType<Store["list"]>>;
  let cursor: string | null = null;
  do {
    page = await listJobs(store, { ...query, limit: MAX_PAGE, cursor: cursor ?? undefined });
    for (const { id, type, error, completedAt: at } of page.jobs) {
      if (error === null || at === null) continue;
      errors.set(id, error);
      const seen = { firstSeenAt: at, lastSeenAt: at, firstJobId: id, sampleJobId: id };
      tally.add({ group: error.group, type, hoursAgo: hoursAgo(at, now), count: 1, ...seen });
    }
    cursor = page.cursor;
  } while (cursor !== null && page.jobs.length === MAX_PAGE && errors.size < MAX_CANDIDATES);
  const { groups, isMore } = tally.top(MAX_GROUPS);
  return { groups: named(groups, (id) => errors.get(id)), isCapped: cursor !== null || isMore };
}
