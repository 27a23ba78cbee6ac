import { MillraceError } from "../../core/errors.ts";

/** How many requests run at once, each with a connection, and how many may wait. */
const MAX_AT_ONCE = 64;
const MAX_WAITING = 10_000;

/** Limits how many requests run at once. The others wait in the order in which they came. */
export class RequestSlots {
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  async take(signal: AbortSignal): Promise<void> {
    if (this.#taken < MAX_AT_ONCE) {
      this.#taken++;
      return;
    }
    if (this.#waiting.size >= MAX_WAITING) {
      throw new MillraceError("store_unavailable", "too many calls wait for the server; try again later", { retryAfterMs: 1000 });
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(go);
        reject(signal.reason as Error);
      };
      this.#waiting.add(go);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  free(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
