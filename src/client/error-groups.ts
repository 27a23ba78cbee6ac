import { ErrorTally, hoursAgo, MAX_GROUPS, named } from "../core/error-tally.ts";
import type { JobError } from "../core/job.ts";
import type { FoundGroups, Store } from "../store/store.ts";
import type { ErrorGroups } from "./client.ts";
import { withMutes } from "./mutes.ts";
import { listAll } from "./search.ts";
import { type FieldQuery, type Parts, resolveWhere } from "./where.ts";

type Reads = Pick<Store, "find" | "list" | "queues" | "errorGroups" | "schedules">;

/** Dead letters by error, among those that match every filter. */
export async function groupErrors(store: Reads & Pick<Store, "mutes">, query: FieldQuery): Promise<ErrorGroups> {
  const { groups, ...more } = await findGroups(store, query);
  return { groups: await withMutes(store, groups), ...more };
}

async function findGroups(store: Reads, query: FieldQuery): Promise<FoundGroups> {
  const parts = await resolveWhere(store, query);
  const [{ query: resolved, fields }, ...more] = parts;
  const { q, group, ...others } = resolved;
  // A text or a payload field needs what a list reads. Without one, the store groups and reads no jobs.
  if (q !== undefined || fields !== null || more.length > 0) return groupListed(store, parts);
  const all = await store.errorGroups({ ...others, status: ["dead"], limit: MAX_GROUPS });
  if (group === undefined) return all;
  const groups = all.groups.filter((found) => found.group === group);
  // Only a list finds a group that is not among the largest, or not among the latest jobs.
  const mayBeElsewhere = groups.length === 0 && (all.isCapped || all.hasMore);
  return mayBeElsewhere ? groupListed(store, parts) : { groups, isCapped: all.isCapped, hasMore: false };
}

/** Groups what the list finds, so that groups and list agree. */
async function groupListed(store: Reads, parts: Parts<FieldQuery>): Promise<FoundGroups> {
  // No schedule is read: only the store's time.
  const { now } = await store.schedules([]);
  const tally = new ErrorTally();
  const errors = new Map<string, JobError>();
  const { jobs, isCapped } = await listAll(store, parts);
  for (const { id, type, error, completedAt: at } of jobs) {
    if (error === null || at === null) continue;
    errors.set(id, error);
    const seen = { firstSeenAt: at, lastSeenAt: at, firstJobId: id, sampleJobId: id };
    tally.add({ group: error.group, type, hoursAgo: hoursAgo(at, now), count: 1, ...seen });
  }
  const { groups, hasMore } = tally.top(MAX_GROUPS);
  return { groups: named(groups, (id) => errors.get(id)), isCapped, hasMore };
}
