import type { Counter, TimeKind } from "../../core/counters.ts";
import { bucketOf } from "../../core/histogram.ts";
import { WAITING } from "../../core/job.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import {
  BUCKETS_PER_TYPE,
  COUNTER,
  FIRST_BUCKET,
  firstBucketOf,
  levelNumber,
  LEVELS,
  STATE,
  STEP,
  tallyCell,
  typedCounter,
} from "../numbers.ts";
import type { Connection } from "./connection.ts";
import { ADD_WAITING } from "./limit-statements.ts";
import { ADD_COUNT, ADD_TALLY } from "./statements.ts";

/** The most cells of a queue. Each is packed into one number with its queue. */
const CELLS = tallyCell(Object.keys(STATE).length, 0);

/**
 * Adds up what a transaction changes, and writes it as a few rows before its commit. So `stats` never counts jobs, and a batch of a
 * thousand costs about as many counter writes as a batch of one.
 */
export class Counts {
  /** (queue, state, level), packed into one number. */
  readonly #tallies = new Map<number, number>();
  /** By queue and metric. */
  readonly #counts = new Map<number, Map<number, number>>();
  /** Waiting jobs by limit key. */
  readonly #waiting = new Map<number, number>();

  /** How many jobs this transaction has added to a state, beyond what the table says. */
  added(queue: number, state: number): number {
    let added = 0;
    for (let level = 0; level < LEVELS.length; level++) added += this.#tallies.get(queue * CELLS + tallyCell(state, level)) ?? 0;
    return added;
  }

  /** The same for all states that count against the capacity. */
  waitingAdded(queue: number): number {
    return WAITING.reduce((added, status) => added + this.added(queue, STATE[status]), 0);
  }

  /** Counts a job that left one state (null: it is new) and entered another (null: it is gone). */
  move(queue: number, priority: number, from: number | null, to: number | null): void {
    const level = levelNumber(priority);
    if (from !== null) add(this.#tallies, queue * CELLS + tallyCell(from, level), -1);
    if (to !== null) add(this.#tallies, queue * CELLS + tallyCell(to, level), 1);
  }

  /** `type` is the number under which the job's type is counted; 0: it has none. */
  count(queue: number, type: number, counter: Counter): void {
    add(this.#of(queue), type === 0 ? COUNTER[counter] : typedCounter(type, COUNTER[counter]), 1);
  }

  time(queue: number, type: number, kind: TimeKind, ms: number): void {
    add(this.#of(queue), type * BUCKETS_PER_TYPE + firstBucketOf(kind) + bucketOf(ms), 1);
  }

  /** Counts waiting jobs of a limit key. */
  countWaiting(limitKey: number, more: number): void {
    add(this.#waiting, limitKey, more);
  }

  /** How many waiting jobs this transaction has added to a limit key, beyond what the table says. */
  waitingAddedTo(limitKey: number): number {
    return this.#waiting.get(limitKey) ?? 0;
  }

  #of(queue: number): Map<number, number> {
    let counts = this.#counts.get(queue);
    if (counts === undefined) this.#counts.set(queue, (counts = new Map()));
    return counts;
  }

  write(on: Connection, now: number): void {
    for (const [packed, delta] of this.#tallies) {
      const cell = packed % CELLS;
      if (delta !== 0) on.run(ADD_TALLY, Math.floor(packed / CELLS), Math.floor(cell / LEVELS.length), cell % LEVELS.length, delta);
    }
    for (const [limitKey, delta] of this.#waiting) if (delta !== 0) on.run(ADD_WAITING, delta, limitKey);
    const minute = now - (now % MINUTE_MS);
    const hour = now - (now % HOUR_MS);
    for (const [queue, counts] of this.#counts) {
      for (const [metric, delta] of counts) {
        on.run(ADD_COUNT, STEP.minute, queue, minute, metric, delta);
        if (metric >= FIRST_BUCKET) continue;
        on.run(ADD_COUNT, STEP.hour, queue, hour, metric, delta);
        on.run(ADD_COUNT, STEP.all, queue, 0, metric, delta);
      }
    }
    this.forget();
  }

  /** Call it when the transaction is rolled back. */
  forget(): void {
    this.#tallies.clear();
    this.#counts.clear();
    this.#waiting.clear();
  }
}

function add(map: Map<number, number>, key: number, delta: number): void {
  map.set(key, (map.get(key) ?? 0) + delta);
}
