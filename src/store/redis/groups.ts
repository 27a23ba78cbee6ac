import { ErrorTally, type FoundGroup, jobsToName, named } from "../../core/error-tally.ts";
import { leavesOut } from "../../core/filter.ts";
import { partitionOf } from "../../core/partition.ts";
import { type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import { listOf, numberOf, readLanes, statesOf, textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { longId } from "./ids.ts";
import { findJobs } from "./manage.ts";
import { GROUPS } from "./statements/groups.ts";

/** This script only reads, so it may look at more than one that writes. */
const STRETCH = 500;

/** Groups dead letters by error. Each partition has them by their end; if there are too many, only the latest of each. */
export async function groupErrors(context: Context, query: GroupQuery): Promise<{ groups: FoundGroup[]; isCapped: boolean }> {
  const partitions = query.queue === undefined ? [...(await context.registry.partitions()).keys()] : [partitionOf(query.queue)];
  const sizes = await Promise.all(partitions.map((partition) => countDead(context, partition, query)));
  const filled = partitions.map((partition, index) => ({ partition, size: sizes[index]! })).filter(({ size }) => size > 0);
  const isTooMuch = filled.reduce((sum, { size }) => sum + size, 0) > MAX_CANDIDATES;
  const share = isTooMuch ? Math.floor(MAX_CANDIDATES / filled.length) : MAX_CANDIDATES;
  const tally = new ErrorTally();
  await Promise.all(filled.map(({ partition }) => countErrors(context, partition, share, query, tally)));
  const { groups, isMore } = tally.top(query.limit);
  const errors = new Map((await findJobs(context, jobsToName(groups))).map((job) => [job?.id, job?.error]));
  return { groups: named(groups, (id) => errors.get(id)), isCapped: isTooMuch || isMore };
}

async function countDead({ session, keys }: Context, partition: number, query: GroupQuery): Promise<number> {
  return numberOf(await session.command("ZCOUNT", `${keys.partition(partition)}:x`, ...endsOf(query)));
}

/** The wanted time of the end, as bounds of a sorted set. */
function endsOf({ endedFrom, endedTo }: GroupQuery): [from: string, to: string] {
  return [endedFrom === undefined ? "-inf" : String(endedFrom), endedTo === undefined ? "+inf" : `(${endedTo}`];
}

async function countErrors(
  { session, keys }: Context,
  partition: number,
  share: number,
  query: GroupQuery,
  tally: ErrorTally,
): Promise<void> {
  const { priority, from = "", to = "", tag = "" } = query;
  const filter = [
    statesOf([...new Set(query.status)]),
    String(priority?.min ?? ""),
    String(priority?.max ?? ""),
    String(from),
    String(to),
    tag,
    ...endsOf(query),
  ];
  for (let passed = 0; passed < share;) {
    const stretch = Math.min(STRETCH, share - passed);
    const reply = await session.run(GROUPS, keys.partition(partition), [String(passed), String(stretch), ...filter]);
    const [rows, looked, lanes] = listOf(reply);
    const names = readLanes(lanes);
    for (const row of listOf(rows)) {
      const [group, lane, hours, count, first, last, firstJob, sample] = listOf(row);
      const { type, queue } = names.get(numberOf(lane))!;
      if (leavesOut(query, queue)) continue;
      if ((query.type !== undefined && type !== query.type) || (query.queue !== undefined && queue !== query.queue)) continue;
      tally.add({
        group: textOf(group),
        type,
        hoursAgo: numberOf(hours),
        count: numberOf(count),
        firstSeenAt: numberOf(first),
        lastSeenAt: numberOf(last),
        firstJobId: longId(firstJob as Buffer),
        sampleJobId: longId(sample as Buffer),
      });
    }
    if (numberOf(looked) < stretch) return;
    passed += stretch;
  }
}
