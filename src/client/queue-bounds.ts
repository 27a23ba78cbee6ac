/**
 * THE DEFAULT CAPACITY. A queue without a capacity gets this one before the first job of this process goes there. It is stored with the queue
 * like any capacity, so it holds for every producer and everybody sees it. A queue with a capacity keeps it: somebody chose it for that queue.
 * Jobs in a transaction of the caller set none: the write would wait for that transaction.
 */
import { sharedRun } from "../lib/shared-run.ts";

/** The part of a store that this needs. */
export interface BoundedQueues {
  queues(): Promise<readonly { readonly name: string; readonly capacity: number | null }[]>;
  setCapacity(queue: string, capacity: number): Promise<void>;
}

/** How many names are remembered. Then all are forgotten, which costs another read. */
const MOST_NAMES = 10_000;

export class QueueBounds {
  readonly #capacity: number;
  readonly #store: BoundedQueues;
  readonly #onKept: (message: string) => void;
  readonly #seen = new Set<string>();
  readonly #bounding = new Map<string, Promise<void>>();
  readonly #lookTogether = sharedRun(() => this.#look());

  /** `onKept` is called once for each queue that keeps a capacity other than the default. */
  constructor(capacity: number, store: BoundedQueues, onKept: (message: string) => void) {
    this.#capacity = capacity;
    this.#store = store;
    this.#onKept = onKept;
  }

  /** Undefined if there is nothing to wait for: that is the usual, hot path. */
  ensure(queue: string): undefined | Promise<void> {
    return this.#seen.has(queue) ? undefined : this.#boundTogether(queue);
  }

  #boundTogether(queue: string): Promise<void> {
    let bounding = this.#bounding.get(queue);
    if (bounding === undefined) {
      bounding = this.#bound(queue).finally(() => this.#bounding.delete(queue));
      this.#bounding.set(queue, bounding);
    }
    return bounding;
  }

  async #bound(queue: string): Promise<void> {
    const own = (await this.#lookTogether()).get(queue) ?? null;
    if (own === null) await this.#store.setCapacity(queue, this.#capacity);
    if (this.#seen.size >= MOST_NAMES) this.#seen.clear();
    this.#seen.add(queue);
    if (own === null || own === this.#capacity) return;
    this.#onKept(
      `queue ${queue} keeps its own capacity of ${own}; the default of ${this.#capacity} is only for queues that have none. To change it: millrace queues set ${queue} --capacity ${this.#capacity}`,
    );
  }

  async #look(): Promise<ReadonlyMap<string, number | null>> {
    return new Map((await this.#store.queues()).map(({ name, capacity }) => [name, capacity]));
  }
}
