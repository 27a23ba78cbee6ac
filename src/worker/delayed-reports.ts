import type { Report } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { atMost, type Clock, type Timer } from "../lib/clock.ts";

/** The most reports, and the most claimed jobs, that one exchange carries. */
export const MAX_EXCHANGE = 1000;

export interface DelayedReportsOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly leaseMs: number;
  /** Sends these, and nothing with them. Answers those that somebody's transaction holds up. */
  readonly send: (reports: readonly Report[]) => Promise<readonly Report[]>;
  /** The store has answered, and these are done. Must not throw. */
  readonly onAnswered: (reports: readonly Report[]) => void;
  /** A report cannot be made although nothing travelled with it. It is tried again. Told once for each. Must not throw. */
  readonly onStuck: (report: Report, error: unknown) => void;
  /** These are hopeless. Must not throw. */
  readonly onGivenUp: (reports: Report[], error: unknown) => void;
}

type Kind = "suspected" | "failed" | "held";

/** What is known of a report. */
interface Delayed {
  kind: Kind;
  isUnderWay: boolean;
  /** When it first failed or was held up. */
  since: number | null;
  /** How often it failed alone, or was held up. */
  tries: number;
  /** Not before this time of the monotonic clock. */
  nextAt: number;
  isTold: boolean;
}

/** A call of one report that takes longer than this is not waited for: the store waits for a row that somebody holds, for as long as it may. */
const ALONE_MS = 500;

/** A report that was held up for so long is told. */
const HELD_TOLD_MS = 5000;

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

/**
 * REPORTS THAT TRAVEL WITHOUT A CLAIM, so that no claim waits for the row of a job that somebody else has locked:
 *
 *   suspected ─→ answered                       a handler's own transaction may hold the row. All that wait go in one call
 *       ├─→ failed ─→ answered                  the call failed: alone, one at a time, each with pauses of its own that grow
 *       │      └─→ given up                     another error than that the store is away, for as long as a lease lasts
 *       └─→ held ─→ answered                    somebody holds the row, or the store gave no answer to it alone. All that are held go in one
 *                                               call, which tells those that are free from those that are not
 *
 * Each kind has calls of its own, so that no report waits for one of another kind. A report that is alone in its call is waited for by the
 * store, if its row is held, until the deadline: the next one of its kind does not wait for it.
 *
 * When the store was away, all that was reported meanwhile has failed, and would take long one by one. So each call that succeeds may be
 * followed by one of twice as many; a failure ends that.
 */
export class DelayedReports {
  readonly #options: DelayedReportsOptions;
  readonly #reports = new Map<Report, Delayed>();
  /** The kinds of which a call is under way that the next one waits for. */
  readonly #busy = new Set<Kind>();
  readonly #timers = new Map<Kind, Timer>();
  /** How many failed reports may go in one call. */
  #limit = 1;
  #failures = 0;
  /** Nothing that failed goes before this time: if the store is away, every report fails. */
  #nextAt = -Infinity;
  #flushing = false;
  #stopped = false;

  constructor(options: DelayedReportsOptions) {
    this.#options = options;
  }

  /** How many wait or are under way. */
  get size(): number {
    return this.#reports.size;
  }

  /** Takes one that may have to wait for its job's row. It leaves at the end of this tick, with others of its kind. */
  suspect(report: Report): void {
    this.#reports.set(report, { kind: "suspected", isUnderWay: false, since: null, tries: 0, nextAt: -Infinity, isTold: false });
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      void this.#send("suspected");
    });
  }

  /** Takes what failed in company. */
  failed(reports: readonly Report[], error: unknown): void {
    this.#keep(reports, "failed", error);
    this.#pause();
    this.#sendLater("failed");
  }

  /** Takes what somebody holds up. */
  held(reports: readonly Report[]): void {
    const error = heldUp();
    this.#putOff(reports);
    this.#keep(reports, "held", error);
    const now = this.#options.clock.monotonic();
    for (const report of reports) {
      const delayed = this.#reports.get(report);
      if (delayed !== undefined && now - delayed.since! >= HELD_TOLD_MS) this.#tell(report, error);
    }
    this.#sendLater("held");
  }

  /** The store has answered somebody: what waits because it was away need not wait any more. */
  storeAnswered(): void {
    if (this.#failures === 0) return;
    this.#failures = 0;
    this.#nextAt = -Infinity;
    this.#sendLater("failed");
  }

  /** Nothing is sent any more. Answers what waited; what is under way is given up when it fails. */
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
    // Those that are held up go on together, so the next call waits for this one.
    await (reports.length === 1 && kind !== "held" ? atMost(this.#options.clock, ALONE_MS, done) : done);
    this.#busy.delete(kind);
    if (kind === "suspected") void this.#send(kind);
    else this.#sendLater(kind);
  }

  /** What goes in the next call of a kind. */
  #take(kind: Kind): Report[] {
    const now = this.#options.clock.monotonic();
    const most = kind === "failed" ? this.#limit : MAX_EXCHANGE;
    const reports: Report[] = [];
    for (const [report, delayed] of this.#reports) {
      // When one that is held is due, all are asked for: that costs one call, and alone each would be waited for.
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
    // What was only suspected is asked for once more before anybody is told.
    const isStuck = isAlone && kind !== "suspected";
    if (isStuck) this.#putOff(reports);
    this.#keep(reports, isAlone && isAway(error) ? "held" : "failed", error);
    if (isStuck) this.#tell(reports[0]!, error);
    this.#sendLater("failed");
    this.#sendLater("held");
  }

  #tell(report: Report, error: unknown): void {
    const delayed = this.#reports.get(report);
    if (delayed === undefined || delayed.isTold) return;
    delayed.isTold = true;
    this.#options.onStuck(report, error);
  }

  /** Each waits longer than the last time. */
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
      delayed = { kind: "failed", isUnderWay: false, since: now, tries: 0, nextAt: now, isTold: false };
      this.#reports.set(report, delayed);
    }
    return delayed;
  }

  /** Puts them behind those that wait, so that these get their turn before. */
  #keep(reports: readonly Report[], kind: Kind, error: unknown): void {
    const now = this.#options.clock.monotonic();
    const hopeless: Report[] = [];
    for (const report of reports) {
      const delayed = this.#delayedOf(report);
      delayed.kind = kind;
      delayed.since ??= now;
      this.#reports.delete(report);
      // A store that is away comes back, and then a report is still worth sending: nobody else could have taken the job either. Any other
      // error would come again for ever, so after the time of a lease the report is given up, and the job takes the road of a lost one.
      if (this.#stopped || (!isAway(error) && now - delayed.since > this.#options.leaseMs)) hopeless.push(report);
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

function isAway(error: unknown): boolean {
  return error instanceof MillraceError && (error.code === "store_unavailable" || error.code === "store_full");
}

/** How long to wait after so many failures in a row. `random`, in [0, 1), spreads workers that failed together. */
export function retryPauseMs(failures: number, random: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}

/** What the answer `locked` is as an error: nothing was changed, and it may be asked for again. */
export function heldUp(): MillraceError {
  return new MillraceError("store_unavailable", "another transaction that is still open holds the job", { retryAfterMs: 1000 });
}
