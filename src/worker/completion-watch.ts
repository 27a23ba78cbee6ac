import type { LeaseResult } from "../client/client.ts";
import type { Timer } from "../lib/clock.ts";
import type { Attempt } from "./attempt.ts";
import type { AttemptsOptions } from "./attempts.ts";
import { beatMsOf } from "./renewal/beat-times.ts";

/**
 * WHAT BECAME OF A COMPLETION that a handler has put into a transaction of its own. Nobody tells when that ends, nor how.
 *
 * Until then the transaction holds the job's row: to renew its lease with those of other jobs would wait for the row, and they with it. So it
 * is left alone for the time of a beat; nearly always the commit and the handler's return come sooner. Then it is asked for by itself, again
 * and again: if the lease can be renewed, the transaction was rolled back; if not, the completion ended it, or somebody else did.
 */
export class CompletionWatch {
  readonly #attempt: Attempt;
  readonly #options: AttemptsOptions;
  #timer: Timer | null = null;
  /** Raised whenever an answer under way is no longer wanted. */
  #round = 0;

  constructor(attempt: Attempt, options: AttemptsOptions) {
    this.#attempt = attempt;
    this.#options = options;
  }

  /** A completion has been put into a transaction: begins to watch, or begins again. */
  start(): void {
    this.stop();
    const { clock, settings } = this.#options;
    const round = this.#round;
    this.#timer = clock.setTimer(() => void this.#look(round, this.#attempt.extend(settings.leaseMs)), beatMsOf(settings.leaseMs));
  }

  stop(): void {
    this.#round++;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Somebody heard that the lease is no longer valid: finds out whether that is the completion's doing. */
  suspect(why: "stale" | "cancelled"): void {
    this.stop();
    void this.#look(this.#round, Promise.resolve(why));
  }

  async #look(round: number, asked: Promise<LeaseResult>): Promise<void> {
    try {
      const answer = await asked;
      // A cancel is refused once a job has completed, so it came before.
      const isOwn = answer === "stale" && (await this.#isCompleted());
      if (round !== this.#round || isOwn) return;
      if (answer === "locked") this.start();
      else if (answer === "ok") this.#attempt.completionRolledBack();
      else this.#attempt.lost(answer);
    } catch {
      // The store is away, or the transaction is still open.
      if (round === this.#round) this.start();
    }
  }

  /** Whether the job is completed under this lease's own fence. */
  async #isCompleted(): Promise<boolean> {
    const { job, fence } = this.#attempt.lease;
    const now = await this.#options.getJob(job.id);
    return now?.status === "completed" && now.fence === fence;
  }
}
