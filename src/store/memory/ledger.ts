import { type Counter, COUNTERS, type TimeKind } from "../../core/counters.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import { bucketOf } from "../../core/histogram.ts";
import { COUNTER } from "../numbers.ts";
import type { CounterQuery, CounterRow } from "../store.ts";
import { firstIndex } from "./line.ts";

/** What was counted for a queue in one period. */
interface Row {
  readonly queue: string;
  readonly at: number;
  /** From here on another row counts; moved to 0 when the row is swept away. */
  until: number;
  /** By the numbers of counters. */
  readonly counts: number[];
  readonly times: Partial<Record<TimeKind, Map<number, number>>>;
}

/** The rows into which a queue counts at present. */
export class Account {
  readonly queue: string;
  all: Row | null = null;
  hour: Row | null = null;
  minute: Row | null = null;

  constructor(queue: string) {
    this.queue = queue;
  }
}

/** Counters and histograms. Time never goes back, so rows come in the order of their periods. */
export class Ledger {
  readonly #all: Row[] = [];
  readonly #hours: Row[] = [];
  readonly #minutes: Row[] = [];

  count(account: Account, counter: Counter, now: number): void {
    const number = COUNTER[counter];
    this.#allOf(account).counts[number]!++;
    this.#hourOf(account, now).counts[number]!++;
    this.#minuteOf(account, now).counts[number]!++;
  }

  time(account: Account, kind: TimeKind, ms: number, now: number): void {
    const buckets = (this.#minuteOf(account, now).times[kind] ??= new Map());
    const bucket = bucketOf(ms);
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }

  read({ step, queue, from = -Infinity, to = Infinity }: CounterQuery): CounterRow[] {
    const rows = step === "all" ? this.#all : step === "hour" ? this.#hours : this.#minutes;
    const inTime =
      step === "all"
        ? rows
        : rows.slice(
            firstIndex(rows, (row) => row.at >= from),
            firstIndex(rows, (row) => row.at >= to),
          );
    return inTime.filter((row) => queue === undefined || row.queue === queue).map(copyOf);
  }

  /** Drops up to `limit` rows of each step that began before the given times. */
  sweep(minutesBefore: number, hoursBefore: number, limit: number): number {
    return drop(this.#minutes, minutesBefore, limit) + drop(this.#hours, hoursBefore, limit);
  }

  #allOf(account: Account): Row {
    return (account.all ??= open(this.#all, account.queue, 0, Infinity));
  }

  #hourOf(account: Account, now: number): Row {
    if (account.hour !== null && now < account.hour.until) return account.hour;
    return (account.hour = open(this.#hours, account.queue, now - (now % HOUR_MS), HOUR_MS));
  }

  #minuteOf(account: Account, now: number): Row {
    if (account.minute !== null && now < account.minute.until) return account.minute;
    return (account.minute = open(this.#minutes, account.queue, now - (now % MINUTE_MS), MINUTE_MS));
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
