/**
 * ONE ATTEMPT, from claim to outcome.
 *
 *   claimed ─→ running ─→ over                      the handler returned or threw: its outcome is reported
 *                 │ abort: timeout, cancelled, lost, shutdown
 *                 ↓
 *              aborted ─→ over                      it settled in time. Timeout: a failure, whatever it returned. Cancelled or lost:
 *                 │                                 nothing is reported. Shutdown: what it did counts, but for a throw in answer to the abort
 *                 │ `settle` passes (at a shutdown: the end of the grace)
 *                 ↓
 *             abandoned ─→ forgotten                over as above, but its handler still runs and is counted until it settles
 *
 * A handler that blocks the event loop beyond its timeout and then returns is completed, not timed out: the work is done, nobody could
 * have aborted it, and the fence refuses the report if the job has passed to another meanwhile.
 */
import type { LeasedJob, LeaseAnswer, Leases, Report } from "../client/client.ts";
import { controlOf } from "../core/control-errors.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { readHold } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { CompletionWatch, CompletionWatchOptions } from "./completion-watch.ts";
import { AttemptContext, type ContextSource } from "./context.ts";
import type { HasDeadline } from "./deadlines.ts";
import type { Handled } from "./handlers.ts";
import { heldUp } from "./held-up.ts";
import { type AbortCause, JobAborted } from "./job-aborted.ts";
import { JobNotes } from "./notes.ts";
import { encodeResult, type FailureRules, outcomeOfReturn, outcomeOfThrow, outcomeOfTimeout } from "./outcome.ts";
import { readPayload } from "./payload.ts";

/** What an attempt needs of its worker. None of these throws. */
export interface AttemptHost {
  readonly clock: Clock;
  readonly onTrouble: OnTrouble;
  /** How long a lease holds without being renewed. */
  readonly leaseMs: number;
  /** How long an aborted handler may take to settle before its slot is given to others. */
  readonly settleMs: number;
  /** The attempt's deadline is new or came nearer. */
  watchDeadline(deadlineAt: number): void;
  /** The attempt is over. With an outcome of null there is nothing to report. */
  over(attempt: Attempt, outcome: Outcome | null): void;
  /** A handler goes on although its attempt is over, and later: it has settled after all. */
  handlerAbandoned(): void;
  handlerCameBack(): void;
  noted(notes: JobNotes): void;
  settleWithin(tx: unknown, report: Report): ReturnType<Leases["settleWithin"]>;
  /** Whether the lease is kept alive. */
  renew(attempt: Attempt, on: boolean): void;
  /** Extends the lease once, so that it can be left alone for this time. */
  extend(attempt: Attempt, ms: number): Promise<LeaseAnswer>;
  /** Watches what becomes of a completion inside a transaction of the handler's own. */
  watchCompletion(attempt: Attempt, on: Pick<CompletionWatchOptions, "onRolledBack" | "onGone">): CompletionWatch;
}

export class Attempt implements HasDeadline, ContextSource {
  readonly lease: LeasedJob;
  readonly #handled: Handled;
  readonly #host: AttemptHost;
  /** What was logged, if anything was. */
  notes: JobNotes | null = null;
  deadlineAt = Infinity;
  /** A transaction of the handler's own may hold the job's row: whoever writes to the job may have to wait. */
  mayWait = false;
  #state: "claimed" | "running" | "over" | "abandoned" = "claimed";
  #startedAt = 0;
  #aborted: AbortCause | null = null;
  #controller: AbortController | null = null;
  /** The result that `ctx.complete` has put into a transaction of the handler's own. */
  #resultWithin: string | null | undefined = undefined;
  /** While it is not known what became of that. */
  #completion: CompletionWatch | null = null;
  /** While the handler has asked that the lease is not renewed. */
  #leftAlone: Timer | null = null;

  constructor(lease: LeasedJob, handled: Handled, host: AttemptHost) {
    this.lease = lease;
    this.#handled = handled;
    this.#host = host;
  }

  get isOver(): boolean {
    return this.#state === "over" || this.#state === "abandoned";
  }

  /** Calls the handler, unless the lease was lost before it came to that. `now` is monotonic. */
  start(now: number): void {
    if (this.#state !== "claimed") return;
    this.#state = "running";
    this.#startedAt = now;
    const timeoutMs = this.lease.job.timeout;
    if (timeoutMs > 0) this.#setDeadline(now + timeoutMs);
    void this.#run();
  }

  /** The lease is gone: the handler is told, and nothing it does counts any more. */
  gone(why: "stale" | "cancelled"): void {
    // After ctx.complete the lease ends with the transaction, and that is no loss.
    if (this.#completion !== null) this.#completion.suspect(why);
    else this.#lost(why);
  }

  #lost(why: "stale" | "cancelled"): void {
    this.abort(why === "cancelled" ? "cancelled" : "lost");
  }

  abort(why: AbortCause): void {
    if (this.isOver) return;
    if (this.#state === "claimed" && why !== "shutdown") return this.#end(null);
    if (!outweighs(why, this.#aborted)) return;
    const isFirst = this.#aborted === null || this.#aborted === "shutdown";
    this.#aborted = why;
    if (isFirst && why !== "shutdown") this.#setDeadline(this.#host.clock.monotonic() + this.#host.settleMs);
    this.#controller?.abort(this.#abortReason(why));
  }

  /** The grace of a shutdown has ended: whatever can be given back is. */
  giveUp(): void {
    if (this.isOver) return;
    this.#end(this.#isGone ? null : this.#aborted === "timeout" ? this.#timedOut() : { kind: "release" });
  }

  onDeadline(): void {
    if (this.#aborted === null || this.#aborted === "shutdown") return this.abort("timeout");
    this.#end(this.#aborted === "timeout" ? this.#timedOut() : null);
    this.#state = "abandoned";
    this.#host.handlerAbandoned();
  }

  async #run(): Promise<void> {
    let value: unknown;
    let threw = false;
    try {
      const { schema } = this.#handled;
      const job = schema === undefined ? this.lease.job : await readPayload(this.lease.job, schema);
      // The schema may have taken longer than the attempt.
      if (!this.isOver) {
        const returned = this.#handled.handler(job.payload, new AttemptContext(this, job));
        // A handler that is not async ends within this tick.
        value = isThenable(returned) ? await returned : returned;
      }
    } catch (error) {
      threw = true;
      value = error;
    }
    this.#settled(threw, value);
  }

  #settled(threw: boolean, value: unknown): void {
    if (this.#state === "abandoned") this.#host.handlerCameBack();
    if (this.isOver) return;
    this.#end(this.#judge(threw, value));
  }

  #judge(threw: boolean, value: unknown): Outcome | null {
    if (this.#isGone) return null;
    if (this.#aborted === "timeout") return this.#timedOut();
    // A handler that looked at its signal and throws after the abort is taken to throw because of it: a deploy costs no attempt.
    if (this.#aborted === "shutdown" && threw && this.#controller !== null && controlOf(value) === null) return { kind: "release" };
    if (threw) return outcomeOfThrow(value, this.#runMs(), this.#rules);
    /*
     * After ctx.complete the same result is reported once more, the usual way. If the transaction was committed, that is a repeat and
     * changes nothing. If it was rolled back, a handler that returns all the same says that the job is done, as any handler does; one that
     * threw instead has failed (above), which a committed completion refuses as stale.
     */
    if (this.#resultWithin !== undefined) return { kind: "completed", result: this.#resultWithin, runMs: this.#runMs() };
    return outcomeOfReturn(value, this.#runMs(), this.#rules);
  }

  #end(outcome: Outcome | null): void {
    // The report may have to wait for longer than the lease still lasts.
    if (this.#leftAlone !== null) this.#endPause();
    this.#state = "over";
    this.deadlineAt = Infinity;
    this.#completion?.stop();
    this.notes?.close();
    this.#host.over(this, outcome);
  }

  #timedOut(): Outcome {
    return outcomeOfTimeout(this.#abortReason("timeout"), this.#runMs(), this.#rules);
  }

  get #isGone(): boolean {
    return this.#aborted === "cancelled" || this.#aborted === "lost";
  }

  get #rules(): FailureRules {
    return { facts: this.lease.facts, backoff: this.#handled.backoff, onTrouble: this.#host.onTrouble };
  }

  #runMs(): number {
    return Math.max(0, Math.round(this.#host.clock.monotonic() - this.#startedAt));
  }

  #setDeadline(deadlineAt: number): void {
    this.deadlineAt = deadlineAt;
    this.#host.watchDeadline(deadlineAt);
  }

  #abortReason(why: AbortCause): JobAborted {
    return new JobAborted(why, this.lease.job.timeout);
  }

  // ── What the context does ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Most handlers never look at their signal, so it is made when they do. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted !== null) this.#controller.abort(this.#abortReason(this.#aborted));
    }
    return this.#controller.signal;
  }

  log(text: unknown): void {
    if (this.isOver) return;
    const notes = this.#notesOf();
    notes.log(text);
    this.#host.noted(notes);
  }

  progress(percent: unknown, note: unknown): void {
    if (this.isOver) return;
    const notes = this.#notesOf();
    notes.progress(percent, note);
    this.#host.noted(notes);
  }

  #notesOf(): JobNotes {
    if (this.notes === null) {
      this.notes = new JobNotes(this.lease);
      this.notes.mayWait = this.mayWait;
    }
    return this.notes;
  }

  /** May be called again, by a handler that repeats its transaction after a conflict. */
  async complete(result: unknown, tx: unknown): Promise<void> {
    if (tx === undefined || tx === null) throw invalid("tx", "your open transaction: ctx.complete(result, { tx })", tx);
    if (this.isOver || (this.#aborted !== null && this.#aborted !== "shutdown")) throw this.#refusal("completed");
    const encoded = encodeResult(result);
    const { job, fence, facts } = this.lease;
    const report: Report = { id: job.id, fence, facts, outcome: { kind: "completed", result: encoded, runMs: this.#runMs() } };
    // The transaction will hold the job's row. To renew its lease would wait for that row, and all other leases of the worker with it.
    this.#setMayWait(true);
    this.#host.renew(this, false);
    this.#completion?.stop();
    try {
      const answer = await this.#host.settleWithin(tx, report);
      if (answer !== "ok") {
        this.#lost(answer);
        throw this.#refusal("completed");
      }
      this.#resultWithin = encoded;
    } finally {
      if (!this.isOver && !this.#isGone) this.#renewAfterComplete();
    }
  }

  async holdLease(time: unknown): Promise<void> {
    const ms = readHold(time, this.#host.leaseMs);
    if (this.isOver || this.#isGone) throw this.#refusal("held");
    // Before the lease is extended: a renewal that came after would give it less time, not more.
    this.#host.renew(this, false);
    try {
      await this.#extend(ms);
    } catch (error) {
      this.#renew();
      throw error;
    }
    if (this.isOver || this.#isGone) return;
    // A lease that could be extended was not ended by a completion: if there was one, its transaction was rolled back.
    if (this.#completion !== null) this.#forgetCompletion();
    this.#leftAlone?.cancel();
    this.#leftAlone = this.#host.clock.setTimer(() => this.#endPause(), ms);
  }

  async #extend(ms: number): Promise<void> {
    const answer = await this.#host.extend(this, ms);
    if (answer === "ok") return;
    if (answer === "locked") throw heldUp();
    this.#lost(answer);
    throw this.#refusal("held");
  }

  #endPause(): void {
    this.#leftAlone?.cancel();
    this.#leftAlone = null;
    this.#renew();
  }

  /** After a call that put nothing into a transaction the lease goes on as before, unless one before it did. */
  #renewAfterComplete(): void {
    if (this.#resultWithin === undefined) this.#setMayWait(false);
    else this.#completion ??= this.#watchCompletion();
    this.#renew();
  }

  #watchCompletion(): CompletionWatch {
    return this.#host.watchCompletion(this, {
      onGone: (why) => this.#lost(why),
      onRolledBack: () => {
        this.#forgetCompletion();
        this.#renew();
      },
    });
  }

  #forgetCompletion(): void {
    this.#completion?.stop();
    this.#completion = null;
    this.#setMayWait(false);
  }

  /**
   * The lease is looked after again: it is renewed, or, after a completion, asked for from time to time. Neither happens while the handler wants
   * it left alone, because both write to the job's row.
   */
  #renew(): void {
    if (this.isOver || this.#isGone || this.#leftAlone !== null) return;
    if (this.#completion !== null) this.#completion.start();
    else if (!this.mayWait) this.#host.renew(this, true);
  }

  #setMayWait(mayWait: boolean): void {
    this.mayWait = mayWait;
    if (this.notes !== null) this.notes.mayWait = mayWait;
  }

  #refusal(what: "completed" | "held"): MillraceError {
    const why = this.#aborted === null ? "the attempt is over" : this.#abortReason(this.#aborted).message;
    const refused = what === "completed" ? "the job cannot be completed" : "the lease cannot be held";
    return new MillraceError("stale_lease", `${refused}: ${why}`, { jobId: this.lease.job.id });
  }
}

/** A lost lease outweighs all, a timeout outweighs a shutdown. */
function outweighs(why: AbortCause, before: AbortCause | null): boolean {
  return WEIGHT[why] > (before === null ? 0 : WEIGHT[before]);
}

const WEIGHT = { shutdown: 1, timeout: 2, cancelled: 3, lost: 3 } as const;

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
