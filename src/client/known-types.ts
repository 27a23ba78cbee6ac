import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { ReadAgain } from "../lib/read-again.ts";
import type { Store } from "../store/store.ts";

const LOOK_AGAIN_MS = 5000;

/** STRICT MODE: a type is known if a definition of it was used here, or a live worker in any process handles it. */
export class KnownTypes {
  readonly #defined = new Set<string>();
  readonly #handled: ReadAgain<ReadonlySet<string>>;

  constructor(store: Pick<Store, "workers">, clock: Clock) {
    this.#handled = new ReadAgain(clock, new Set(), async () => new Set((await store.workers()).flatMap(({ types }) => types)));
  }

  /** Makes a type known for good: a definition or a handler in this process has it. */
  add(type: string): void {
    this.#defined.add(type);
  }

  /** Throws `unknown_type` unless the type is known. Reads the list of workers at most every 5 s. */
  async check(type: string): Promise<void> {
    if (this.#isKnown(type)) return;
    if (this.#handled.ageMs >= LOOK_AGAIN_MS) await this.#handled.read();
    if (this.#isKnown(type)) return;
    throw new MillraceError("unknown_type", `type ${type} is unknown: no definition of it was used here and no live worker handles it`, {
      field: "type",
    });
  }

  #isKnown(type: string): boolean {
    return [this.#defined, this.#handled.value].some((types) => types.has(type) || types.has("*"));
  }
}
