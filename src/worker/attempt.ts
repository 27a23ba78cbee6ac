/**
 * ONE ATTEMPT, from claim to outcome.
 *
 *   claimed ─→ running ─→ over                      the handler returned or threw: report its outcome
 *                 │ abort: timeout, cancelled, lost, shutdown
 *                 ↓
 *              aborted ─→ over                      it ended in time. Timeout: a failure, whatever it returned. Cancelled or lost: report
 *                 │                                 nothing. Shutdown: its outcome counts, unless it threw because of the abort
 *                 │ `settle` passes (at a shutdown: the end of the grace)
 *                 ↓
 *             abandoned ─→ forgotten                over as above, but its handler still runs and is counted until it ends
 *
 * A handler that blocks the event loop beyond its timeout and then returns is completed, not timed out: the work is done, and nothing could have
 * aborted it. If another worker has the job meanwhile, the fence refuses the report.
 */
import type { Completed, LeasedJob, LeaseFacts, Report } from "../client/client.ts";
import { controlOf } from "../core/control-errors.ts";
import { invalid, MillraceError } from "../core/errors.ts";
import type { Job } from "../core/job.ts";
import type { Outcome } from "../core/lifecycle.ts";
import { MAX_SPEND, readHold, SPEND_RULE } from "../core/work-limits.ts";
import type { Attempts } from "./attempts.ts";
import { callThrough } from "./call-through.ts";
import { AttemptContext } from "./context.ts";
import type { HasDeadline } from "./deadlines.ts";
import { DurableSteps, type StepsOwner } from "./durable-steps.ts";
import { FlowOfJob } from "./flow-of-job.ts";
import { HandlerLease } from "./handler-lease.ts";
import type { Handled } from "./handlers.ts";
import { type AbortCause, JobAborted } from "./job-aborted.ts";
import type { HeldLease } from "./renewal/lease-book.ts";
import { JobNotes } from "./notes.ts";
import { encodeResult, type FailureRules, outcomeOfReturn, outcomeOfThrow, outcomeOfTimeout, withVersion } from "./outcome.ts";
import { readPayload, readResult } from "./apply-schema.ts";

/** How long after the end of `settle` an attempt is still renewed: it waited in stock, its outcome is being reported, or the event loop is blocked. */
const HANGING_MS = 5000;

export class Attempt implements HasDeadline, StepsOwner {
  readonly lease: LeasedJob;
  readonly #handled: Handled;
  readonly #attempts: Attempts;
  /** What the handler logged, if it did. */
  notes: JobNotes | null = null;
  /** What the handler threw, or its timeout. */
  failure: unknown = undefined;
  deadlineAt = Infinity;
  #state: "claimed" | "running" | "over" | "abandoned" = "claimed";
  /** When its handler was called, by the monotonic clock. */
  startedAt = 0;
  #aborted: AbortCause | null = null;
  #controller: AbortController | null = null;
  /** Set once the handler has called `ctx.complete` or `ctx.holdLease`; few do. */
  #handlerLease: HandlerLease | null = null;
  /** What the handler spent beyond the cost of the job. */
  #spent = 0;
  /** Set once the handler does durable work; few do. */
  #steps: DurableSteps | null = null;
  /** Its handler has other jobs in the same call. */
  isOfMany = false;
  /** Told once its handler waits for ever. Only who traces handlers asks for it. */
  whenSuspended: (() => void) | null = null;
  /** It has stored a step. */
  #hasProgressed = false;

  /** When it was claimed, by the monotonic clock. */
  readonly takenAt: number;
  readonly #isAhead: boolean;

  constructor(lease: LeasedJob, handled: Handled, attempts: Attempts, { takenAt, isAhead }: { takenAt: number; isAhead: boolean }) {
    this.lease = lease;
    this.takenAt = takenAt;
    this.#isAhead = isAhead;
    this.#handled = handled;
    this.#attempts = attempts;
  }

  /** The renewal ends a little after the timeout. By then the attempt is over, or the event loop is blocked and nothing will end it. */
  get held(): HeldLease {
    const { job, fence } = this.lease;
    const stopAfterMs = job.timeout > 0 ? job.timeout + this.#attempts.options.settings.settleMs + HANGING_MS : null;
    return { id: job.id, fence, stopAfterMs };
  }

  reportOf(outcome: Outcome): Report {
    const { job, fence } = this.lease;
    const facts = this.#facts;
    const ended = withVersion(outcome, this.#attempts.options.settings.version);
    return { id: job.id, fence, facts, outcome: ended, heldMs: this.#heldMs, spend: this.#spent === 0 ? undefined : this.#spent };
  }

  /** The facts of the claim, or as the steps have changed them. */
  get #facts(): LeaseFacts {
    const { facts } = this.lease;
    return this.#hasProgressed ? { ...facts, retryCount: 0, lostCount: 0 } : facts;
  }

  get #heldMs(): number | undefined {
    return this.#isAhead && this.startedAt > 0 ? Math.round(this.startedAt - this.takenAt) : undefined;
  }

  get isOver(): boolean {
    return this.#state === "over" || this.#state === "abandoned";
  }

  /** Whether the result of the handler still counts. */
  get holdsLease(): boolean {
    return !this.isOver && !this.#isGone;
  }

  /** The handler's own transaction may hold the job's row: a write to the job may have to wait. */
  get mayWait(): boolean {
    return this.#handlerLease?.mayWait === true;
  }

  /** Why there is nothing to report: the job was cancelled, or the lease is gone. */
  get whyGone(): "cancelled" | "lost" {
    return this.#aborted === "cancelled" ? "cancelled" : "lost";
  }

  /** Calls the handler, unless the lease is already lost. `now` is monotonic. */
  start(now: number): void {
    if (this.#state !== "claimed") return;
    this.#state = "running";
    this.startedAt = now;
    const timeoutMs = this.lease.job.timeout;
    if (timeoutMs > 0) this.#setDeadline(now + timeoutMs);
    this.#attempts.options.events.started(this);
    void this.#run();
  }

  /** The lease is gone: aborts the handler, whose result does not count any more. */
  gone(why: "stale" | "cancelled"): void {
    if (this.#handlerLease !== null) this.#handlerLease.gone(why);
    else this.lost(why);
  }

  lost(why: "stale" | "cancelled"): void {
    this.abort(why === "cancelled" ? "cancelled" : "lost");
  }

  abort(why: AbortCause): void {
    if (this.isOver) return;
    if (this.#state === "claimed" && why !== "shutdown") {
      this.#aborted = why;
      return this.#end(null);
    }
    if (!outweighs(why, this.#aborted)) return;
    const isFirst = this.#aborted === null || this.#aborted === "shutdown";
    this.#aborted = why;
    const { clock, settings } = this.#attempts.options;
    if (isFirst && why !== "shutdown") this.#setDeadline(clock.monotonic() + settings.settleMs);
    this.#controller?.abort(this.#abortReason(why));
  }

  /** The grace period of a shutdown has ended: gives back what can be given back. */
  giveUp(): void {
    if (this.isOver) return;
    this.#end(this.#isGone ? null : this.#aborted === "timeout" ? this.#timedOut() : { kind: "release" });
  }

  /** Its handler was not called and will not be: the job is given back, at no cost. */
  giveBack(): Report {
    this.#state = "over";
    return { ...this.reportOf({ kind: "release" }), unstarted: true };
  }

  onDeadline(): void {
    if (this.#aborted === null || this.#aborted === "shutdown") return this.abort("timeout");
    this.#end(this.#aborted === "timeout" ? this.#timedOut() : null);
    this.#state = "abandoned";
    this.#attempts.handlerAbandoned();
  }

  async #run(): Promise<void> {
    let value: unknown;
    let threw = false;
    try {
      const { job } = this.lease;
      // The handler is not called. An attempt that was abandoned meanwhile has come back.
      if (job.hasSteps && !(await this.#readSteps())) return this.#settled(false, undefined);
      const around = this.#attempts.options.events.around(job);
      const returned =
        around === null
          ? this.#call(job)
          : // Middleware may have taken longer than the timeout.
            callThrough(around, new AttemptContext(this, job), (changed) => (this.isOver ? undefined : this.#call(changed)));
      // A handler that is not async ends in this tick.
      value = isThenable(returned) ? await returned : returned;
    } catch (error) {
      threw = true;
      value = error;
    }
    this.#settled(threw, value);
  }

  /** Reads what earlier attempts kept. False if the attempt ended meanwhile, was aborted, or has to do without: then the handler is not called. */
  async #readSteps(): Promise<boolean> {
    const answer = await this.steps.read().catch(() => "unavailable" as const);
    if (this.isOver) return false;
    if (answer === false) this.#aborted ??= "lost";
    if (answer === true && this.#aborted === null) return true;
    this.#end(this.#isGone ? null : this.#aborted === "timeout" ? this.#timedOut() : { kind: "release" });
    return false;
  }

  #call(job: Job): unknown {
    const { schema, output, handler } = this.#handled;
    const isChecked = schema !== undefined || output !== undefined;
    return isChecked ? this.#callChecked(job) : handler(job.payload, new AttemptContext(this, job));
  }

  async #callChecked(given: Job): Promise<unknown> {
    const { schema, output, handler } = this.#handled;
    const job = schema === undefined ? given : await readPayload(given, schema);
    // The schema may have taken longer than the timeout.
    if (this.isOver) return undefined;
    const returned: unknown = await handler(job.payload, new AttemptContext(this, job));
    // After ctx.complete, what the handler returns is not stored.
    return output === undefined || this.#handlerLease?.result !== undefined ? returned : readResult(returned, output);
  }

  #settled(threw: boolean, value: unknown): void {
    this.#steps?.handlerEnded();
    if (this.isOver) return this.#cameBack();
    this.#end(this.#judge(threw, value));
  }

  /** The handler has ended, or waits for ever: if it was abandoned, it is no longer. Once, because a handler can end beside a wait. */
  #cameBack(): void {
    if (this.#state !== "abandoned") return;
    this.#state = "over";
    this.#attempts.handlerCameBack();
  }

  #judge(threw: boolean, value: unknown): Outcome | null {
    if (this.#isGone) return null;
    if (this.#aborted === "timeout") return this.#timedOut();
    // If a handler used its signal and throws after the abort, we assume that the abort was the reason: a deploy costs no attempt.
    if (this.#aborted === "shutdown" && threw && this.#controller !== null && controlOf(value) === null) return { kind: "release" };
    if (threw) {
      this.failure = value;
      return outcomeOfThrow(value, this.#runMs(), this.#rules);
    }
    /*
     * After ctx.complete the same result is reported once more. If the transaction was committed, that is a repeat and changes nothing. If it was
     * rolled back, a handler that returns still says that the job is done. A handler that throws has failed (above); after a commit, that report
     * is refused as stale.
     */
    const resultWithin = this.#handlerLease?.result;
    if (resultWithin !== undefined) return { kind: "completed", result: resultWithin, runMs: this.#runMs() };
    return outcomeOfReturn(value, this.#runMs(), this.#rules);
  }

  #end(outcome: Outcome | null): void {
    this.#handlerLease?.end();
    this.#state = "over";
    this.deadlineAt = Infinity;
    this.notes?.close();
    this.#attempts.ended(this, outcome);
  }

  #timedOut(): Outcome {
    const reason = this.#abortReason("timeout");
    this.failure = reason;
    return outcomeOfTimeout(reason, this.#runMs(), this.#rules);
  }

  get #isGone(): boolean {
    return this.#aborted === "cancelled" || this.#aborted === "lost";
  }

  get #rules(): FailureRules {
    const { backoffs, options } = this.#attempts;
    const { job } = this.lease;
    const facts = this.#facts;
    return { facts, job, backoff: backoffs.find(facts.backoff, this.#handled.backoff), onTrouble: options.onTrouble };
  }

  #runMs(): number {
    return Math.max(0, Math.round(this.#attempts.options.clock.monotonic() - this.startedAt));
  }

  #setDeadline(deadlineAt: number): void {
    this.deadlineAt = deadlineAt;
    this.#attempts.deadlines.watch(deadlineAt);
  }

  #abortReason(why: AbortCause): JobAborted {
    return new JobAborted(why, this.lease.job.timeout);
  }

  // ── Methods of the context ─────────────────────────────────────────────────────────────────────────────────────────────────────

  get isAborted(): boolean {
    return this.#aborted !== null;
  }

  /** Made on first use: most handlers never look at their signal. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted !== null) this.#controller.abort(this.#abortReason(this.#aborted));
    }
    return this.#controller.signal;
  }

  get flow(): FlowOfJob {
    return new FlowOfJob(this.lease.job, this.#attempts.options.flows);
  }

  get steps(): DurableSteps {
    return (this.#steps ??= new DurableSteps(this, this.#attempts.options.leases, this.#attempts.options.clock));
  }

  progressed(): void {
    this.#hasProgressed = true;
  }

  /** An aborted attempt ends now, too: its handler never comes back from a wait, and would count as abandoned for ever. */
  suspend(outcome: Outcome & { readonly kind: "suspend" }): void {
    this.whenSuspended?.();
    if (this.isOver) return this.#cameBack();
    if (this.#isGone) return this.#end(null);
    if (this.#aborted === "timeout") return this.#end(this.#timedOut());
    this.#aborted = "suspended";
    this.#controller?.abort(this.#abortReason("suspended"));
    this.#end(outcome);
  }

  log(text: unknown): void {
    if (this.isOver) return;
    const notes = this.#notesOf();
    notes.log(text);
    this.#attempts.notes.touch(notes);
  }

  progress(percent: unknown, note: unknown): void {
    if (this.isOver) return;
    const notes = this.#notesOf();
    notes.progress(percent, note);
    this.#attempts.notes.touch(notes);
  }

  spend(units: unknown): void {
    const total = typeof units === "number" && units >= 0 ? this.#spent + units : Number.NaN;
    if (!(total <= MAX_SPEND)) throw invalid("units", `${SPEND_RULE}, in all calls of an attempt together`, units);
    if (!this.isOver) this.#spent = total;
  }

  #notesOf(): JobNotes {
    if (this.notes === null) {
      this.notes = new JobNotes(this.lease);
      this.notes.mayWait = this.mayWait;
    }
    return this.notes;
  }

  async complete(result: unknown, tx: unknown): Promise<Completed> {
    if (tx === undefined || tx === null) throw invalid("tx", "your open transaction: ctx.complete(result, { tx })", tx);
    const { output } = this.#handled;
    const fitting = output === undefined ? result : await readResult(result, output);
    if (this.isOver || (this.#aborted !== null && this.#aborted !== "shutdown")) throw this.refusal("completed");
    const encoded = encodeResult(fitting);
    const report = this.reportOf({ kind: "completed", result: encoded, runMs: this.#runMs() });
    this.#handlerLease ??= new HandlerLease(this, this.#attempts);
    await this.#handlerLease.complete(report, encoded, tx);
    return undefined as void as Completed;
  }

  async holdLease(time: unknown): Promise<void> {
    const holdMs = readHold(time, this.#attempts.options.settings.leaseMs);
    if (!this.holdsLease) throw this.refusal("held");
    this.#handlerLease ??= new HandlerLease(this, this.#attempts);
    await this.#handlerLease.hold(holdMs);
  }

  refusal(what: "completed" | "held"): MillraceError {
    const why = this.#aborted === null ? "the attempt is over" : this.#abortReason(this.#aborted).message;
    const refused = what === "completed" ? "the job cannot be completed" : "the lease cannot be held";
    return new MillraceError("stale_lease", `${refused}: ${why}`, { jobId: this.lease.job.id });
  }
}

/** A lost lease replaces any other cause, a timeout replaces a shutdown. */
function outweighs(why: AbortCause, before: AbortCause | null): boolean {
  return WEIGHT[why] > (before === null ? 0 : WEIGHT[before]);
}

const WEIGHT = { shutdown: 1, suspended: 1, timeout: 2, cancelled: 3, lost: 3 } as const;

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
