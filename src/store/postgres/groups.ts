import { ErrorTally, type FoundGroup, jobsToName, named } from "../../core/error-tally.ts";
import { STATE } from "../numbers.ts";
import { type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import { encodeText, numbers } from "./codec.ts";
import type { Context } from "./context.ts";
import { talliesOf } from "./list.ts";
import { findJobs } from "./manage.ts";

/** Groups dead letters by error. They are found by queue and end; if there are too many, only the latest of each queue. */
export async function groupErrors(context: Context, query: GroupQuery): Promise<{ groups: FoundGroup[]; isCapped: boolean }> {
  const states = numbers(query.status.map((status) => STATE[status]));
  const [ended] = await context.connections.call(context.sql.countEnded, [
    talliesOf(query.status),
    query.queue ?? null,
    query.internal ?? false,
  ]);
  const [count, queues] = ended as [number, number];
  const isTooMuch = count > MAX_CANDIDATES && (await countWithin(context, query, states)) > MAX_CANDIDATES;
  const share = isTooMuch ? Math.max(1, Math.floor(MAX_CANDIDATES / (queues * query.status.length))) : MAX_CANDIDATES;
  const tally = await countErrors(context, query, states, share);
  const { groups, isMore } = tally.top(query.limit);
  const errors = new Map((await findJobs(context, jobsToName(groups))).map((job) => [job?.id, job?.error]));
  return { groups: named(groups, (id) => errors.get(id)), isCapped: isTooMuch || isMore };
}

/** How many jobs ended in the wanted time, counted up to one more than may be looked at. */
async function countWithin(context: Context, query: GroupQuery, states: string): Promise<number> {
  const { queue = null, internal = false, endedFrom = null, endedTo = null } = query;
  const values = [states, queue, internal, endedFrom, endedTo, MAX_CANDIDATES + 1];
  const [row] = await context.connections.call(context.sql.countEndedWithin, values);
  return row![0] as number;
}

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

async function countErrors(context: Context, query: GroupQuery, states: string, share: number): Promise<ErrorTally> {
  const { min = null, max = null } = query.priority ?? {};
  const tag = query.tag === undefined ? null : encodeText(query.tag);
  const { queue = null, from = null, to = null, type: wanted = null, internal = false, endedFrom = null, endedTo = null } = query;
  const values = [states, share, queue, from, to, wanted, min, max, tag, internal, endedFrom, endedTo, context.now()];
  const rows = await context.connections.call(context.sql.countErrors, values);
  const tally = new ErrorTally();
  for (const [group, type, hoursAgo, count, firstSeenAt, lastSeenAt, firstJobId, sampleJobId] of rows as CountedRow[]) {
    tally.add({ group, type, hoursAgo, count, firstSeenAt, lastSeenAt, firstJobId, sampleJobId });
  }
  return tally;
}
