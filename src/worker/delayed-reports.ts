import type { Report } from "../client/client.ts";
import { isStoreTrouble, MillraceError } from "../core/errors.ts";
import { atMost, type Clock, type Timer } from "../lib/clock.ts";

/** The most reports, and the most claimed jobs, in one exchange. */
export const MAX_EXCHANGE = 1000;

export interface DelayedReportsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly leaseMs: number;
  /** Sends these reports alone. Returns those whose job another transaction has locked. */
  readonly send: (reports: readonly Report[]) => Promise<readonly Report[]>;
  /** The store has accepted these. Must not throw. */
  readonly onAnswered: (reports: readonly Report[]) => void;
  /** A report fails although it was sent alone. It is tried again. Called once for each. Must not throw. */
  readonly onStuck: (report: Report, error: unknown) => void;
  /** These will never succeed. Must not throw. */
  readonly onGivenUp: (reports: Report[], error: unknown) => void;
}

type Kind = "suspected" | "failed" | "held";

/** The state of a delayed report. */
interface Delayed {
  kind: Kind;
  isUnderWay: boolean;
  /** When it first failed or was locked. */
  since: number | null;
  /** How often it failed alone or was locked. */
  tries: number;
  /** Send it not before this monotonic time. */
  nextAt: number;
  isWarned: boolean;
}

/** A call with one report is not waited for longer than this: the store may be waiting for a locked row. */
const ALONE_MS = 500;

/** After this time a locked report is reported as trouble. */
const HELD_WARN_MS = 5000;

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

/**
 * REPORTS SENT WITHOUT A CLAIM, so that no claim waits for the locked row of a job:
 *
 *   suspected ─→ answered                       the handler's own transaction may hold the row. All of these go in one call
 *       ├─→ failed ─→ answered                  the call failed: sent one at a time, each with growing pauses
 *       │      └─→ given up                     an error other than an unreachable store, for longer than a lease
 *       └─→ held ─→ answered                    the row is locked, or the store did not answer when sent alone. All of these go in one call,
 *                                               which separates the free ones from the locked ones
 *
 * Each kind has its own calls, so that no report waits for one of another kind. If the row of a report that is alone in its call is locked, the
 * store waits until the deadline; the next report of its kind does not wait for that.
 *
 * While the store was unreachable, all reports failed; one by one they would take long. So after each successful call the next one may have
 * twice as many; a failure resets that.
 */
export class DelayedReports {
  readonly #options: DelayedReportsOptions;
  readonly #reports = new Map<Report, Delayed>();
  /** Kinds with a call in progress that the next one waits for. */
  readonly #busy = new Set<Kind>();
  readonly #timers = new Map<Kind, Timer>();
  /** How many failed reports may go in one call. */
  #limit = 1;
  #failures = 0;
  /** No failed report is sent before this time: if the store is unreachable, all of them fail. */
  #nextAt = -Infinity;
  #flushing = false;
  #stopped = false;

  constructor(options: DelayedReportsOptions) {
    this.#options = options;
  }

  /** How many wait or are being sent. */
  get size(): number {
    return this.#reports.size;
  }

  /** Takes a report that may have to wait for its job's row. It is sent at the end of this tick, with others of its kind. */
  suspect(report: Report): void {
    this.#reports.set(report, { kind: "suspected", isUnderWay: false, since: null, tries: 0, nextAt: -Infinity, isWarned: false });
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      void this.#send("suspected");
    });
  }

  /** Takes reports that failed together with others. */
  failed(reports: readonly Report[], error: unknown): void {
    this.#keep(reports, "failed", error);
    this.#pause();
    this.#sendLater("failed");
  }

  /** Takes reports whose row is locked. */
  held(reports: readonly Report[]): void {
    const error = heldUp();
    this.#putOff(reports);
    this.#keep(reports, "held", error);
    const now = this.#options.clock.monotonic();
    for (const report of reports) {
      const delayed = this.#reports.get(report);
      if (delayed !== undefined && now - delayed.since! >= HELD_WARN_MS) this.#warn(report, error);
    }
    this.#sendLater("held");
  }

  /** The store has answered a call, so failed reports need not wait any more. */
  storeAnswered(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#nextAt = -Infinity;
    this.#sendLater("failed");
  }

  /** Sends nothing more. Returns the waiting reports; one that is being sent is given up if it fails. */
  stop(): Report[] {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    const waiting = [...this.#reports].flatMap(([report, { isUnderWay }]) => (isUnderWay ? [] : [report]));
    for (const report of waiting) this.#reports.delete(report);
    return waiting;
  }

  async #send(kind: Kind): Promise<void> {
    const reports = this.#busy.has(kind) ? [] : this.#take(kind);
    if (reports.length === 0) return this.#sendLater(kind);
    this.#busy.add(kind);
    const done = this.#try(reports, kind);
    // Locked reports stay together, so the next call waits for this one.
    await (reports.length === 1 && kind !== "held" ? atMost(this.#options.clock, ALONE_MS, done) : done);
    this.#busy.delete(kind);
    if (kind === "suspected") void this.#send(kind);
    else this.#sendLater(kind);
  }

  /** The reports of the next call of a kind. */
  #take(kind: Kind): Report[] {
    const now = this.#options.clock.monotonic();
    const most = kind === "failed" ? this.#limit : MAX_EXCHANGE;
    const reports: Report[] = [];
    for (const [report, delayed] of this.#reports) {
      // When one locked report is due, all of them are sent: that is one call, and alone the store would wait for each.
      if (delayed.kind !== kind || delayed.isUnderWay || (kind === "failed" && delayed.nextAt > now)) continue;
      if (reports.push(report) >= most) break;
    }
    return reports;
  }

  /** Never rejects. */
  async #try(reports: readonly Report[], kind: Kind): Promise<void> {
    this.#setUnderWay(reports, true);
    try {
      const held = await this.#options.send(reports);
      this.#setUnderWay(reports, false);
      this.#answered(reports, held, kind);
    } catch (error) {
      this.#setUnderWay(reports, false);
      this.#failedAgain(reports, error, kind);
    }
  }

  #setUnderWay(reports: readonly Report[], isUnderWay: boolean): void {
    for (const report of reports) this.#reports.get(report)!.isUnderWay = isUnderWay;
  }

  #answered(reports: readonly Report[], held: readonly Report[], kind: Kind): void {
    if (kind === "failed") {
      this.#limit = Math.min(MAX_EXCHANGE, this.#limit * 2);
      this.#failures = 0;
      this.#nextAt = -Infinity;
    }
    if (held.length > 0) this.held(held);
    const isHeld = new Set(held);
    const done = reports.filter((report) => !isHeld.has(report));
    for (const report of done) this.#reports.delete(report);
    this.#options.onAnswered(done);
  }

  #failedAgain(reports: readonly Report[], error: unknown, kind: Kind): void {
    const isAlone = reports.length === 1;
    if (kind === "failed") this.#limit = 1;
    if (kind === "failed" || !isAlone) this.#pause();
    // A suspected report gets another try before anybody is warned.
    const isStuck = isAlone && kind !== "suspected";
    if (isStuck) this.#putOff(reports);
    this.#keep(reports, isAlone && isStoreTrouble(error) ? "held" : "failed", error);
    if (isStuck) this.#warn(reports[0]!, error);
    this.#sendLater("failed");
    this.#sendLater("held");
  }

  #warn(report: Report, error: unknown): void {
    const delayed = this.#reports.get(report);
    if (delayed === undefined || delayed.isWarned) return;
    delayed.isWarned = true;
    this.#options.onStuck(report, error);
  }

  /** Makes each wait longer than the last time. */
  #putOff(reports: readonly Report[]): void {
    const { clock, random } = this.#options;
    for (const report of reports) {
      const delayed = this.#delayedOf(report);
      delayed.tries++;
      delayed.nextAt = clock.monotonic() + retryPauseMs(delayed.tries, random());
    }
  }

  #delayedOf(report: Report): Delayed {
    const now = this.#options.clock.monotonic();
    let delayed = this.#reports.get(report);
    if (delayed === undefined) {
      delayed = { kind: "failed", isUnderWay: false, since: now, tries: 0, nextAt: now, isWarned: false };
      this.#reports.set(report, delayed);
    }
    return delayed;
  }

  /** Puts them behind those that wait. */
  #keep(reports: readonly Report[], kind: Kind, error: unknown): void {
    const now = this.#options.clock.monotonic();
    const hopeless: Report[] = [];
    for (const report of reports) {
      const delayed = this.#delayedOf(report);
      delayed.kind = kind;
      delayed.since ??= now;
      this.#reports.delete(report);
      // An unreachable store comes back, and then the report is still valid: nobody else could claim the job either. Any other error would repeat
      // for ever, so after the time of a lease the report is given up, and the attempt counts as lost.
      if (this.#stopped || (!isStoreTrouble(error) && now - delayed.since > this.#options.leaseMs)) hopeless.push(report);
      else this.#reports.set(report, delayed);
    }
    if (hopeless.length > 0) this.#options.onGivenUp(hopeless, error);
  }

  #pause(): void {
    const { clock, random } = this.#options;
    this.#failures++;
    this.#nextAt = clock.monotonic() + retryPauseMs(this.#failures, random());
  }

  #sendLater(kind: Kind): void {
    this.#timers.get(kind)?.cancel();
    if (this.#stopped || this.#busy.has(kind)) return;
    let nextAt = Infinity;
    for (const delayed of this.#reports.values()) {
      if (delayed.kind === kind && !delayed.isUnderWay) nextAt = Math.min(nextAt, delayed.nextAt);
    }
    if (nextAt === Infinity) return;
    if (kind === "failed") nextAt = Math.max(nextAt, this.#nextAt);
    const { clock } = this.#options;
    this.#timers.set(
      kind,
      clock.setTimer(() => void this.#send(kind), nextAt - clock.monotonic()),
    );
  }
}

/** The pause after this many failures in a row. `random`, in [0, 1), spreads workers that failed together. */
export function retryPauseMs(failures: number, random: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}

/** The answer `locked` as an error: nothing was changed, so try again. */
export function heldUp(): MillraceError {
  return new MillraceError("store_unavailable", "another open transaction has locked the job", { retryAfterMs: 1000 });
}
