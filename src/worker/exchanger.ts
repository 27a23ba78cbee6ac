import type { ClaimRequest, LeasedJob, LeaseAnswer, Leases, Report } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { DelayedReports } from "./delayed-reports.ts";
import { MAX_EXCHANGE, retryPauseMs } from "./exchange-limits.ts";

/** What an exchanger asks of its worker. None of these should throw; if one does, it is told as trouble, and the exchange goes on. */
export interface ExchangeHost {
  /** What to claim now, if anything. `occupied`: reports that wait and exchanges under way have so many slots. `lanes`: take this share. */
  claim(reporting: boolean, occupied: number, lanes: number): Omit<ClaimRequest, "turn" | "again"> | null;
  /** An exchange was answered. */
  answered(reports: readonly Report[], claim: ClaimRequest | null, jobs: readonly LeasedJob[]): void;
  /** These were given up: their leases will run out. */
  givenUp(reports: readonly Report[]): void;
  /** The client was closed under the worker. */
  closed(): void;
  /** Nothing is left to report. A claim may be under way. */
  allReported(): void;
}

export interface ExchangerOptions {
  readonly leases: Pick<Leases, "exchange">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly inFlight: number;
  readonly leaseMs: number;
  readonly onTrouble: OnTrouble;
  readonly host: ExchangeHost;
}

/**
 * ENDED ATTEMPTS OUT, NEW JOBS IN, in one round trip. Reports are gathered to the end of the tick (see lib/batcher.ts for why), and the claim
 * for the slots that they free travels with them.
 *
 * No report is lost while there is hope. An exchange whose fate is unknown is sent again, which is safe: the repeat of a report that was
 * applied is answered as success, and the repeat of a claim is given what the first was granted.
 *
 * No claim waits for the row of a job that somebody has locked: a report that failed, or that may have to wait, travels without one (see
 * delayed-reports.ts). Such a report has no slot any more. And no report waits for a claim: what held up a claim may hold up its repeat, so
 * that travels alone, and reports travel without a claim until it is answered.
 */
export class Exchanger {
  readonly #options: ExchangerOptions;
  #queue: Report[] = [];
  /** Claims that may have been granted without our knowing. Nothing new is claimed before they are answered. */
  #unanswered: ClaimRequest[] = [];
  #repeatsUnderWay = 0;
  #turn = 0;
  #underWay = 0;
  #slotsUnderWay = 0;
  #reportsUnderWay = 0;
  #flushing = false;
  #failures = 0;
  #retry: Timer | null = null;
  #closed = false;
  readonly #delayed: DelayedReports;

  constructor(options: ExchangerOptions) {
    this.#options = options;
    const { clock, random, leaseMs } = options;
    this.#delayed = new DelayedReports({
      clock,
      random,
      leaseMs,
      send: (reports) => this.#sendDelayed(reports),
      onAnswered: (reports) => this.#delayedAnswered(reports),
      onStuck: (report, error) => this.#tellDelayed(report, error),
      onGivenUp: (reports, error) => {
        this.#giveUp(reports, error);
        this.#goOn();
      },
    });
  }

  get healthy(): boolean {
    return this.#failures === 0;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#underWay === 0 && this.#unanswered.length === 0 && this.#delayed.size === 0;
  }

  /** Whether something waits to be reported, or is being reported. */
  get hasReports(): boolean {
    return this.#queue.length + this.#reportsUnderWay + this.#delayed.size > 0;
  }

  /** How many reports travel without a claim, and have no slot. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** `mayWait`: somebody may have the job's row locked. Answers whether a claim for the slot that it frees will travel with it. */
  report(report: Report, mayWait = false): boolean {
    if (this.#closed) {
      this.#giveUp([report], null);
      return false;
    }
    if (mayWait || this.#isClaimRepeated) {
      this.#delayed.suspect(report);
      return false;
    }
    this.#queue.push(report);
    this.flushSoon();
    return true;
  }

  get #isClaimRepeated(): boolean {
    return this.#unanswered.length + this.#repeatsUnderWay > 0;
  }

  /** Sends what there is to send, or claims, at the end of this tick. */
  flushSoon(): void {
    if (this.#flushing || this.#retry !== null || this.#closed || this.#underWay >= this.#options.inFlight) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  /** Nothing is sent any more. What could not be reported until now will be seen as lost: answers how many that are. */
  stop(): number {
    const unsaid = [...this.#queue, ...this.#delayed.stop()];
    this.#queue = [];
    this.#unanswered = [];
    this.#closed = true;
    this.#retry?.cancel();
    this.#retry = null;
    this.#giveUp(unsaid, null);
    // Of what is under way nobody knows. What is delayed and was not given up is under way.
    return unsaid.length + this.#reportsUnderWay + this.#delayed.size;
  }

  #flush(): void {
    // After a failure one exchange at a time finds out whether the store is back.
    const inFlight = this.#failures === 0 ? this.#options.inFlight : 1;
    while (this.#underWay < inFlight && this.#retry === null && !this.#closed) {
      const repeat = this.#unanswered.shift();
      if (repeat !== undefined) {
        void this.#send([], repeat);
        continue;
      }
      const lanes = inFlight - this.#underWay;
      const reports = this.#take(Math.ceil(this.#queue.length / lanes));
      const claim = this.#newClaim(reports.length > 0, lanes);
      if (reports.length === 0 && claim === null) return;
      void this.#send(reports, claim);
    }
  }

  #newClaim(reporting: boolean, lanes: number): ClaimRequest | null {
    const wish = this.#options.host.claim(reporting, this.#queue.length + this.#slotsUnderWay, lanes);
    return wish === null ? null : { ...wish, turn: ++this.#turn, again: false };
  }

  #take(share: number): Report[] {
    const count = Math.min(share, MAX_EXCHANGE);
    if (count < this.#queue.length) return this.#queue.splice(0, count);
    const all = this.#queue;
    this.#queue = [];
    return all;
  }

  async #send(reports: Report[], claim: ClaimRequest | null): Promise<void> {
    const slots = Math.max(reports.length, claim?.limit ?? 0);
    const repeats = claim?.again === true ? 1 : 0;
    this.#underWay++;
    this.#repeatsUnderWay += repeats;
    this.#slotsUnderWay += slots;
    this.#reportsUnderWay += reports.length;
    let answer: Awaited<ReturnType<Leases["exchange"]>> | null = null;
    try {
      answer = await this.#options.leases.exchange(reports, claim);
    } catch (error) {
      if (claim !== null && !this.#closed) this.#repeatLater(claim);
      this.#failed(reports, error);
    }
    this.#underWay--;
    this.#repeatsUnderWay -= repeats;
    this.#slotsUnderWay -= slots;
    this.#reportsUnderWay -= reports.length;
    if (answer !== null) this.#succeeded(this.#putBackHeldUp(reports, answer.results), claim, answer.jobs);
    this.#goOn();
  }

  #repeatLater(claim: ClaimRequest): void {
    this.#unanswered.push({ ...claim, again: true });
    for (const report of this.#queue.splice(0)) this.#delayed.suspect(report);
  }

  /** Those whose rows somebody's transaction holds are sent again without a claim. Answers the others. */
  #putBackHeldUp(reports: readonly Report[], results: readonly LeaseAnswer[]): readonly Report[] {
    if (!results.includes("locked")) return reports;
    const isHeldUp = (_: Report, index: number): boolean => results[index] === "locked";
    this.#delayed.held(reports.filter(isHeldUp));
    return reports.filter((report, index) => !isHeldUp(report, index));
  }

  #goOn(): void {
    if (!this.hasReports) this.#options.host.allReported();
    // Also with nothing to report: the worker may still be hungry.
    this.flushSoon();
  }

  #succeeded(reports: readonly Report[], claim: ClaimRequest | null, jobs: readonly LeasedJob[]): void {
    this.#failures = 0;
    this.#delayed.storeAnswered();
    try {
      this.#options.host.answered(reports, claim, jobs);
    } catch (error) {
      this.#tellUnused(jobs, error);
    }
  }

  /** Answers those that somebody's transaction holds up: all others are done. */
  async #sendDelayed(reports: readonly Report[]): Promise<readonly Report[]> {
    try {
      const { results } = await this.#options.leases.exchange(reports, null);
      return reports.filter((_, index) => results[index] === "locked");
    } catch (error) {
      this.#delayedFailed(error);
    }
  }

  #delayedAnswered(reports: readonly Report[]): void {
    this.#retry?.cancel();
    this.#retry = null;
    this.#succeeded(reports, null, []);
    this.#goOn();
  }

  #failed(reports: Report[], error: unknown): void {
    if (this.#closed) return this.#giveUp(reports, error);
    if (isClosed(error)) return this.#clientClosed(reports);
    if (this.#failures++ === 0) this.#tell(error);
    this.#delayed.failed(reports, error);
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimer(
      () => {
        this.#retry = null;
        this.flushSoon();
      },
      retryPauseMs(this.#failures, this.#options.random()),
    );
  }

  #delayedFailed(error: unknown): never {
    if (isClosed(error) && !this.#closed) this.#clientClosed([]);
    throw error;
  }

  #giveUp(reports: Report[], error: unknown): void {
    if (reports.length === 0) return;
    const ids = reports.slice(0, 3).map((report) => report.id);
    const message = `the outcome of ${reports.length} jobs (${ids.join(", ")}) could not be reported; they will be seen as lost`;
    this.#options.onTrouble({ kind: "report", message, error });
    this.#options.host.givenUp(reports);
  }

  #tell(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onTrouble({ kind: "store", message: `a worker cannot reach its store and keeps trying: ${reason}`, error });
  }

  /** While the store is away all of them fail, and that has been told. */
  #tellDelayed({ id }: Report, error: unknown): void {
    if (this.#failures > 0) return;
    const reason = error instanceof Error ? error.message : String(error);
    const message = `the outcome of job ${id} could not be reported yet and is tried again. Does a transaction that called ctx.complete stay open? ${reason}`;
    this.#options.onTrouble({ kind: "report", message, error });
  }

  #tellUnused(jobs: readonly LeasedJob[], error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `${jobs.length} claimed jobs could not be started and will be seen as lost: ${reason}`;
    this.#options.onTrouble({ kind: "claim", message, error });
  }

  #clientClosed(reports: Report[]): void {
    this.#queue.push(...reports);
    this.stop();
    this.#options.host.closed();
  }
}

function isClosed(error: unknown): boolean {
  return error instanceof MillraceError && error.code === "closed";
}
