import { ErrorTally, hoursAgo, named } from "../../core/error-tally.ts";
import { FacetTally } from "../../core/facet-tally.ts";
import { facetOf } from "../../core/facets.ts";
import { endedInTime, type Filter, leavesOut, matcherOf } from "../../core/filter.ts";
import type { JobRecord } from "../../core/job.ts";
import { type FacetQuery, type FacetValues, type FoundGroups, type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import type { Context } from "./context.ts";
import type { Jobs } from "./jobs.ts";

/** Groups the latest created dead letters by error. */
export function groupErrors(context: Context, query: GroupQuery): FoundGroups {
  const { tally, isCapped } = tallyErrors(context, query);
  const { groups, hasMore } = tally.top(query.limit);
  return { groups: named(groups, (id) => context.jobs.get(id)?.record.error), isCapped, hasMore };
}

export function countErrors(context: Context, query: Omit<GroupQuery, "limit">): Map<string, number> {
  return tallyErrors(context, query).tally.counts();
}

function tallyErrors({ jobs, now }: Context, query: Omit<GroupQuery, "limit">): { tally: ErrorTally; isCapped: boolean } {
  const { records, isCapped } = latest(jobs, query);
  const tally = new ErrorTally();
  for (const { id, type, error, completedAt: at } of records) {
    if (error === null || at === null) continue;
    const seen = { firstSeenAt: at, lastSeenAt: at, firstJobId: id, sampleJobId: id };
    tally.add({ group: error.group, type, hoursAgo: hoursAgo(at, now), count: 1, ...seen });
  }
  return { tally, isCapped };
}

/** Counts the latest created dead letters by the value of a facet. */
export function countFacetValues({ jobs }: Context, query: FacetQuery): FacetValues {
  const { records, isCapped } = latest(jobs, query);
  const tally = new FacetTally();
  for (const { facets } of records) tally.add(facetOf(facets, query.field), 1);
  return { ...tally.top(query.limit), isCapped };
}

/** Those of the latest created jobs that match. */
function latest({ bySequence }: Jobs, query: Filter): { records: JobRecord[]; isCapped: boolean } {
  const isMeant = matcherOf(query);
  const records: JobRecord[] = [];
  let looked = 0;
  for (const { record } of bySequence.newestFirst(bySequence.lastSeq + 1, Infinity, query.status)) {
    if ((query.queue !== undefined && record.queue !== query.queue) || leavesOut(query, record.queue)) continue;
    if (!endedInTime(query, record)) continue;
    if (looked++ === MAX_CANDIDATES) return { records, isCapped: true };
    if (isMeant(record, () => false)) records.push(record);
  }
  return { records, isCapped: false };
}
