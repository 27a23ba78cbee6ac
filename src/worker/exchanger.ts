import type { ClaimRequest, LeasedJob, Leases, Report } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { OnTrouble } from "../core/trouble.ts";

/** The most reports, and the most claimed jobs, that one exchange carries. */
export const MAX_EXCHANGE = 1000;

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

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
  /** Nothing waits and nothing is under way. */
  idle(): void;
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
 * applied is answered as success, and the repeat of a claim is given what the first was granted. While the store is away the reports wait;
 * there are never more of them than slots, because jobs come only with an exchange that succeeded.
 */
export class Exchanger {
  readonly #options: ExchangerOptions;
  #queue: Report[] = [];
  /** Claims that may have been granted without our knowing. Nothing new is claimed before they are answered. */
  #unanswered: ClaimRequest[] = [];
  #turn = 0;
  #underWay = 0;
  #slotsUnderWay = 0;
  #flushing = false;
  #failures = 0;
  #retry: Timer | null = null;
  #closed = false;
  /** Halved by each failure: a report that the store always chokes on ends up alone and does not take others with it. */
  #batchLimit = MAX_EXCHANGE;
  #failingSince = new Map<Report, number>();

  constructor(options: ExchangerOptions) {
    this.#options = options;
  }

  get healthy(): boolean {
    return this.#failures === 0;
  }

  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#underWay === 0 && this.#unanswered.length === 0;
  }

  report(report: Report): void {
    if (this.#closed) return this.#giveUp([report], null);
    this.#queue.push(report);
    this.flushSoon();
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

  /** Nothing is sent any more. What could not be reported until now will be seen as lost. */
  stop(): void {
    const unsaid = this.#queue;
    this.#queue = [];
    this.#unanswered = [];
    this.#closed = true;
    this.#retry?.cancel();
    this.#retry = null;
    this.#giveUp(unsaid, null);
  }

  #flush(): void {
    // After a failure one exchange at a time finds out whether the store is back.
    const inFlight = this.#failures === 0 ? this.#options.inFlight : 1;
    while (this.#underWay < inFlight && this.#retry === null && !this.#closed) {
      const lanes = inFlight - this.#underWay;
      const reports = this.#take(Math.ceil(this.#queue.length / lanes));
      const claim = this.#unanswered.shift() ?? this.#newClaim(reports.length > 0, lanes);
      if (reports.length === 0 && claim === null) return;
      void this.#send(reports, claim);
    }
  }

  #newClaim(reporting: boolean, lanes: number): ClaimRequest | null {
    const wish = this.#options.host.claim(reporting, this.#queue.length + this.#slotsUnderWay, lanes);
    return wish === null ? null : { ...wish, turn: ++this.#turn, again: false };
  }

  #take(share: number): Report[] {
    const count = Math.min(share, this.#batchLimit);
    if (count < this.#queue.length) return this.#queue.splice(0, count);
    const all = this.#queue;
    this.#queue = [];
    return all;
  }

  async #send(reports: Report[], claim: ClaimRequest | null): Promise<void> {
    const slots = Math.max(reports.length, claim?.limit ?? 0);
    this.#underWay++;
    this.#slotsUnderWay += slots;
    let jobs: readonly LeasedJob[] | null = null;
    try {
      ({ jobs } = await this.#options.leases.exchange(reports, claim));
    } catch (error) {
      if (claim !== null && !this.#closed) this.#unanswered.push({ ...claim, again: true });
      this.#failed(reports, error);
    }
    this.#underWay--;
    this.#slotsUnderWay -= slots;
    if (jobs !== null) this.#succeeded(reports, claim, jobs);
    if (this.isIdle) this.#options.host.idle();
    // Also with nothing to report: the worker may still be hungry.
    this.flushSoon();
  }

  #succeeded(reports: Report[], claim: ClaimRequest | null, jobs: readonly LeasedJob[]): void {
    this.#failures = 0;
    // Also when nothing fails any more: of two that failed, the first to go through has said so for both.
    if (this.#failingSince.size > 0) for (const report of reports) this.#failingSince.delete(report);
    this.#batchLimit = MAX_EXCHANGE;
    try {
      this.#options.host.answered(reports, claim, jobs);
    } catch (error) {
      this.#tellUnused(jobs, error);
    }
  }

  #failed(reports: Report[], error: unknown): void {
    if (this.#closed) return this.#giveUp(reports, error);
    if (error instanceof MillraceError && error.code === "closed") return this.#clientClosed(reports);
    if (this.#failures++ === 0) this.#tell(error);
    this.#batchLimit = Math.max(1, Math.floor(reports.length / 2));
    // Behind those that wait: if one of them is the culprit, the others get their turn before it.
    this.#queue.push(...this.#stillHopeful(reports, error));
    const delayMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.#failures - 1, 10));
    this.#retry?.cancel();
    this.#retry = this.#options.clock.setTimer(
      () => {
        this.#retry = null;
        this.flushSoon();
      },
      delayMs * (0.5 + this.#options.random() / 2),
    );
  }

  /**
   * A store that is away comes back, and then a report is still worth sending: nobody else could have taken the job either. Any other error
   * would come again for ever, so after the time of a lease the report is given up, and the job takes the road of a lost one.
   */
  #stillHopeful(reports: Report[], error: unknown): Report[] {
    if (error instanceof MillraceError && (error.code === "store_unavailable" || error.code === "store_full")) return reports;
    const now = this.#options.clock.monotonic();
    const hopeless = new Set<Report>();
    for (const report of reports) {
      const since = this.#failingSince.get(report) ?? now;
      this.#failingSince.set(report, since);
      if (now - since > this.#options.leaseMs) hopeless.add(report);
    }
    this.#giveUp([...hopeless], error);
    return reports.filter((report) => !hopeless.has(report));
  }

  #giveUp(reports: Report[], error: unknown): void {
    if (reports.length === 0) return;
    for (const report of reports) this.#failingSince.delete(report);
    const ids = reports.slice(0, 3).map((report) => report.id);
    const message = `the outcome of ${reports.length} jobs (${ids.join(", ")}) could not be reported; they will be seen as lost`;
    this.#options.onTrouble({ kind: "report", message, error });
    this.#options.host.givenUp(reports);
  }

  #tell(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.onTrouble({ kind: "store", message: `a worker cannot reach its store and keeps trying: ${reason}`, error });
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
