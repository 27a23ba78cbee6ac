import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { sharedRun } from "../lib/shared-run.ts";
import type { Store } from "../store/store.ts";

const LOOK_AGAIN_MS = 5000;

/** STRICT MODE: a type is known if a definition of it was used here, or a live worker in any process handles it. */
export class KnownTypes {
  readonly #store: Pick<Store, "workers">;
  readonly #clock: Clock;
  readonly #defined = new Set<string>();
  #handled: ReadonlySet<string> = new Set();
  #lookedAt = -Infinity;
  readonly #lookTogether = sharedRun(() => this.#look());

  constructor(store: Pick<Store, "workers">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Makes a type known for good: a definition or a handler in this process has it. */
  add(type: string): void {
    this.#defined.add(type);
  }

  /** Throws `unknown_type` unless the type is known. Reads the list of workers at most every 5 s. */
  async check(type: string): Promise<void> {
    if (this.#isKnown(type)) return;
    if (this.#clock.monotonic() - this.#lookedAt >= LOOK_AGAIN_MS) await this.#lookTogether();
    if (this.#isKnown(type)) return;
    throw new MillraceError("unknown_type", `type ${type} is unknown: no definition of it was used here and no live worker handles it`, {
      field: "type",
    });
  }

  #isKnown(type: string): boolean {
    return this.#defined.has(type) || this.#defined.has("*") || this.#handled.has(type) || this.#handled.has("*");
  }

  async #look(): Promise<void> {
    const workers = await this.#store.workers();
    this.#handled = new Set(workers.flatMap((worker) => worker.types));
    this.#lookedAt = this.#clock.monotonic();
  }
}
