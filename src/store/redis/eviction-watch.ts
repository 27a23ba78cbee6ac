import type { MillraceError } from "../../core/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { Loop } from "../../lib/loop.ts";
import type { Driver } from "./driver.ts";
import { evictionIn, isForbidden } from "./requirements.ts";

const LOOK_MS = 60_000;
/** While it evicts somebody is about to mend it, and nothing new is taken until then. */
const LOOK_AGAIN_MS = 5_000;

/**
 * WHETHER THE SERVER EVICTS KEYS, looked at again after each reconnect (it may be another server) and once a minute (somebody may have set
 * it). While it does, nothing new comes in and nothing is claimed, as at the start: a job that was accepted could be dropped without a word.
 * What runs may still be reported.
 */
export class EvictionWatch {
  readonly #driver: Driver;
  readonly #warn: (message: string) => void;
  readonly #loop: Loop;
  #eviction: MillraceError | null = null;

  constructor(driver: Driver, clock: Clock, warn: (message: string) => void) {
    this.#driver = driver;
    this.#warn = warn;
    this.#loop = new Loop({ clock, turn: () => this.#look(), onError: restAfter });
    driver.onReady(() => this.#loop.wake());
  }

  /** It was looked at when the store was opened, so it begins with a rest. */
  start(): void {
    this.#loop.start({ restMs: LOOK_MS });
  }

  /** Throws what is wrong while the server evicts keys. */
  refuse(): void {
    if (this.#eviction !== null) throw this.#eviction;
  }

  stop(): void {
    void this.#loop.stop();
  }

  async #look(): Promise<number> {
    const found = (await this.#driver.info()).map(evictionIn).find((eviction) => eviction !== null) ?? null;
    if (found !== null && this.#eviction === null) this.#warn(found.message);
    this.#eviction = found;
    return found === null ? LOOK_MS : LOOK_AGAIN_MS;
  }
}

/** Who may not ask was warned of it at the start, and nobody is about to mend that: it is asked as seldom as a server that is well. */
function restAfter(error: unknown): number {
  return isForbidden(error) ? LOOK_MS : LOOK_AGAIN_MS;
}
