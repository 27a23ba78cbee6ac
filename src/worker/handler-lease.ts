import type { LeaseAnswer, Report } from "../client/client.ts";
import type { Timer } from "../lib/clock.ts";
import type { Attempt } from "./attempt.ts";
import type { AttemptsOptions } from "./attempts.ts";
import { heldUp } from "./delayed-reports.ts";
import { beatMsOf } from "./renewal/beat-times.ts";

/**
 * THE LEASE OF AN ATTEMPT WHOSE HANDLER TAKES A HAND IN IT.
 *
 *   renewed ─→ left alone ─→ renewed           holdLease: extended once, then not renewed until that time is over
 *
 *   renewed ─→ completing ─→ renewed           complete: the handler's own transaction was rolled back
 *                  └─→ over                    it was committed, or somebody else ended the lease
 *
 * Nobody tells when a transaction of the handler's ends, nor how. Until then it holds the job's row: to renew its lease with those of other
 * jobs would wait for the row, and they with it. So it is left alone for the time of a beat; nearly always the commit and the handler's
 * return come sooner. Then it is asked for by itself, again and again: if the lease can be renewed, the transaction was rolled back; if not,
 * the completion ended it, or somebody else did.
 */
export class HandlerLease {
  /** A transaction of the handler's own may hold the job's row. */
  mayWait = false;
  /** The result that was put into such a transaction; undefined before. */
  result: string | null | undefined = undefined;
  readonly #attempt: Attempt;
  readonly #options: AttemptsOptions;
  /** It is not known what became of the completion. */
  #isCompleting = false;
  #ask: Timer | null = null;
  /** Raised whenever an answer under way is no longer wanted. */
  #round = 0;
  /** While the handler wants the lease left alone. */
  #pause: Timer | null = null;

  constructor(attempt: Attempt, options: AttemptsOptions) {
    this.#attempt = attempt;
    this.#options = options;
  }

  /** May be called again, by a handler that repeats its transaction after a conflict. */
  async complete(report: Report, result: string | null, tx: unknown): Promise<void> {
    const { leases, renewer } = this.#options;
    this.#setMayWait(true);
    renewer.drop([this.#attempt.held]);
    this.#stopAsking();
    try {
      this.#check(await leases.settleWithin(tx, report), "completed");
      this.result = result;
    } finally {
      if (this.#attempt.holdsLease) this.#goOnAfterComplete();
    }
  }

  /** After a call that put nothing into a transaction the lease goes on as before, unless one before it did. */
  #goOnAfterComplete(): void {
    if (this.result === undefined) this.#setMayWait(false);
    else this.#isCompleting = true;
    this.#goOn();
  }

  async hold(holdMs: number): Promise<void> {
    const { clock, renewer, settings } = this.#options;
    // Before the lease is extended: a renewal that came after would give it less time, not more.
    renewer.drop([this.#attempt.held]);
    try {
      // With the time of a lease on top, so that renewals that begin again then come in time.
      this.#check(await this.#extend(holdMs + settings.leaseMs), "held");
    } catch (error) {
      this.#goOn();
      throw error;
    }
    if (!this.#attempt.holdsLease) return;
    // A lease that could be extended was not ended by a completion: if there was one, its transaction was rolled back.
    if (this.#isCompleting) this.#forgetCompletion();
    this.#pause?.cancel();
    this.#pause = clock.setTimer(() => this.#endPause(), holdMs);
  }

  /** Somebody heard that the lease is no longer valid. After a completion that may be its doing, and is no loss. */
  gone(why: "stale" | "cancelled"): void {
    if (!this.#isCompleting) return this.#attempt.lost(why);
    this.#stopAsking();
    void this.#look(this.#round, Promise.resolve(why));
  }

  /** The attempt is about to be over: its report may have to wait for longer than the lease still lasts. */
  end(): void {
    if (this.#pause !== null) this.#endPause();
    this.#stopAsking();
  }

  #endPause(): void {
    this.#pause?.cancel();
    this.#pause = null;
    this.#goOn();
  }

  /** The lease is renewed or asked for again. Neither happens while the handler wants it left alone: both write to the job's row. */
  #goOn(): void {
    if (!this.#attempt.holdsLease || this.#pause !== null) return;
    if (this.#isCompleting) this.#askLater();
    else if (!this.mayWait) this.#options.renewer.hold([this.#attempt.held]);
  }

  #askLater(): void {
    this.#stopAsking();
    const { clock, settings } = this.#options;
    const round = this.#round;
    this.#ask = clock.setTimer(() => void this.#look(round, this.#extend(settings.leaseMs)), beatMsOf(settings.leaseMs));
  }

  #stopAsking(): void {
    this.#round++;
    this.#ask?.cancel();
    this.#ask = null;
  }

  async #look(round: number, asked: Promise<LeaseAnswer>): Promise<void> {
    try {
      const answer = await asked;
      // A cancel is refused once a job has completed, so it came before.
      const isOwn = answer === "stale" && (await this.#isCompleted());
      if (round !== this.#round || isOwn) return;
      if (answer === "locked") return this.#askLater();
      if (answer !== "ok") return this.#attempt.lost(answer);
      this.#forgetCompletion();
      this.#goOn();
    } catch {
      // The store is away, or the transaction is still open.
      if (round === this.#round) this.#askLater();
    }
  }

  #forgetCompletion(): void {
    this.#stopAsking();
    this.#isCompleting = false;
    this.#setMayWait(false);
  }

  /** Whether the job is completed under this lease's own fence. */
  async #isCompleted(): Promise<boolean> {
    const { job, fence } = this.#attempt.lease;
    const now = await this.#options.getJob(job.id);
    return now?.status === "completed" && now.fence === fence;
  }

  /** Renews this lease alone. */
  async #extend(leaseMs: number): Promise<LeaseAnswer> {
    const { job, fence } = this.#attempt.lease;
    return (await this.#options.leases.extend([{ id: job.id, fence }], leaseMs))[0]!;
  }

  #check(answer: LeaseAnswer, what: "completed" | "held"): void {
    if (answer === "ok") return;
    if (answer === "locked") throw heldUp();
    this.#attempt.lost(answer);
    throw this.#attempt.refusal(what);
  }

  #setMayWait(mayWait: boolean): void {
    this.mayWait = mayWait;
    if (this.#attempt.notes !== null) this.#attempt.notes.mayWait = mayWait;
  }
}
