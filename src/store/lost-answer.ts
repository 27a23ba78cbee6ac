import { MillraceError } from "../core/errors.ts";
import type { Move } from "../core/lifecycle.ts";
import type { ChangeAnswer } from "./store.ts";

/**
 * A call is made again when its answer was lost. One that changes a thing only if it finds it in a certain state may then find that it is not
 * any more, by its own doing or by another's, and cannot tell. To say "refused" or "missing" would be a guess: such a call fails instead, as
 * one whose fate is unknown.
 */
export class LostAnswer {
  readonly #server: string;
  #happened = false;

  constructor(server: "PostgreSQL" | "Redis") {
    this.#server = server;
  }

  /** The answer to a try was lost. */
  readonly note = (): void => {
    this.#happened = true;
  };

  /** A cancel that finds the job cancelled has what it wanted, by whomever: so nothing is in doubt. */
  checkChanges({ transition }: Move, answers: readonly ChangeAnswer[]): void {
    const isWanted = (answer: ChangeAnswer): boolean =>
      transition.to === "cancelled" && answer.kind === "refused" && answer.status === "cancelled";
    this.check(answers.filter((answer) => !isWanted(answer)).every(isCertain), "jobs");
  }

  checkRemovals(answers: readonly ChangeAnswer[]): void {
    this.check(answers.every(isCertain), "jobs");
  }

  /** Throws if what was found to be otherwise may be our own doing. */
  check(isCertain: boolean, what: string): void {
    if (!this.#happened || isCertain) return;
    const message = `${this.#server} has lost the answer to a call, and ${what} may have been changed by it or by somebody else: look, then ask again`;
    throw new MillraceError("store_unavailable", message, { retryAfterMs: 1_000 });
  }
}

function isCertain({ kind }: ChangeAnswer): boolean {
  return kind === "ok" || kind === "locked";
}
