import { ErrorTally, type FoundGroup, hoursAgo, named } from "../../core/error-tally.ts";
import { FacetTally } from "../../core/facet-tally.ts";
import { facetIn } from "../../core/facets.ts";
import { endedInTime, type Filter, leavesOut, matcherOf } from "../../core/filter.ts";
import type { JobRecord } from "../../core/job.ts";
import { type FacetQuery, type FacetValues, type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import type { Context } from "./context.ts";
import type { Jobs } from "./jobs.ts";

/** Groups the latest created dead letters by error. */
export function groupErrors({ jobs, now }: Context, query: GroupQuery): { groups: FoundGroup[]; isCapped: boolean } {
  const { records, isCapped } = latest(jobs, query);
  const tally = new ErrorTally();
  for (const { id, type, error, completedAt: at } of records) {
    if (error === null || at === null) continue;
    const seen = { firstSeenAt: at, lastSeenAt: at, firstJobId: id, sampleJobId: id };
    tally.add({ group: error.group, type, hoursAgo: hoursAgo(at, now), count: 1, ...seen });
  }
  const { groups, isMore } = tally.top(query.limit);
  return { groups: named(groups, (id) => jobs.get(id)?.record.error), isCapped: isCapped || isMore };
}

/** Counts the latest created dead letters by the value of a facet. */
export function countFacetValues({ jobs }: Context, query: FacetQuery): FacetValues {
  const { records, isCapped } = latest(jobs, query);
  const tally = new FacetTally();
  for (const { facets } of records) tally.add(facetIn(facets, query.field), 1);
  return tally.top(query.limit, isCapped);
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
