import type { Counter, TimeKind } from "../../core/counters.ts";
import { bucketOf } from "../../core/histogram.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import { counterMetric, isBucket, levelNumber, timeMetric } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { ADD_COUNT, ADD_TALLY } from "./statements.ts";

export const STEPS = { all: 0, hour: 1, minute: 2 } as const;

const LEVELS = 4;
const LAST_WAITING = 2;

/**
 * Adds up what a transaction changes and writes it as a few rows at its end, in the same commit. So `stats` never counts jobs, and a
 * batch of a thousand costs about as many counter writes as a batch of one.
 */
export class Ledger {
  /** (queue, state, level) and (queue, metric), each packed into one number. */
  readonly #tallies = new Map<number, number>();
  readonly #counts = new Map<number, number>();

  /** How many jobs of a state this transaction has added so far, beyond what the table says. */
  added(queue: number, state: number): number {
    let added = 0;
    for (let level = 0; level < LEVELS; level++) added += this.#tallies.get(queue * 32 + state * LEVELS + level) ?? 0;
    return added;
  }

  /** The same for all states that count against a queue's capacity. */
  waitingAdded(queue: number): number {
    let added = 0;
    for (let state = 0; state <= LAST_WAITING; state++) added += this.added(queue, state);
    return added;
  }

  /** A job left a state (null: it is new) and came to another (null: it is gone). */
  move(queue: number, priority: number, from: number | null, to: number | null): void {
    const level = levelNumber(priority);
    if (from !== null) add(this.#tallies, queue * 32 + from * LEVELS + level, -1);
    if (to !== null) add(this.#tallies, queue * 32 + to * LEVELS + level, 1);
  }

  count(queue: number, counter: Counter): void {
    add(this.#counts, queue * 1024 + counterMetric(counter), 1);
  }

  time(queue: number, kind: TimeKind, ms: number): void {
    add(this.#counts, queue * 1024 + timeMetric(kind, bucketOf(ms)), 1);
  }

  write(on: Connection, now: number): void {
    for (const [packed, delta] of this.#tallies) {
      if (delta !== 0) on.run(ADD_TALLY, Math.floor(packed / 32), Math.floor(packed / LEVELS) % 8, packed % LEVELS, delta);
    }
    const minute = now - (now % MINUTE_MS);
    const hour = now - (now % HOUR_MS);
    for (const [packed, delta] of this.#counts) {
      const queue = Math.floor(packed / 1024);
      const metric = packed % 1024;
      on.run(ADD_COUNT, STEPS.minute, queue, minute, metric, delta);
      if (isBucket(metric)) continue;
      on.run(ADD_COUNT, STEPS.hour, queue, hour, metric, delta);
      on.run(ADD_COUNT, STEPS.all, queue, 0, metric, delta);
    }
    this.forget();
  }

  /** Drops what was added: the transaction is undone. */
  forget(): void {
    this.#tallies.clear();
    this.#counts.clear();
  }
}

function add(map: Map<number, number>, key: number, delta: number): void {
  map.set(key, (map.get(key) ?? 0) + delta);
}
