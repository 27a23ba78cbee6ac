import { ErrorTally, named } from "../core/error-tally.ts";
import { MAX_PAGE } from "../core/filter.ts";
import type { JobError } from "../core/job.ts";
import { MAX_CANDIDATES, type Store } from "../store/store.ts";
import type { ErrorGroups } from "./client.ts";
import { listAll } from "./search.ts";
import { type FieldQuery, resolveWhere } from "./where.ts";

const MAX_GROUPS = 100;

type Grouping = Pick<Store, "find" | "list" | "queues" | "errorGroups">;

/** Dead letters by error, among those that match every filter. */
export async function groupErrors(store: Grouping, query: FieldQuery): Promise<ErrorGroups> {
  const resolved = await resolveWhere(store, query);
  const { q, group, ...others } = resolved.query;
  // A text or a payload field needs what a list reads. Without one, the store groups and reads no jobs.
  if (q !== undefined || resolved.fields !== null) return groupListed(store, query);
  const all = await store.errorGroups({ ...others, status: ["dead"], limit: MAX_GROUPS });
  if (group === undefined) return all;
  const groups = all.groups.filter((found) => found.group === group);
  // Only a list finds a group that is not among the largest, or not among the latest jobs.
  return groups.length === 0 && all.isCapped ? groupListed(store, query) : { groups, isCapped: all.isCapped };
}

/** Groups what the list finds, so that groups and list agree. */
async function groupListed(store: Grouping, query: FieldQuery): Promise<ErrorGroups> {
  const tally = new ErrorTally();
  const errors = new Map<string, JobError>();
  const { jobs, isCapped } = await listAll(store, query, MAX_CANDIDATES, MAX_PAGE);
  for (const { id, type, error, completedAt: at } of jobs) {
    if (error === null || at === null) continue;
    errors.set(id, error);
    tally.add({ group: error.group, type, count: 1, firstSeenAt: at, lastSeenAt: at, sampleJobId: id });
  }
  const { groups, isMore } = tally.top(MAX_GROUPS);
  const samples = groups.map(({ sampleJobId }) => errors.get(sampleJobId));
  return { groups: named(groups, samples), isCapped: isCapped || isMore };
}
