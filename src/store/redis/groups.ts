import { ErrorTally, jobsToName, named } from "../../core/error-tally.ts";
import { FacetTally } from "../../core/facet-tally.ts";
import { leavesOut } from "../../core/filter.ts";
import { partitionOf } from "../../core/partition.ts";
import { type FacetQuery, type FacetValues, type FoundGroups, type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import { jsonOf, listOf, numberOf, readLanes, type Reply, statesOf, textOf } from "./codec.ts";
import type { Context } from "./context.ts";
import { longId } from "./ids.ts";
import { findJobs } from "./manage.ts";
import { FACET_VALUES, GROUPS } from "./statements/groups.ts";
import type { Script } from "./statements/script.ts";

/** These scripts only read, so they may look at more than one that writes. */
const STRETCH = 500;

/** Which dead letters are counted, and how. */
interface Counting {
  readonly query: Omit<GroupQuery, "limit">;
  readonly script: Script;
  /** What the script takes in addition. */
  readonly args: readonly string[];
  /** Takes a row: its name, the type of its jobs, and what follows name and lane. */
  readonly add: (name: string, type: string, row: readonly Reply[]) => void;
}

export async function groupErrors(context: Context, query: GroupQuery): Promise<FoundGroups> {
  const { tally, isTooMuch } = await tallyErrors(context, query);
  const { groups, hasMore } = tally.top(query.limit);
  const errors = new Map((await findJobs(context, jobsToName(groups))).map((job) => [job?.id, job?.error]));
  return { groups: named(groups, (id) => errors.get(id)), isCapped: isTooMuch, hasMore };
}

export async function countErrors(context: Context, query: Counting["query"]): Promise<Map<string, number>> {
  return (await tallyErrors(context, query)).tally.counts();
}

async function tallyErrors(context: Context, query: Counting["query"]): Promise<{ tally: ErrorTally; isTooMuch: boolean }> {
  const tally = new ErrorTally();
  const isTooMuch = await countLatest(context, {
    query,
    script: GROUPS,
    args: [],
    add: (name, type, [count, first, last, firstJob, sample]) => {
      const [group = "", hours] = name.split(" ");
      tally.add({
        group,
        type,
        hoursAgo: Number(hours),
        count: numberOf(count),
        firstSeenAt: numberOf(first),
        lastSeenAt: numberOf(last),
        firstJobId: longId(firstJob as Buffer),
        sampleJobId: longId(sample as Buffer),
      });
    },
  });
  return { tally, isTooMuch };
}

export async function countFacetValues(context: Context, query: FacetQuery): Promise<FacetValues> {
  const tally = new FacetTally();
  const isTooMuch = await countLatest(context, {
    query,
    script: FACET_VALUES,
    args: [query.field, query.group ?? ""],
    add: (value, _type, [count]) => tally.add(value === "" ? null : value, numberOf(count)),
  });
  return { ...tally.top(query.limit), isCapped: isTooMuch };
}

/** Each partition has dead letters by their end. If there are too many, only the latest of each are counted: returns whether that is so. */
async function countLatest(context: Context, counting: Counting): Promise<boolean> {
  const { query } = counting;
  const partitions = query.queue === undefined ? [...(await context.registry.partitions()).keys()] : [partitionOf(query.queue)];
  const sizes = await Promise.all(partitions.map((partition) => countDead(context, partition, query)));
  const filled = partitions.map((partition, index) => ({ partition, size: sizes[index]! })).filter(({ size }) => size > 0);
  const isTooMuch = filled.reduce((sum, { size }) => sum + size, 0) > MAX_CANDIDATES;
  const share = isTooMuch ? Math.floor(MAX_CANDIDATES / filled.length) : MAX_CANDIDATES;
  await Promise.all(filled.map(({ partition }) => countIn(context, partition, share, counting)));
  return isTooMuch;
}

async function countDead({ session, keys }: Context, partition: number, query: Counting["query"]): Promise<number> {
  return numberOf(await session.command("ZCOUNT", `${keys.partition(partition)}:x`, ...endsOf(query)));
}

/** The wanted time of the end, as bounds of a sorted set. */
function endsOf({ endedFrom, endedTo }: Counting["query"]): [from: string, to: string] {
  return [endedFrom === undefined ? "-inf" : String(endedFrom), endedTo === undefined ? "+inf" : `(${endedTo}`];
}

async function countIn({ session, keys }: Context, partition: number, share: number, counting: Counting): Promise<void> {
  const { query, script, args, add } = counting;
  const { priority, from = "", to = "", tag = "", facets } = query;
  const filter = [
    statesOf([...new Set(query.status)]),
    String(priority?.min ?? ""),
    String(priority?.max ?? ""),
    String(from),
    String(to),
    tag,
    jsonOf(facets),
    ...endsOf(query),
    query.limitKey ?? "",
  ];
  for (let passed = 0; passed < share;) {
    const stretch = Math.min(STRETCH, share - passed);
    const reply = await session.run(script, keys.partition(partition), [String(passed), String(stretch), ...filter, ...args]);
    const [rows, looked, lanes] = listOf(reply);
    const names = readLanes(lanes);
    for (const row of listOf(rows)) {
      const [name, lane, ...rest] = listOf(row);
      const { type, queue } = names.get(numberOf(lane))!;
      if (leavesOut(query, queue)) continue;
      if ((query.type !== undefined && type !== query.type) || (query.queue !== undefined && queue !== query.queue)) continue;
      add(textOf(name), type, rest);
    }
    if (numberOf(looked) < stretch) return;
    passed += stretch;
  }
}
