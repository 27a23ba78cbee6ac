import type { LeaseAnswer } from "../client/client.ts";
import type { Clock, Timer } from "../lib/clock.ts";

export interface CompletionWatchOptions {
  readonly clock: Clock;
  /** How long to wait before asking. */
  readonly afterMs: number;
  /** Renews this lease alone. */
  readonly extend: () => Promise<LeaseAnswer>;
  /** Whether the job is completed under this lease's own fence. */
  readonly isCompleted: () => Promise<boolean>;
  /** The transaction was rolled back: the lease goes on. */
  readonly onRolledBack: () => void;
  /** The lease is gone, and not by the completion. */
  readonly onGone: (why: "stale" | "cancelled") => void;
}

/**
 * WHAT BECAME OF A COMPLETION that a handler has put into a transaction of its own. Nobody tells when that ends, nor how.
 *
 * Until then the transaction holds the job's row: to renew its lease with those of other jobs would wait for the row, and they with it. So it
 * is left alone for the time of a beat; nearly always the commit and the handler's return come sooner. Then it is asked for by itself, again
 * and again: if the lease can be renewed, the transaction was rolled back; if not, the completion ended it, or somebody else did.
 */
export class CompletionWatch {
  readonly #options: CompletionWatchOptions;
  #timer: Timer | null = null;
  /** Raised whenever an answer under way is no longer wanted. */
  #round = 0;

  constructor(options: CompletionWatchOptions) {
    this.#options = options;
  }

  /** A completion has been put into a transaction: begins to watch, or begins again. */
  start(): void {
    this.stop();
    const round = this.#round;
    this.#timer = this.#options.clock.setTimer(() => void this.#look(round, this.#options.extend), this.#options.afterMs);
  }

  stop(): void {
    this.#round++;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Somebody heard that the lease is no longer valid: finds out whether that is the completion's doing. */
  suspect(why: "stale" | "cancelled"): void {
    this.stop();
    void this.#look(this.#round, async () => why);
  }

  async #look(round: number, ask: () => Promise<LeaseAnswer>): Promise<void> {
    const { isCompleted, onRolledBack, onGone } = this.#options;
    try {
      const answer = await ask();
      // A cancel is refused once a job has completed, so it came before.
      const isOwn = answer === "stale" && (await isCompleted());
      if (round !== this.#round || isOwn) return;
      if (answer === "locked") this.start();
      else if (answer === "ok") onRolledBack();
      else onGone(answer);
    } catch {
      // The store is away, or the transaction is still open.
      if (round === this.#round) this.start();
    }
  }
}
