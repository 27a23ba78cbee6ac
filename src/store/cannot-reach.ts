/** WHAT A PERSON READS while a server cannot be reached. The same words for every engine. */
import type { MillraceError } from "../core/errors.ts";
import { timeInWords, unreachable } from "../core/unreachable.ts";
import { systemClock } from "../lib/clock.ts";
import { refusalInWords } from "../lib/refused.ts";

/** Nothing listens there, or the address does not exist. `server`: its product and place, such as `Redis at localhost:6379`. */
export function cannotReach(server: string, error: unknown, tried: { readonly ms: number } | null): MillraceError {
  return unreachable(server, refusalInWords(error), tried, error);
}

/** An opening that takes this long says so. */
const SAY_SO_AFTER_MS = 800;
/** If it ends that soon, its error is enough. */
const WORTH_SAYING_MS = 1_000;

export interface Opening {
  readonly server: string;
  /** How long it goes on if the last error stays what it is. */
  readonly patienceMs: () => number;
  readonly lastError: () => unknown;
  readonly onWaiting: (message: string) => void;
}

/** Says once that a store does not open yet, because its server cannot be reached. Returns a function to call when the opening has ended. */
export function sayIfNotReached({ server, patienceMs, lastError, onWaiting }: Opening): () => void {
  const say = (): void => {
    const leftMs = patienceMs() - SAY_SO_AFTER_MS;
    if (leftMs < WORTH_SAYING_MS) return;
    const error = lastError();
    const why = refusalInWords(error) ?? (error instanceof Error ? error.message : "no answer");
    onWaiting(`cannot reach ${server} yet: ${why}. Trying for another ${timeInWords(leftMs)}`);
  };
  const timer = systemClock.setTimer(say, SAY_SO_AFTER_MS);
  return () => timer.cancel();
}
