import { MillraceError } from "../core/errors.ts";
import type { Move } from "../core/lifecycle.ts";
import type { ChangeAnswer } from "./store.ts";

/**
 * A call is made again when its answer was lost. If it depends on the state that it finds, the repeat may find another one: changed by the
 * first try, or by somebody else. "Refused" or "missing" would then be a guess, so the call fails with an error that says so.
 */
export class LostAnswer {
  readonly #server: string;
  #happened = false;

  constructor(server: "PostgreSQL" | "Redis") {
    this.#server = server;
  }

  readonly note = (): void => {
    this.#happened = true;
  };

  /** A job that is already cancelled is what a cancel wants, whoever did it. */
  checkChanges({ transition }: Move, answers: readonly ChangeAnswer[]): void {
    const isWanted = (answer: ChangeAnswer): boolean =>
      transition.to === "cancelled" && answer.kind === "refused" && answer.status === "cancelled";
    this.check(answers.filter((answer) => !isWanted(answer)).every(isCertain), "jobs");
  }

  checkRemovals(answers: readonly ChangeAnswer[]): void {
    this.check(answers.every(isCertain), "jobs");
  }

  /** Throws if the state that was found may come from our own first try. */
  check(isCertain: boolean, what: string): void {
    if (!this.#happened || isCertain) return;
    const message = `the answer from ${this.#server} was lost, so it is unknown whether this call changed ${what}. Check, then try again`;
    throw new MillraceError("store_unavailable", message, { retryAfterMs: 1_000 });
  }
}

function isCertain({ kind }: ChangeAnswer): boolean {
  return kind === "ok" || kind === "locked";
}
