/**
 * THE DEFAULT CAPACITY. A queue without a capacity is given this one before the first job of this process goes there. It is stored with the
 * queue like any other capacity, so it holds for every producer, and everybody sees it. A queue that has a capacity keeps it: somebody chose
 * it for that queue. Jobs inside a transaction of the caller's give none: the write would wait for that transaction.
 */
import { sharedRun } from "../lib/shared-run.ts";

/** What is asked of a store for it. */
export interface BoundedQueues {
  /** Every queue, with its capacity. */
  queues(): Promise<readonly { readonly name: string; readonly capacity: number | null }[]>;
  setCapacity(queue: string, capacity: number): Promise<void>;
}

/** So many names are remembered; then it begins anew, which costs a look. */
const MOST_NAMES = 10_000;

/** Sees to it that queues have a capacity. */
export class QueueBounds {
  readonly #capacity: number;
  readonly #store: BoundedQueues;
  readonly #onKept: (message: string) => void;
  readonly #seen = new Set<string>();
  readonly #bounding = new Map<string, Promise<void>>();
  readonly #lookTogether = sharedRun(() => this.#look());

  /** `onKept` is told, once a queue, that a queue keeps another capacity than the default. */
  constructor(capacity: number, store: BoundedQueues, onKept: (message: string) => void) {
    this.#capacity = capacity;
    this.#store = store;
    this.#onKept = onKept;
  }

  /** Undefined when there is nothing to wait for: that is the common, hot way. */
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
