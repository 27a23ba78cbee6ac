import type { Report } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { MAX_EXCHANGE, retryPauseMs } from "./exchange-limits.ts";

export interface DelayedReportsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly leaseMs: number;
  /** Sends these, and nothing with them. */
  readonly send: (reports: readonly Report[]) => Promise<unknown>;
  /** They were answered. Must not throw. */
  readonly onAnswered: (reports: readonly Report[]) => void;
  /** A report failed for the first time although nothing travelled with it. It is tried again. Must not throw. */
  readonly onFailedAlone: (report: Report, error: unknown) => void;
  /** These are hopeless. Must not throw. */
  readonly onGivenUp: (reports: Report[], error: unknown) => void;
}

/** A report that failed. */
interface Failed {
  readonly since: number;
  /** How often it failed alone. */
  tries: number;
  /** Not before this time of the monotonic clock. */
  nextAt: number;
}

/**
 * REPORTS THAT TRAVEL WITHOUT A CLAIM, so that no claim waits for the row of a job that somebody else has locked:
 *
 *   suspected ─→ answered                       a handler's own transaction may hold the row. All that wait go in one call
 *       └─→ failed ─→ answered                  alone, one at a time, each with pauses of its own that grow
 *              └─→ given up                     another error than that the store is away, for as long as a lease lasts
 *
 * When the store was away, all that was reported meanwhile has failed, and would take long one by one. So each call that succeeds may be
 * followed by one of twice as many; a failure ends that.
 */
export class DelayedReports {
  readonly #options: DelayedReportsOptions;
  #suspected: Report[] = [];
  #failed = new Map<Report, Failed>();
  /** What is under way of each kind. */
  #suspectedUnderWay: readonly Report[] = [];
  #failedUnderWay: readonly Report[] = [];
  /** How many failed reports may go in one call. */
  #limit = 1;
  #failures = 0;
  /** Nothing that failed goes before this time: if the store is away, every report fails. */
  #nextAt = -Infinity;
  #timer: Timer | null = null;
  #flushing = false;
  #stopped = false;

  constructor(options: DelayedReportsOptions) {
    this.#options = options;
  }

  /** How many wait or are under way. */
  get size(): number {
    return this.#suspected.length + this.#suspectedUnderWay.length + this.#failed.size;
  }

  /** Takes one that may have to wait for its job's row. It leaves at the end of this tick, with others of its kind. */
  suspect(report: Report): void {
    this.#suspected.push(report);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      void this.#sendSuspected();
    });
  }

  /** Takes what failed in company. */
  failed(reports: readonly Report[], error: unknown): void {
    this.#keep(reports, error);
    this.#pause();
    this.#sendFailedSoon();
  }

  /** The store has answered somebody: what waits because it was away need not wait any more. */
  storeAnswered(): void {
    if (this.#failed.size === 0 || this.#failures === 0) return;
    this.#failures = 0;
    this.#nextAt = -Infinity;
    this.#sendFailedSoon();
  }

  /** Nothing is sent any more. Answers what waited; what is under way is given up when it fails. */
  stop(): Report[] {
    this.#stopped = true;
    this.#timer?.cancel();
    const underWay = new Set(this.#failedUnderWay);
    const waiting = [...this.#suspected, ...[...this.#failed.keys()].filter((report) => !underWay.has(report))];
    this.#suspected = [];
    for (const report of waiting) this.#failed.delete(report);
    return waiting;
  }

  async #sendSuspected(): Promise<void> {
    if (this.#suspectedUnderWay.length > 0 || this.#suspected.length === 0) return;
    const reports = this.#suspected.splice(0, MAX_EXCHANGE);
    this.#suspectedUnderWay = reports;
    const error = await this.#try(reports);
    this.#suspectedUnderWay = [];
    if (error !== null) this.failed(reports, error.cause);
    else this.#options.onAnswered(reports);
    void this.#sendSuspected();
  }

  async #sendFailed(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const reports: Report[] = [];
    for (const [report, { nextAt }] of this.#failed) {
      if (nextAt <= now && reports.push(report) >= this.#limit) break;
    }
    if (reports.length === 0) return this.#sendFailedSoon();
    this.#failedUnderWay = reports;
    const error = await this.#try(reports);
    this.#failedUnderWay = [];
    if (error === null) this.#answered(reports);
    else this.#failedAgain(reports, error.cause);
    this.#sendFailedSoon();
  }

  async #try(reports: readonly Report[]): Promise<{ readonly cause: unknown } | null> {
    try {
      await this.#options.send(reports);
      return null;
    } catch (cause) {
      return { cause };
    }
  }

  #answered(reports: readonly Report[]): void {
    this.#limit = Math.min(MAX_EXCHANGE, this.#limit * 2);
    this.#failures = 0;
    this.#nextAt = -Infinity;
    for (const report of reports) this.#failed.delete(report);
    this.#options.onAnswered(reports);
  }

  #failedAgain(reports: readonly Report[], error: unknown): void {
    this.#limit = 1;
    this.#pause();
    const [first] = reports;
    const alone = reports.length === 1 ? this.#failed.get(first!) : undefined;
    if (alone !== undefined) {
      const { clock, random } = this.#options;
      alone.tries++;
      alone.nextAt = clock.monotonic() + retryPauseMs(alone.tries, random());
    }
    this.#keep(reports, error);
    if (alone?.tries === 1 && this.#failed.has(first!)) this.#options.onFailedAlone(first!, error);
  }

  /** Puts them behind those that wait, so that these get their turn before. */
  #keep(reports: readonly Report[], error: unknown): void {
    const { clock, leaseMs, onGivenUp } = this.#options;
    const now = clock.monotonic();
    // A store that is away comes back, and then a report is still worth sending: nobody else could have taken the job either. Any other
    // error would come again for ever, so after the time of a lease the report is given up, and the job takes the road of a lost one.
    const isAway = error instanceof MillraceError && (error.code === "store_unavailable" || error.code === "store_full");
    const hopeless: Report[] = [];
    for (const report of reports) {
      const failed = this.#failed.get(report) ?? { since: now, tries: 0, nextAt: now };
      this.#failed.delete(report);
      if (this.#stopped || (!isAway && now - failed.since > leaseMs)) hopeless.push(report);
      else this.#failed.set(report, failed);
    }
    if (hopeless.length > 0) onGivenUp(hopeless, error);
  }

  #pause(): void {
    const { clock, random } = this.#options;
    this.#failures++;
    this.#nextAt = clock.monotonic() + retryPauseMs(this.#failures, random());
  }

  #sendFailedSoon(): void {
    if (this.#stopped || this.#failedUnderWay.length > 0 || this.#failed.size === 0) return;
    let nextAt = Infinity;
    for (const failed of this.#failed.values()) nextAt = Math.min(nextAt, failed.nextAt);
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(
      () => void this.#sendFailed(),
      Math.max(this.#nextAt, nextAt) - this.#options.clock.monotonic(),
    );
  }
}
