import { type Declared, declaredByQueue, NOTHING_DECLARED } from "../core/declared.ts";
import { FACETS_HEARD_MS } from "../core/facets.ts";
import type { Clock } from "../lib/clock.ts";
import { ReadAgain } from "../lib/read-again.ts";
import type { Store } from "../store/store.ts";

/** What was read is used for so long. Then the next call reads again, and nobody waits for it. */
const LOOK_AGAIN_MS = 15_000;
/** What was read is never used longer than this. A job must be stored well before FACETS_HEARD_MS after a facet was declared. */
const TRUST_MS: number = FACETS_HEARD_MS / 2;

/** What the settings of each queue say about jobs that are enqueued here. Read when it is first needed. */
export class DeclaredSettings {
  readonly #queues: ReadAgain<ReadonlyMap<string, Declared>>;

  constructor(store: Pick<Store, "queues">, clock: Clock) {
    this.#queues = new ReadAgain(clock, new Map(), async () => declaredByQueue(await store.queues()));
  }

  /** What a queue declares. No promise if there is nothing to wait for: that is the usual, hot path. */
  of(queue: string): Declared | Promise<Declared> {
    const { ageMs } = this.#queues;
    if (ageMs >= TRUST_MS) return this.#queues.read().then((queues) => declaredOf(queue, queues));
    // If it fails, the next call tries again, and the last one before TRUST_MS is over waits for it and fails with it.
    if (ageMs >= LOOK_AGAIN_MS) this.#queues.read().catch(() => {});
    return declaredOf(queue, this.#queues.value);
  }

  /** The next call reads again: this process has just changed them. */
  forget(): void {
    this.#queues.forget();
  }
}

function declaredOf(queue: string, queues: ReadonlyMap<string, Declared>): Declared {
  return queues.get(queue) ?? NOTHING_DECLARED;
}
