import { ALL_DELIVERIES, ALL_QUEUES } from "../core/delivery.ts";
import { kindOfQueue } from "../core/queue-kind.ts";
import { MAX_QUEUES } from "../core/work-limits.ts";
import type { Clock } from "../lib/clock.ts";
import { ReadAgain } from "../lib/read-again.ts";
import type { Store } from "../store/store.ts";

const LOOK_AGAIN_MS = 5000;

/**
 * The queues of a worker that serves all queues of a kind. Queues appear with their first job, so nobody can name them beforehand. A hint of
 * that job makes a new queue known, or at the latest a read after LOOK_AGAIN_MS.
 */
export class ServedQueues {
  readonly #names: ReadAgain<readonly string[]>;
  /** Each claim starts with another queue, so that none is always last. */
  #turn = 0;

  constructor(store: Pick<Store, "queues">, clock: Clock) {
    this.#names = new ReadAgain(clock, [], async () => (await store.queues()).map(({ name }) => name));
  }

  /** The queues to claim from, with the name of a kind replaced by its queues. */
  expand(queues: readonly string[]): readonly string[] | Promise<readonly string[]> {
    return queues.includes(ALL_QUEUES) || queues.includes(ALL_DELIVERIES) ? this.#expand(queues) : queues;
  }

  /** Takes a hint that there is work in this queue. */
  heard(queue: string): void {
    if (!this.#names.value.includes(queue)) this.#names.forget();
  }

  async #expand(queues: readonly string[]): Promise<readonly string[]> {
    const names = this.#names.ageMs < LOOK_AGAIN_MS ? this.#names.value : await this.#names.read();
    const kinds = Map.groupBy(names, kindOfQueue);
    const first = this.#turn++;
    const wanted = queues.flatMap((queue) => (isKind(queue) ? rotated(kinds.get(queue) ?? [], first) : queue));
    return [...new Set(wanted)].slice(0, MAX_QUEUES);
  }
}

function rotated(names: readonly string[], by: number): readonly string[] {
  const first = names.length === 0 ? 0 : by % names.length;
  return first === 0 ? names : [...names.slice(first), ...names.slice(0, first)];
}

function isKind(queue: string): boolean {
  return queue === ALL_QUEUES || queue === ALL_DELIVERIES;
}
