/**
 * WHOSE TURN IT IS. A claim asks its queues in order, so the first is served best; turns decide who is first. Smooth weighted round robin:
 * each turn every queue gains its weight, the richest goes first and pays what all have gained. With { mail: 3, other: 1 } mail is first
 * three times of four, spread out, not in a row; with equal weights they simply take turns.
 */
export class QueueTurns {
  readonly #queues: readonly { readonly weight: number; readonly order: readonly string[]; credit: number }[];
  readonly #total: number;

  constructor(weights: ReadonlyMap<string, number>) {
    const names = [...weights.keys()];
    this.#queues = [...weights.values()].map((weight, index) => ({
      weight,
      order: [...names.slice(index), ...names.slice(0, index)],
      credit: 0,
    }));
    this.#total = this.#queues.reduce((sum, queue) => sum + queue.weight, 0);
  }

  /** All queues, in the order in which the next claim should ask them. */
  next(): readonly string[] {
    let first = this.#queues[0]!;
    for (const queue of this.#queues) {
      queue.credit += queue.weight;
      if (queue.credit > first.credit) first = queue;
    }
    first.credit -= this.#total;
    return first.order;
  }
}
