import { ErrorTally, type FoundGroup, hoursAgo, named } from "../../core/error-tally.ts";
import { endedInTime, leavesOut, matcherOf } from "../../core/filter.ts";
import { type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import type { Context } from "./context.ts";

/** Groups the latest created dead letters by error. */
export function groupErrors({ jobs, now }: Context, query: GroupQuery): { groups: FoundGroup[]; isCapped: boolean } {
  const { bySequence } = jobs;
  const isMeant = matcherOf(query);
  const tally = new ErrorTally();
  let looked = 0;
  let isCapped = false;
  for (const { record } of bySequence.newestFirst(bySequence.lastSeq + 1, Infinity, query.status)) {
    if ((query.queue !== undefined && record.queue !== query.queue) || leavesOut(query, record.queue)) continue;
    if (!endedInTime(query, record)) continue;
    if (looked++ === MAX_CANDIDATES) {
      isCapped = true;
      break;
    }
    const { id, type, error, completedAt: at } = record;
    if (error === null || at === null || !isMeant(record, () => false)) continue;
    const seen = { firstSeenAt: at, lastSeenAt: at, firstJobId: id, sampleJobId: id };
    tally.add({ group: error.group, type, hoursAgo: hoursAgo(at, now), count: 1, ...seen });
  }
  const { groups, isMore } = tally.top(query.limit);
  return { groups: named(groups, (id) => jobs.get(id)?.record.error), isCapped: isCapped || isMore };
}
