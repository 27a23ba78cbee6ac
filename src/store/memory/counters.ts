import { type Counter, COUNTERS, type TimeKind, TIMES_BY_MINUTE_MS } from "../../core/counters.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import { bucketOf } from "../../core/histogram.ts";
import { COUNTER } from "../numbers.ts";
import type { CounterQuery, CounterRow } from "../store.ts";
import { firstIndex } from "./line.ts";

/** What was counted for a queue in one period. */
interface Row {
  readonly queue: string;
  readonly at: number;
  /** When the next row begins; 0 once the row is dropped. */
  until: number;
  /** By counter number. */
  readonly counts: number[];
  times: Partial<Record<TimeKind, Map<number, number>>>;
}

/** The current rows of a queue. */
export class QueueCounters {
  readonly queue: string;
  all: Row | null = null;
  hour: Row | null = null;
  minute: Row | null = null;

  constructor(queue: string) {
    this.queue = queue;
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

  count(counters: QueueCounters, counter: Counter, now: number): void {
    const number = COUNTER[counter];
    this.#allOf(counters).counts[number]!++;
    this.#hourOf(counters, now).counts[number]!++;
    this.#minuteOf(counters, now).counts[number]!++;
  }

  time(counters: QueueCounters, kind: TimeKind, ms: number, now: number): void {
    const buckets = (this.#minuteOf(counters, now).times[kind] ??= new Map());
    const bucket = bucketOf(ms);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }

  read({ step, queue, from = -Infinity, to = Infinity }: CounterQuery): CounterRow[] {
    const rows = { all: this.#all, hour: this.#hours, minute: this.#minutes, "hour-times": this.#hourTimes }[step];
    const inTime =
      step === "all"
        ? rows
        : rows.slice(
            firstIndex(rows, (row) => row.at >= from),
            firstIndex(rows, (row) => row.at >= to),
          );
    return inTime.filter((row) => queue === undefined || row.queue === queue).map(copyOf);
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
        const hour = (this.#hourTimesOf(row.queue, row.at - (row.at % HOUR_MS)).times[kind as TimeKind] ??= new Map());
        for (const [bucket, count] of buckets) hour.set(bucket, (hour.get(bucket) ?? 0) + count);
        moved += buckets.size;
      }
      row.times = {};
    }
    this.#movedTo = Math.max(this.#movedTo, before);
    return moved;
  }

  #hourTimesOf(queue: string, at: number): Row {
    return this.#hourTimes.findLast((row) => row.queue === queue && row.at === at) ?? open(this.#hourTimes, queue, at, HOUR_MS);
  }

  #allOf(counters: QueueCounters): Row {
    return (counters.all ??= open(this.#all, counters.queue, 0, Infinity));
  }

  #hourOf(counters: QueueCounters, now: number): Row {
    if (counters.hour !== null && now < counters.hour.until) return counters.hour;
    return (counters.hour = open(this.#hours, counters.queue, now - (now % HOUR_MS), HOUR_MS));
  }

  #minuteOf(counters: QueueCounters, now: number): Row {
    if (counters.minute !== null && now < counters.minute.until) return counters.minute;
    return (counters.minute = open(this.#minutes, counters.queue, now - (now % MINUTE_MS), MINUTE_MS));
  }
}

function open(rows: Row[], queue: string, at: number, length: number): Row {
  const row: Row = { queue, at, until: at + length, counts: COUNTERS.map(() => 0), times: {} };
  rows.push(row);
  return row;
}

function drop(rows: Row[], before: number, limit: number): number {
  const past = firstIndex(rows, (row) => row.at >= before);
  const dropped = rows.splice(0, Math.min(past, limit));
  for (const row of dropped) row.until = 0;
  return dropped.length;
}

function copyOf({ queue, at, counts, times }: Row): CounterRow {
  const counted = COUNTERS.map((counter) => [counter, counts[COUNTER[counter]]!] as const).filter(([, count]) => count > 0);
  const copies = Object.entries(times).map(([kind, buckets]) => [kind, new Map(buckets)] as const);
  return { queue, at, counts: Object.fromEntries(counted), times: Object.fromEntries(copies) };
}
