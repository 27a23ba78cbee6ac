import { partitionOf } from "../../core/partition.ts";
import { HOUR_MS } from "../../core/time-units.ts";
import { type CounterCell, counterRows, FIELDS_PER_TYPE, firstFieldOf, isWantedType, readField, readTyped } from "../numbers.ts";
import { unpackTimes, WHOLE_QUEUE } from "../packed-times.ts";
import type { CounterQuery, CounterRow } from "../store.ts";
import { listOf, type Reply, textOf } from "./codec.ts";
import { chunksOf, type Context } from "./context.ts";
import { laneOfField, packedField, READ_PERIODS, SUM_TYPES } from "./statements/counters.ts";

/** Until its rows are made, the type of a cell is the number of its lane: there are far fewer rows than cells. */
type Cell = CounterCell;

export async function readCounters(context: Context, query: CounterQuery): Promise<{ now: number; rows: CounterRow[] }> {
  const { session, registry } = context;
  const partitions = query.queue === undefined ? await registry.partitions() : new Map([[partitionOf(query.queue), [query.queue]]]);
  const read = [...partitions].map(async ([partition, queues]) => {
    const rows = counterRows(await cellsOf(context, partition, queues, query), readField);
    const types = await typesOf(context, partition, rows);
    return rows.map((row): CounterRow => ({ ...row, type: row.type === null ? null : types.get(row.type)! }));
  });
  const [now, ...rows] = await Promise.all([session.now(), ...read]);
  return { now, rows: rows.flat().filter(({ type }) => isWantedType(type, query)) };
}

function cellsOf(context: Context, partition: number, queues: readonly string[], query: CounterQuery): Promise<Cell[]> {
  const { step } = query;
  if (step === "all") return totalsOf(context, partition, queues, query);
  return step === "hour-times" ? hourTimesOf(context, partition, query) : periodsOf(context, partition, { ...query, step });
}

/** The types of lanes. */
async function typesOf({ session, keys }: Context, partition: number, rows: readonly CounterRow[]): Promise<Map<string, string>> {
  const lanes = [...new Set(rows.map(({ type }) => type))].filter((lane) => lane !== null);
  if (lanes.length === 0) return new Map();
  const names = listOf(await session.command("HMGET", `${keys.partition(partition)}:n`, ...lanes)).map(textOf);
  return new Map(names.map((name, index) => [lanes[index]!, name.slice(name.indexOf(" ") + 1)]));
}

async function totalsOf({ session, keys }: Context, partition: number, queues: readonly string[], query: CounterQuery): Promise<Cell[]> {
  const base = keys.partition(partition);
  const cells = queues.map(async (queue) => {
    const found = listOf(await session.command("HGETALL", `${base}:c:${queue}`));
    return readCounts([0, queue], query, found.map(textOf));
  });
  return (await Promise.all(cells)).flat();
}

// ── Periods ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** How the keys of each step begin. */
const PERIODS = { hour: "h", minute: "m", "hour-times": "f" } as const;

/** How many hashes one script reads: a minute of many types has a thousand fields, and nobody else is served meanwhile. */
const READ_AT_ONCE = { hour: 50, minute: 5, "hour-times": 50 } as const;

type Period = readonly [start: number, queue: string];
type PeriodQuery = CounterQuery & { readonly step: keyof typeof PERIODS };

/**
 * Reads the stored periods by a script, whose first arguments are the beginning of their keys and `args`. Many calls are under way, but not
 * all: it may be a month of hours, or two days of minutes.
 */
async function gather(
  { session, keys }: Context,
  partition: number,
  query: PeriodQuery,
  script: typeof READ_PERIODS,
  args: readonly string[],
  read: (period: Period, reply: Reply) => Cell[],
): Promise<Cell[]> {
  const base = keys.partition(partition);
  const begin = PERIODS[query.step];
  const range = [String(query.from ?? "-inf"), query.to === undefined ? "+inf" : `(${query.to}`];
  const found = listOf(await session.command("ZRANGEBYSCORE", `${base}:p${begin}`, ...range));
  const stored = found.map((member) => textOf(member).split(" ") as [string, string]);
  const wanted = stored.filter(([, queue]) => query.queue === undefined || queue === query.queue);
  const cells: Cell[] = [];
  for (const stretch of chunksOf(wanted)) {
    const calls = chunksOf(stretch, READ_AT_ONCE[query.step]).map(async (some) => {
      const replies = listOf(await session.run(script, base, [begin, ...args, ...some.flat()]));
      return some.flatMap(([start, queue], index) => read([Number(start), queue], replies[index]!));
    });
    for (const some of await Promise.all(calls)) cells.push(...some);
  }
  return cells;
}

/** Only what is wanted leaves the server: sums over all types, or one type. */
async function periodsOf(context: Context, partition: number, query: PeriodQuery): Promise<Cell[]> {
  const lane = query.byType === undefined ? 0 : await laneOfType(context, partition, query);
  if (lane === "none") return [];
  const isWanted = ([, , , field]: Cell): boolean => query.countsOnly !== true || field < firstFieldOf("run");
  if (lane === "all") {
    return gather(context, partition, query, READ_PERIODS, [""], (period, reply) =>
      readCounts(period, query, linesIn(reply)).filter(isWanted),
    );
  }
  const type = lane === 0 ? null : String(lane);
  return gather(context, partition, query, SUM_TYPES, [query.countsOnly === true ? "1" : "", type ?? ""], ([at, queue], reply) =>
    pairsOf(linesIn(reply)).map(([field, amount]): Cell => [queue, type, at, field, amount]),
  );
}

/** The lane of the only wanted type; `none` if its queue has no such type. Without a queue it may have another lane in each. */
async function laneOfType(
  { session, keys }: Context,
  partition: number,
  { queue, byType }: CounterQuery,
): Promise<number | "all" | "none"> {
  if (typeof byType !== "object" || queue === undefined) return "all";
  const lane = await session.command("HGET", `${keys.partition(partition)}:l`, `${queue} ${byType.type}`);
  return lane === null ? "none" : Number(textOf(lane));
}

function readCounts([at, queue]: Period, { byType }: CounterQuery, found: readonly string[]): Cell[] {
  return pairsOf(found).map(([stored, amount]): Cell => {
    const { type: lane, metric } = readTyped(stored, FIELDS_PER_TYPE);
    return [queue, byType === undefined || lane === 0 ? null : String(lane), at, metric, amount];
  });
}

function linesIn(reply: Reply): string[] {
  const text = textOf(reply);
  return text === "" ? [] : text.split("\n");
}

function pairsOf(found: readonly string[]): [field: number, amount: number][] {
  return Array.from({ length: found.length / 2 }, (_, index) => [Number(found[2 * index]), Number(found[2 * index + 1])]);
}

// ── Histograms of hours ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** What was moved to the hours, and what is still in the minutes. Hours come first: what is moved meanwhile is missed, and not counted twice. */
async function hourTimesOf(context: Context, partition: number, query: CounterQuery): Promise<Cell[]> {
  const moved = await movedTimes(context, partition, query);
  const { from = 0, to = Infinity } = query;
  const since = Number((await context.session.command("GET", `${context.keys.partition(partition)}:mu`)) ?? 0);
  const left = await periodsOf(context, partition, { ...query, step: "minute", from: Math.max(from, since), to: undefined });
  for (const [queue, type, minute, field, amount] of left) {
    const at = minute - (minute % HOUR_MS);
    if (field >= firstFieldOf("run") && at >= from && at < to) moved.push([queue, type, at, field, amount]);
  }
  return moved;
}

async function movedTimes(context: Context, partition: number, query: CounterQuery): Promise<Cell[]> {
  const lane = query.byType === undefined ? WHOLE_QUEUE : await laneOfType(context, partition, query);
  if (lane === "none") return [];
  const hours: PeriodQuery = { ...query, step: "hour-times" };
  if (lane !== "all") {
    const type = lane === WHOLE_QUEUE ? null : String(lane);
    return gather(context, partition, hours, READ_PERIODS, [packedField(lane)], (hour, reply) =>
      reply === null ? [] : unpackHour(hour, type, textOf(reply)),
    );
  }
  return gather(context, partition, hours, READ_PERIODS, [""], (hour, reply) => {
    const fields = linesIn(reply);
    return fields.flatMap((name, index) => {
      const lane = index % 2 === 0 ? laneOfField(name) : null;
      // Beside its types, an hour has the sum of all of them.
      return lane === null || lane === WHOLE_QUEUE ? [] : unpackHour(hour, lane === 0 ? null : String(lane), fields[index + 1]!);
    });
  });
}

function unpackHour([at, queue]: Period, type: string | null, times: string): Cell[] {
  return unpackTimes(times).map(([field, amount]): Cell => [queue, type, at, field, amount]);
}
