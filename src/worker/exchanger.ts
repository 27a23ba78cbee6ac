import type { ClaimRequest, Exchanged, LeasedJob, LeaseAnswer, Report } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import type { Timer } from "../lib/clock.ts";
import { EarliestTimer } from "../lib/earliest-timer.ts";
import { Attempts, type AttemptsOptions } from "./attempts.ts";
import { DelayedReports, MAX_EXCHANGE, retryPauseMs } from "./delayed-reports.ts";
import { ExchangeWarnings } from "./exchange-warnings.ts";
import { QueueTurns } from "./queue-turns.ts";
import { Scale } from "./scale.ts";
import type { WorkerCard } from "./worker-card.ts";

export interface ExchangerOptions extends AttemptsOptions {
  readonly random: () => number;
  readonly inFlight: number;
  readonly card: WorkerCard;
  /** The client was closed while the worker ran. */
  readonly onClosed: () => void;
}

/** If this many reports wait without a slot (or as many as there are slots, if more), claims stop until some are answered. */
const MOST_DELAYED = 100;

/**
 * CLAIMS AND REPORTS IN ONE ROUND TRIP: ended attempts out, new jobs in.
 *
 *   wake, report ─→ flush, at the end of the tick ─→ claim for the free slots ─→ send ─→ answered ─→ take ─→ attempts run
 *
 * Reports are gathered until the end of the tick (lib/batcher.ts says why). Jobs are claimed for free slots and, while handlers are fast, a little
 * ahead of them (see stock.ts): a job that waits in a worker is not available to others.
 *
 * No report is dropped while it may succeed. An exchange without an answer is sent again, which is safe: a repeated report that was already
 * applied succeeds, and a repeated claim gets the jobs of the first.
 *
 * No claim waits for the locked row of a job: a report that failed, or that may have to wait, is sent without a claim (see delayed-reports.ts)
 * and no longer has a slot. And no report waits for a claim: what delayed a claim may delay its repeat, so a repeat is sent alone, and reports
 * go without a claim until it is answered.
 */
export class Exchanger {
  readonly attempts: Attempts;
  readonly #options: ExchangerOptions;
  readonly #turns: QueueTurns;
  readonly #scale: Scale;
  readonly #delayed: DelayedReports;
  readonly #warnings: ExchangeWarnings;
  readonly #queue: Report[] = [];
  /** There may be work that was not claimed yet. */
  #mayHaveWork = true;
  #claimedAt = -Infinity;
  /** Claims that may have been granted without our knowledge. Nothing new is claimed before they are answered. */
  #unanswered: ClaimRequest[] = [];
  #turn = 0;
  #underWay = { exchanges: 0, repeats: 0, slots: 0, reports: 0 };
  #isFlushing = false;
  #isReady = false;
  #wasIdle = false;
  #failures = 0;
  #retry: Timer | null = null;
  /** Claims when a job may start that waits for a rate or a held limit key, if the store said so. */
  readonly #again: EarliestTimer;
  /** Set while the worker stops: nothing is claimed. */
  #drain: { readonly onDrained: () => void; readonly onOnlyClaims: () => void } | null = null;
  #isClosed = false;

  constructor(options: ExchangerOptions) {
    const { clock, random, settings } = options;
    this.#options = options;
    this.#again = new EarliestTimer(clock, () => this.wake());
    this.attempts = new Attempts(options, this);
    this.#warnings = new ExchangeWarnings(options.onTrouble, settings.settleMs);
    this.#turns = new QueueTurns(settings.queues);
    this.#scale = new Scale(settings.minSlots, settings.maxSlots);
    this.#delayed = new DelayedReports({
      clock,
      random,
      leaseMs: settings.leaseMs,
      send: (reports) => this.#sendDelayed(reports),
      onAnswered: (reports) => this.#delayedAnswered(reports),
      // While the store is unreachable all reports fail, and that has already been told.
      onStuck: (report, error) => this.#failures === 0 && this.#warnings.stuck(report, error),
      onGivenUp: (reports, error) => {
        this.#giveUp(reports, error);
        this.#goOn();
      },
    });
  }

  /** The number of running attempts has changed. */
  noteUse(now: number): void {
    this.#options.card.runs(this.attempts.running.size, this.slots, now);
  }

  get slots(): number {
    return this.#scale.slots;
  }

  get healthy(): boolean {
    return this.#failures === 0 && !this.#isOverrun && !this.#hasTooManyUnreported;
  }

  // ── The loop ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Called at every poll: a hint may have been lost, or there may be too many slots. Returns how long to rest at most. */
  look(pollMs: number): number {
    const now = this.#options.clock.monotonic();
    this.#scale.look(this.attempts.running.size, now);
    this.warnIfOverrun();
    this.#warnings.tooManyUnreported(this.#hasTooManyUnreported, this.unreported);
    if (now - this.#claimedAt >= pollMs / 2) this.wake();
    return this.#scale.lookAgainMs;
  }

  /** Call this when there may be work, or a slot became free without a report. */
  wake(): void {
    this.#mayHaveWork = true;
    this.#flushSoon();
  }

  /** Reports an ended attempt, whose slot is already free. `mayWait`: the job's row may be locked. */
  report(report: Report, mayWait = false): void {
    if (this.#isClosed) return this.#giveUp([report], null);
    if (mayWait || this.#isClaimRepeated) {
      this.#delayed.suspect(report);
      // It is sent without a claim for its slot.
      this.wake();
    } else {
      this.#queue.push(report);
      this.#flushSoon();
    }
  }

  /** A slot became free without a report, or an abandoned handler ended. */
  freed(): void {
    this.wake();
    this.#checkDrained();
  }

  /** Sends reports and a claim at the end of this tick; of a worker that has nothing to report, sooner. */
  #flushSoon(): void {
    if (this.#isFlushing || this.#retry !== null || this.#isClosed || this.#underWay.exchanges >= this.#options.inFlight) return;
    this.#isFlushing = true;
    const flush = (): void => {
      this.#isFlushing = false;
      this.#flush();
    };
    if (this.hasOutcomes) setImmediate(flush);
    else queueMicrotask(flush);
  }

  #flush(): void {
    // After a failure, one exchange at a time finds out whether the store is back.
    const inFlight = this.#failures === 0 ? this.#options.inFlight : 1;
    while (this.#underWay.exchanges < inFlight && this.#retry === null && !this.#isClosed) {
      const repeat = this.#unanswered.shift();
      if (repeat !== undefined) {
        void this.#send([], repeat);
        continue;
      }
      // How many exchanges can start now and share the reports.
      const sharers = inFlight - this.#underWay.exchanges;
      const reports = this.#queue.splice(0, Math.min(Math.ceil(this.#queue.length / sharers), MAX_EXCHANGE));
      const claim = this.#claim(reports.length > 0, sharers);
      if (reports.length === 0 && claim === null) return;
      void this.#send(reports, claim);
    }
  }

  /** A report also claims for the slots that it frees. Without a report, we claim only if there may be work. */
  #claim(isReporting: boolean, sharers: number): ClaimRequest | null {
    const { running, stock } = this.attempts;
    const room = stock.room();
    const free = this.slots + room - running.size - stock.size - this.#queue.length - this.#underWay.slots;
    if (free <= 0 || this.#drain !== null || !(this.#mayHaveWork || isReporting)) return null;
    if (this.#isOverrun || this.#hasTooManyUnreported) return null;
    const { clock, card, handlers, settings } = this.#options;
    this.#mayHaveWork = false;
    this.#claimedAt = clock.monotonic();
    return {
      workerId: card.id,
      queues: this.#turns.next(),
      types: handlers.types,
      limit: Math.min(Math.ceil(free / sharers), MAX_EXCHANGE),
      leaseMs: settings.leaseMs,
      turn: ++this.#turn,
      again: false,
      ahead: room > 0 || stock.size > 0,
    };
  }

  async #send(reports: Report[], claim: ClaimRequest | null): Promise<void> {
    const underWay = this.#underWay;
    const slots = Math.max(reports.length, claim?.limit ?? 0);
    const repeats = claim?.again === true ? 1 : 0;
    underWay.exchanges++;
    underWay.repeats += repeats;
    underWay.slots += slots;
    underWay.reports += reports.length;
    const sentAt = this.#options.clock.monotonic();
    let answer: Exchanged | null = null;
    try {
      answer = await this.#options.leases.exchange(reports, claim);
    } catch (error) {
      if (claim !== null && !this.#isClosed) this.#repeatLater(claim);
      this.#failed(reports, error);
    }
    underWay.exchanges--;
    underWay.repeats -= repeats;
    underWay.slots -= slots;
    underWay.reports -= reports.length;
    if (answer !== null) {
      this.attempts.stock.exchanged(this.#options.clock.monotonic() - sentAt);
      this.#options.events.answered(reports, answer.results);
      this.#answered(this.#putBackHeldUp(reports, answer.results), claim, answer.jobs);
      // A hint, or a slot that becomes free, may bring a claim sooner.
      if (typeof answer.againInMs === "number" && this.#drain === null) this.#again.set(answer.againInMs);
    }
    this.#goOn();
  }

  #answered(reports: readonly Report[], claim: ClaimRequest | null, jobs: readonly LeasedJob[]): void {
    this.#failures = 0;
    this.#delayed.storeAnswered();
    try {
      this.#options.card.ended(reports.filter(({ outcome }) => outcome.kind !== "release").length);
      if (reports.length > 0) this.#options.renewer.drop(reports);
      if (claim !== null) this.#take(jobs, claim);
    } catch (error) {
      this.#warnings.notStarted(jobs.length, error);
    }
  }

  /** The worker had stopped before its claim was answered. While the client is open, these jobs need not wait for the end of their lease. */
  async #giveBack(jobs: readonly LeasedJob[]): Promise<void> {
    const reports = jobs.map(releaseOf);
    try {
      await this.#options.leases.exchange(reports, null);
    } catch (error) {
      this.#giveUp(reports, error);
    }
  }

  /** Gives back jobs that arrive after a stop, and those beyond the limit: a claim that arrives after its own repeat returns the jobs of both. */
  #take(jobs: readonly LeasedJob[], { limit, ahead = false }: ClaimRequest): void {
    if (this.#isClosed) {
      if (jobs.length > 0) void this.#giveBack(jobs);
      return;
    }
    const most = this.#drain === null ? limit : 0;
    this.#tellReady();
    if (jobs.length > 0) this.attempts.take(jobs.length <= most ? jobs : jobs.slice(0, most), ahead);
    for (const leased of jobs.slice(most)) this.report(releaseOf(leased));
    const isFull = jobs.length >= limit;
    this.attempts.stock.claimed(isFull);
    this.#scale.claimed(isFull, this.attempts.running.size, this.#options.clock.monotonic());
    // There may be more slots now, and nobody else starts what waits for one until a handler ends.
    this.attempts.startSoon();
    if (isFull) this.#mayHaveWork = true;
  }

  #tellReady(): void {
    if (this.#isReady) return;
    this.#isReady = true;
    this.#options.events.tell("ready");
  }

  /** Once, until it has taken something again. */
  #tellIdle(): void {
    const isIdle = !this.#mayHaveWork && this.isIdle && this.attempts.count === 0;
    const wasIdle = this.#wasIdle;
    if (isIdle || this.attempts.count > 0) this.#wasIdle = isIdle;
    if (isIdle && !wasIdle && this.#drain === null) this.#options.events.tell("idle");
  }

  #goOn(): void {
    if (!this.#hasReports) this.#checkDrained();
    this.#tellIdle();
    // Even with nothing to report: there may still be work.
    this.#flushSoon();
  }

  // ── Reports without a claim ────────────────────────────────────────────────────────────────────────────────────────────────────

  get #isClaimRepeated(): boolean {
    return this.#unanswered.length + this.#underWay.repeats > 0;
  }

  #repeatLater(claim: ClaimRequest): void {
    this.#unanswered.push({ ...claim, again: true });
    for (const report of this.#queue.splice(0)) this.#delayed.suspect(report);
  }

  /** Sends reports with a locked row again, without a claim. Returns the others. */
  #putBackHeldUp(reports: readonly Report[], results: readonly LeaseAnswer[]): readonly Report[] {
    if (!results.includes("locked")) return reports;
    const isHeldUp = (_: Report, index: number): boolean => results[index] === "locked";
    this.#delayed.held(reports.filter(isHeldUp));
    return reports.filter((report, index) => !isHeldUp(report, index));
  }

  /** Returns those whose row is locked; all others are done. */
  async #sendDelayed(reports: readonly Report[]): Promise<readonly Report[]> {
    try {
      const { results } = await this.#options.leases.exchange(reports, null);
      this.#options.events.answered(reports, results);
      return reports.filter((_, index) => results[index] === "locked");
    } catch (error) {
      if (isClosed(error) && !this.#isClosed) this.#clientClosed([]);
      throw error;
    }
  }

  #delayedAnswered(reports: readonly Report[]): void {
    this.#retry?.cancel();
    this.#retry = null;
    this.#answered(reports, null, []);
    this.#goOn();
  }

  /** Ended attempts without a slot that have not been reported yet. */
  get unreported(): number {
    return this.#delayed.size + this.attempts.waitingForNotes;
  }

  get #hasTooManyUnreported(): boolean {
    return this.unreported >= Math.max(MOST_DELAYED, this.slots);
  }

  // ── Failures ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #failed(reports: Report[], error: unknown): void {
    if (this.#isClosed) return this.#giveUp(reports, error);
    if (isClosed(error)) return this.#clientClosed(reports);
    if (this.#failures++ === 0) this.#warnings.unreachable(error);
    this.#delayed.failed(reports, error);
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimer(
      () => {
        this.#retry = null;
        this.#flushSoon();
      },
      retryPauseMs(this.#failures, this.#options.random()),
    );
  }

  #clientClosed(reports: Report[]): void {
    this.#queue.push(...reports);
    this.stop();
    this.#options.onClosed();
  }

  #giveUp(reports: Report[], error: unknown): void {
    if (reports.length === 0) return;
    this.#warnings.givenUp(reports, error);
    this.#options.renewer.drop(reports);
  }

  /** As many handlers ignore their abort as there are slots: more jobs would only add to them. */
  get #isOverrun(): boolean {
    return this.attempts.abandoned >= this.slots;
  }

  /** Call this when the number of abandoned handlers or that of slots changed. */
  warnIfOverrun(): void {
    this.#warnings.overrun(this.#isOverrun, this.attempts.abandoned);
  }

  // ── Stop ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Claims nothing more. Resolves when nothing runs and everything is reported. `onOnlyClaims`: only the answer to a claim is missing. */
  drain(onOnlyClaims: () => void): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drain = { onDrained: resolve, onOnlyClaims };
    this.#again.cancel();
    this.attempts.stock.giveBackAll();
    this.#checkDrained();
    return promise;
  }

  /** An exchange in progress counts: it may return jobs that must be given back. */
  #checkDrained(): void {
    if (this.#drain === null || this.attempts.count > 0) return;
    if (this.isIdle) this.#drain.onDrained();
    else if (!this.#hasReports) this.#drain.onOnlyClaims();
  }

  get isIdle(): boolean {
    return !this.#hasReports && this.#underWay.exchanges === 0 && this.#unanswered.length === 0;
  }

  /** Whether jobs run here, wait to be started, or have ended and are not reported yet. */
  get hasOutcomes(): boolean {
    return this.attempts.count > 0 || this.#hasReports;
  }

  /** Whether a report waits or is being sent. */
  get #hasReports(): boolean {
    return this.#queue.length + this.#underWay.reports + this.#delayed.size > 0;
  }

  /** Sends nothing more. Jobs that could not be reported will count as lost: returns how many. */
  stop(): number {
    this.attempts.stock.giveBackAll();
    const waiting = [...this.#queue.splice(0), ...this.#delayed.stop()];
    this.#unanswered = [];
    this.#isClosed = true;
    this.#again.cancel();
    this.#retry?.cancel();
    this.#retry = null;
    this.#giveUp(waiting, null);
    // Nobody knows whether reports in progress succeed. Delayed reports that were not given up are in progress.
    return waiting.length + this.#underWay.reports + this.unreported;
  }
}

function releaseOf({ job, fence, facts }: LeasedJob): Report {
  return { id: job.id, fence, facts, outcome: { kind: "release" }, unstarted: true };
}

function isClosed(error: unknown): boolean {
  return error instanceof MillraceError && error.code === "closed";
}
