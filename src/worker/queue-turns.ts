/**
 * TURNS OF QUEUES. A claim asks its queues in order, so the first is served best. Smooth weighted round robin decides which is first: at each
 * turn every queue gains its weight; the one with the most credit goes first and pays the total. With { mail: 3, other: 1 } mail is first
 * three times out of four, evenly spread; with equal weights the queues take turns.
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

  /** All queues, in the order for the next claim. */
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
