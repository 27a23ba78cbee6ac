import { MillraceError } from "../../core/errors.ts";

/**
 * A call is made again when its answer was lost. One that changes a thing only if it finds it in a certain state may then find that it is not
 * any more, by its own doing or by another's, and cannot tell. To say "refused" or "missing" would be a guess: such a call fails instead, as
 * one whose fate is unknown.
 */
export class Doubt {
  #isRepeat = false;

  /** The answer to a try was lost: it is made again with the same arguments. */
  readonly again = (args: readonly string[]): readonly string[] => {
    this.#isRepeat = true;
    return args;
  };

  /** Throws if what was found to be otherwise may be our own doing. */
  check(otherwise: number, what: string): void {
    if (!this.#isRepeat || otherwise === 0) return;
    const message = `Redis has lost the answer to a call, and ${what} may have been changed by it or by somebody else: look, then ask again`;
    throw new MillraceError("store_unavailable", message, { retryAfterMs: 1_000 });
  }
}
