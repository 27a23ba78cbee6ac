import type { LeaseAnswer, Leases, Report } from "../client/client.ts";
import type { Timer } from "../lib/clock.ts";
import type { Attempt } from "./attempt.ts";
import type { Attempts, AttemptsOptions } from "./attempts.ts";
import { heldUp } from "./delayed-reports.ts";
import type { NoteWriter } from "./notes.ts";
import { beatMsOf } from "./renewal/beat-times.ts";

/**
 * THE LEASE OF AN ATTEMPT whose handler called `ctx.holdLease` or `ctx.complete`.
 *
 *   renewed ─→ paused ─→ renewed               holdLease: extended once, then not renewed until that time is over
 *
 *   renewed ─→ completing ─→ renewed           complete: the handler's transaction was rolled back
 *                  └─→ over                    it was committed, or the lease ended for another reason
 *
 * Nothing tells us when and how the handler's transaction ends. Until then it holds the job's row: a renewal together with other leases would
 * wait for the row, and so would they. So the lease is not renewed for one beat; nearly always the commit and the handler's return come sooner.
 * Then it is renewed alone, again and again. If that succeeds, the transaction was rolled back. If not, the completion ended the lease, or
 * something else did.
 */
export class HandlerLease {
  /** The handler's own transaction may hold the job's row. */
  mayWait = false;
  /** The result in such a transaction; undefined before. */
  result: string | null | undefined = undefined;
  readonly #attempt: Attempt;
  readonly #options: AttemptsOptions;
  readonly #writer: NoteWriter;
  /** Whether the completion was committed is not known yet. */
  #isCompleting = false;
  #ask: Timer | null = null;
  /** Grows when an answer in progress is no longer wanted. */
  #round = 0;
  /** Set while the handler does not want renewals. */
  #pause: Timer | null = null;

  constructor(attempt: Attempt, { options, notes }: Attempts) {
    this.#attempt = attempt;
    this.#options = options;
    this.#writer = notes;
  }

  /** May be called again by a handler that repeats its transaction after a conflict. */
  async complete(report: Report, result: string | null, tx: unknown): Promise<void> {
    const { renewer } = this.#options;
    this.#setMayWait(true);
    renewer.drop([this.#attempt.held]);
    this.#stopAsking();
    try {
      this.#check(await this.#settleWithNotes(report, tx), "completed");
      this.result = result;
    } finally {
      if (this.#attempt.holdsLease) this.#goOnAfterComplete();
    }
  }

  /** After the commit nothing can be written to the job, so what the handler logged goes into its transaction, too. */
  async #settleWithNotes(report: Report, tx: unknown): ReturnType<Leases["settleWithin"]> {
    const { leases } = this.#options;
    const { notes } = this.#attempt;
    if (notes === null) return leases.settleWithin(tx, report);
    await this.#writer.untilWritten(notes);
    try {
      return await notes.within((written) => leases.settleWithin(tx, report, written));
    } finally {
      if (!notes.isEmpty) this.#writer.touch(notes);
    }
  }

  /** If no call put a result into a transaction, the lease is renewed as before. */
  #goOnAfterComplete(): void {
    if (this.result === undefined) this.#setMayWait(false);
    else this.#isCompleting = true;
    this.#goOn();
  }

  async hold(holdMs: number): Promise<void> {
    const { clock, renewer, settings } = this.#options;
    // Before the lease is extended: a later renewal would shorten it.
    renewer.drop([this.#attempt.held]);
    try {
      // One lease length more, so that renewals can start again in time.
      this.#check(await this.#extend(holdMs + settings.leaseMs), "held");
    } catch (error) {
      this.#goOn();
      throw error;
    }
    if (!this.#attempt.holdsLease) return;
    // If the lease could be extended, no completion ended it: its transaction, if any, was rolled back.
    if (this.#isCompleting) this.#forgetCompletion();
    this.#pause?.cancel();
    this.#pause = clock.setTimer(() => this.#endPause(), holdMs);
  }

  /** The lease is no longer valid. After a completion that may be the reason, and nothing is lost. */
  gone(why: "stale" | "cancelled"): void {
    if (!this.#isCompleting) return this.#attempt.lost(why);
    this.#stopAsking();
    void this.#look(this.#round, Promise.resolve(why));
  }

  /** The attempt is about to end: its report may have to wait for longer than the lease lasts. */
  end(): void {
    if (this.#pause !== null) this.#endPause();
    this.#stopAsking();
  }

  #endPause(): void {
    this.#pause?.cancel();
    this.#pause = null;
    this.#goOn();
  }

  /** Renews the lease again, alone while completing. Not while the handler wants no renewals: they write to the job's row. */
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
      // A cancel is refused after a job has completed, so it came before.
      const isOwn = answer === "stale" && (await this.#isCompleted());
      if (round !== this.#round || isOwn) return;
      if (answer === "locked") return this.#askLater();
      if (answer !== "ok") return this.#attempt.lost(answer);
      this.#forgetCompletion();
      this.#goOn();
    } catch {
      // The store is unreachable, or the transaction is still open.
      if (round === this.#round) this.#askLater();
    }
  }

  #forgetCompletion(): void {
    this.#stopAsking();
    this.#isCompleting = false;
    this.#setMayWait(false);
  }

  /** Whether the job was completed under the fence of this lease. */
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
