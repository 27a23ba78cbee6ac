import { FACETS_HEARD_MS, fieldsByQueue } from "../core/facets.ts";
import type { Clock } from "../lib/clock.ts";
import { sharedRun } from "../lib/shared-run.ts";
import type { Store } from "../store/store.ts";

/** What was read is used for so long. Then the next call reads again, and nobody waits for it. */
const LOOK_AGAIN_MS = 15_000;
/** What was read is never used longer than this. A job must be stored well before FACETS_HEARD_MS after a facet was declared. */
const TRUST_MS: number = FACETS_HEARD_MS / 2;

const NONE: readonly string[] = [];

/** The facets of each queue, for jobs that are enqueued here. Read when they are first needed. */
export class DeclaredFacets {
  readonly #store: Pick<Store, "queues">;
  readonly #clock: Clock;
  #fields: ReadonlyMap<string, readonly string[]> = new Map();
  #lookedAt = -Infinity;
  readonly #lookTogether = sharedRun(() => this.#look());

  constructor(store: Pick<Store, "queues">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The fields that a queue declares. No promise if there is nothing to wait for: that is the usual, hot path. */
  of(queue: string): readonly string[] | Promise<readonly string[]> {
    const age = this.#clock.monotonic() - this.#lookedAt;
    if (age >= TRUST_MS) return this.#lookTogether().then(() => this.#known(queue));
    // If it fails, the next call tries again, and the last one before TRUST_MS is over waits for it and fails with it.
    if (age >= LOOK_AGAIN_MS) this.#lookTogether().catch(() => {});
    return this.#known(queue);
  }

  /** The next call reads again: this process has just declared some. */
  forget(): void {
    this.#lookedAt = -Infinity;
  }

  #known(queue: string): readonly string[] {
    return this.#fields.get(queue) ?? NONE;
  }

  async #look(): Promise<void> {
    const askedAt = this.#clock.monotonic();
    this.#fields = fieldsByQueue(await this.#store.queues());
    this.#lookedAt = askedAt;
  }
}
