import { ErrorTally, jobsToName, named } from "../../core/error-tally.ts";
import { FacetTally } from "../../core/facet-tally.ts";
import { STATE } from "../numbers.ts";
import { type FacetQuery, type FacetValues, type FoundGroups, type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import { encodeFacets, encodeText, numbers } from "./codec.ts";
import type { Context } from "./context.ts";
import { encodeLimitKey, queuesLeftOut, talliesOf } from "./list.ts";
import { findJobs } from "./manage.ts";

type CountedRow = [
  group: string,
  type: string,
  hours: number,
  count: number,
  first: number,
  last: number,
  firstJob: string,
  sample: string,
];

/** Groups dead letters by error. */
export async function groupErrors(context: Context, query: GroupQuery): Promise<FoundGroups> {
  const { tally, isTooMuch } = await tallyErrors(context, query);
  const { groups, hasMore } = tally.top(query.limit);
  const errors = new Map((await findJobs(context, jobsToName(groups))).map((job) => [job?.id, job?.error]));
  return { groups: named(groups, (id) => errors.get(id)), isCapped: isTooMuch, hasMore };
}

export async function countErrors(context: Context, query: Omit<GroupQuery, "limit">): Promise<Map<string, number>> {
  return (await tallyErrors(context, query)).tally.counts();
}

async function tallyErrors(context: Context, query: Omit<GroupQuery, "limit">): Promise<{ tally: ErrorTally; isTooMuch: boolean }> {
  const { values, isTooMuch } = await lastEnded(context, query);
  const tally = new ErrorTally();
  const rows = await context.connections.call(context.sql.countErrors, [...values, context.now()]);
  for (const [group, type, hoursAgo, count, firstSeenAt, lastSeenAt, firstJobId, sampleJobId] of rows as CountedRow[]) {
    tally.add({ group, type, hoursAgo, count, firstSeenAt, lastSeenAt, firstJobId, sampleJobId });
  }
  return { tally, isTooMuch };
}

/** Counts the same dead letters by the value of a facet. */
export async function countFacetValues(context: Context, query: FacetQuery): Promise<FacetValues> {
  const { values, isTooMuch } = await lastEnded(context, query);
  const tally = new FacetTally();
  const rows = await context.connections.call(context.sql.countFacetValues, [...values, query.field]);
  for (const [value, count] of rows as [string | null, number][]) tally.add(value, count);
  return { ...tally.top(query.limit), isCapped: isTooMuch };
}

/** The filter of dead letters, as statements take it. They are found by queue and end; if there are too many, only the latest of each queue. */
async function lastEnded(
  context: Context,
  query: Omit<FacetQuery, "field" | "limit">,
): Promise<{ values: readonly unknown[]; isTooMuch: boolean }> {
  const { queue = null, from = null, to = null, type = null, endedFrom = null, endedTo = null, group = null } = query;
  const { min = null, max = null } = query.priority ?? {};
  const tag = query.tag === undefined ? null : encodeText(query.tag);
  const states = numbers(query.status.map((status) => STATE[status]));
  const leftOut = queuesLeftOut(query);
  const [ended] = await context.connections.call(context.sql.countEnded, [talliesOf(query.status), queue, leftOut]);
  const [count, queues] = ended as [number, number];
  const isTooMuch = count > MAX_CANDIDATES && (await countWithin(context, query, states)) > MAX_CANDIDATES;
  const share = isTooMuch ? Math.max(1, Math.floor(MAX_CANDIDATES / (queues * query.status.length))) : MAX_CANDIDATES;
  const ofJob = [
    queue,
    from,
    to,
    type,
    min,
    max,
    tag,
    leftOut,
    endedFrom,
    endedTo,
    encodeFacets(query.facets),
    group,
    encodeLimitKey(query),
  ];
  return { values: [states, share, ...ofJob], isTooMuch };
}

/** How many jobs ended in the wanted time, counted up to one more than may be looked at. */
async function countWithin(context: Context, query: Omit<GroupQuery, "limit">, states: string): Promise<number> {
  const { queue = null, endedFrom = null, endedTo = null } = query;
  const values = [states, queue, queuesLeftOut(query), endedFrom, endedTo, MAX_CANDIDATES + 1];
  const [row] = await context.connections.call(context.sql.countEndedWithin, values);
  return row![0] as number;
}
