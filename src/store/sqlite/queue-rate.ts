import { type Rate, type RateState, rescaleRate, takeFromRate, waitForRate } from "../../core/rate.ts";
import { READ_QUEUE_RATE, SET_QUEUE_RATE } from "./limit-statements.ts";
import type { Transaction, View } from "./transaction.ts";

/** What the rate of a queue remembers; null if nothing started since it has one. */
export function readQueueRate({ on }: Pick<View, "on">, queue: number): RateState | null {
  const row = on.get(READ_QUEUE_RATE, queue) as [busyUntil: number, intervalMs: number] | undefined;
  return row === undefined ? null : { busyUntil: row[0], intervalMs: row[1] };
}

/** The rate of a queue, as a transaction uses it: read and written once. */
export class QueueRate {
  readonly #tx: Transaction;
  readonly #queue: number;
  readonly #rate: Rate;
  readonly #before: RateState | null;
  #state: RateState | null;

  constructor(tx: Transaction, queue: number, rate: Rate) {
    this.#tx = tx;
    this.#queue = queue;
    this.#rate = rate;
    this.#before = readQueueRate(tx, queue);
    this.#state = rescaleRate(rate, this.#before, tx.now);
  }

  waitFor(cost: number): number {
    return cost === 0 ? 0 : waitForRate(this.#rate, this.#state, cost, this.#tx.now);
  }

  /** Takes units, whether they are there or not; a negative number gives them back. */
  take(units: number): void {
    if (units !== 0) this.#state = takeFromRate(this.#rate, this.#state, units, this.#tx.now);
  }

  write(): void {
    if (this.#state === null || this.#state === this.#before) return;
    this.#tx.on.run(SET_QUEUE_RATE, this.#queue, this.#state.busyUntil, this.#state.intervalMs);
  }
}
