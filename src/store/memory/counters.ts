import { type Counter, COUNTERS, MAX_TYPES_COUNTED, type TimeKind, TIMES_BY_MINUTE_MS } from "../../core/counters.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import { bucketOf } from "../../core/histogram.ts";
import { COUNTER } from "../numbers.ts";
import type { CounterQuery, CounterRow } from "../store.ts";
import { firstIndex } from "./line.ts";

/** What was counted for a type of a queue in one period; without a type, for all types that are not counted on their own. */
interface Row {
  readonly queue: string;
  readonly type: string | null;
  readonly at: number;
  /** When the next row begins; 0 once the row is dropped. */
  until: number;
  /** By counter number. */
  readonly counts: number[];
  times: Partial<Record<TimeKind, Map<number, number>>>;
}

/** The current rows of a type of a queue. */
export class TypeCounters {
  readonly queue: string;
  readonly type: string | null;
  all: Row | null = null;
  hour: Row | null = null;
  minute: Row | null = null;

  constructor(queue: string, type: string | null) {
    this.queue = queue;
    this.type = type;
  }
}

/** The current rows of a queue: of its first types, and of all others together. */
export class QueueCounters {
  readonly #queue: string;
  readonly #byType = new Map<string, TypeCounters>();
  readonly #others: TypeCounters;

  constructor(queue: string) {
    this.#queue = queue;
    this.#others = new TypeCounters(queue, null);
  }

  of(type: string): TypeCounters {
    const known = this.#byType.get(type);
    if (known !== undefined) return known;
    if (this.#byType.size >= MAX_TYPES_COUNTED) return this.#others;
    const counters = new TypeCounters(this.#queue, type);
    this.#byType.set(type, counters);
    return counters;
  }
}

/** Counters and histograms. Time never goes back, so rows are in the order of their periods. */
export class Counters {
  readonly #all: Row[] = [];
  readonly #hours: Row[] = [];
  readonly #minutes: Row[] = [];
  /** Histograms that were moved from their minutes. */
  readonly #hourTimes: Row[] = [];
  /** Minutes that began before have no histograms any more. */
  #movedTo = 0;

  count(counters: TypeCounters, counter: Counter, now: number): void {
    const number = COUNTER[counter];
    this.#allOf(counters).counts[number]!++;
    this.#hourOf(counters, now).counts[number]!++;
    this.#minuteOf(counters, now).counts[number]!++;
  }

  time(counters: TypeCounters, kind: TimeKind, ms: number, now: number): void {
    const buckets = (this.#minuteOf(counters, now).times[kind] ??= new Map());
    const bucket = bucketOf(ms);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }

  read({ step, queue, byType, countsOnly, from = -Infinity, to = Infinity }: CounterQuery): CounterRow[] {
    const inTime = step === "all" ? this.#all : this.#within(step, from, to);
    const ofQueue = inTime.filter((row) => queue === undefined || row.queue === queue);
    const wanted = countsOnly === true ? ofQueue.map((row) => ({ ...row, times: {} })) : ofQueue;
    if (byType === undefined) return addUp(wanted.map((row) => ({ ...row, type: null })));
    return addUp(wanted.filter((row) => byType === true || row.type === byType.type));
  }

  #within(step: "hour" | "minute" | "hour-times", from: number, to: number): Row[] {
    if (step === "minute") return within(this.#minutes, from, to);
    if (step === "hour") return within(this.#hours, from, to);
    // What was moved to the hours, and what is still in the minutes.
    const minutes = within(this.#minutes, this.#movedTo, Infinity).filter(({ times }) => Object.keys(times).length > 0);
    const left = minutes.map((row) => ({ ...row, at: hourOf(row.at), counts: [] }));
    return [...within(this.#hourTimes, from, to), ...within(left, from, to)];
  }

  /** Drops up to `limit` minutes and hours that began before the given times; first moves histograms to their hours. */
  sweep(now: number, minutesBefore: number, hoursBefore: number, limit: number): number {
    const moved = this.#moveTimes(now - TIMES_BY_MINUTE_MS, limit);
    const minutes = drop(this.#minutes, Math.min(minutesBefore, this.#movedTo), limit);
    return moved + minutes + drop(this.#hours, hoursBefore, limit) + drop(this.#hourTimes, hoursBefore, limit);
  }

  /** Minute by minute, until at least `limit` cells were moved. */
  #moveTimes(before: number, limit: number): number {
    let moved = 0;
    for (let index = firstIndex(this.#minutes, (row) => row.at >= this.#movedTo); ; index++) {
      const row = this.#minutes[index];
      if (row === undefined || row.at >= before) break;
      if (moved >= limit && row.at > this.#movedTo) return moved;
      this.#movedTo = row.at;
      for (const [kind, buckets] of Object.entries(row.times)) {
        addTimes((this.#hourTimesOf(row, hourOf(row.at)).times[kind as TimeKind] ??= new Map()), buckets);
        moved += buckets.size;
      }
      row.times = {};
    }
    this.#movedTo = Math.max(this.#movedTo, before);
    return moved;
  }

  #hourTimesOf(of: Row, at: number): Row {
    const isSame = (row: Row): boolean => row.queue === of.queue && row.type === of.type && row.at === at;
    return this.#hourTimes.findLast(isSame) ?? open(this.#hourTimes, of, at, HOUR_MS);
  }

  #allOf(counters: TypeCounters): Row {
    return (counters.all ??= open(this.#all, counters, 0, Infinity));
  }

  #hourOf(counters: TypeCounters, now: number): Row {
    if (counters.hour !== null && now < counters.hour.until) return counters.hour;
    return (counters.hour = open(this.#hours, counters, hourOf(now), HOUR_MS));
  }

  #minuteOf(counters: TypeCounters, now: number): Row {
    if (counters.minute !== null && now < counters.minute.until) return counters.minute;
    return (counters.minute = open(this.#minutes, counters, now - (now % MINUTE_MS), MINUTE_MS));
  }
}

function open(rows: Row[], { queue, type }: Pick<Row, "queue" | "type">, at: number, length: number): Row {
  const row: Row = { queue, type, at, until: at + length, counts: COUNTERS.map(() => 0), times: {} };
  rows.push(row);
  return row;
}

function hourOf(at: number): number {
  return at - (at % HOUR_MS);
}

function within(rows: readonly Row[], from: number, to: number): Row[] {
  return rows.slice(
    firstIndex(rows, (row) => row.at >= from),
    firstIndex(rows, (row) => row.at >= to),
  );
}

/** Adds up the rows of each queue, type and period. */
function addUp(rows: readonly Row[]): CounterRow[] {
  const sums: Row[] = [];
  for (const same of Map.groupBy(rows, ({ queue, type, at }) => `${queue} ${at} ${type ?? ""}`).values()) {
    const sum = open(sums, same[0]!, same[0]!.at, 0);
    for (const { counts, times } of same) {
      counts.forEach((count, counter) => (sum.counts[counter]! += count));
      for (const [kind, buckets] of Object.entries(times)) addTimes((sum.times[kind as TimeKind] ??= new Map()), buckets);
    }
  }
  return sums.map(copyOf);
}

function addTimes(to: Map<number, number>, buckets: ReadonlyMap<number, number>): void {
  for (const [bucket, count] of buckets) to.set(bucket, (to.get(bucket) ?? 0) + count);
}

function drop(rows: Row[], before: number, limit: number): number {
  const past = firstIndex(rows, (row) => row.at >= before);
  const dropped = rows.splice(0, Math.min(past, limit));
  for (const row of dropped) row.until = 0;
  return dropped.length;
}

function copyOf({ queue, type, at, counts, times }: Row): CounterRow {
  const counted = COUNTERS.map((counter) => [counter, counts[COUNTER[counter]]!] as const).filter(([, count]) => count > 0);
  const copies = Object.entries(times).map(([kind, buckets]) => [kind, new Map(buckets)] as const);
  return { queue, type, at, counts: Object.fromEntries(counted), times: Object.fromEntries(copies) };
}
