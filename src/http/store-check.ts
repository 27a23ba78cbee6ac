/**
 * WHETHER THE STORE ANSWERS, without waiting for it: GET /health gives the result of the last probe. The first probe is made with the server,
 * so that a slow first connection is there before anybody asks. Probes repeat while somebody asks now and then, so that the result is never
 * old; without questions, no timer keeps the process alive.
 *
 * While a probe is running, the last result counts, until the probe takes longer than a store may.
 */
import type { WorkerClient } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { atMost, type Clock, type Timer } from "../lib/clock.ts";
import { PROBE } from "./health.ts";

/** How often it probes. */
const PROBE_EVERY_MS = 2000;
/** How long a result counts. */
const FRESH_MS = 5000;
/** How long a probe may take; after that, the store does not answer. */
const MAX_PROBE_MS = 5000;
/** How long probes repeat after the last question. A health check every few minutes keeps them going. */
const ASKED_MS = 600_000;
/** The longest that an answer waits for a probe, if nothing is known yet. */
const MAX_WAIT_MS = 100;

export class StoreCheck {
  readonly #leases: WorkerClient["leases"];
  readonly #clock: Clock;
  #last: { readonly answers: boolean; readonly at: number } | null = null;
  #askedAt = -Infinity;
  #probing: { readonly since: number; readonly answers: Promise<boolean> } | null = null;
  #timer: Timer | null = null;
  #isStopped = false;

  constructor({ leases }: Pick<WorkerClient, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Makes the first probe. */
  start(): void {
    void this.#probe();
  }

  /** Whether the store answers, by the last probe. Waits for the store only for a moment. */
  async answers(): Promise<boolean> {
    this.#askedAt = this.#clock.monotonic();
    this.#watch();
    return this.#known() ?? (await atMost(this.#clock, MAX_WAIT_MS, this.#probe())) ?? this.#lastWhileProbing() ?? false;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Null: a probe is needed. */
  #known(): boolean | null {
    const last = this.#last;
    return last !== null && this.#clock.monotonic() - last.at < FRESH_MS ? last.answers : null;
  }

  #lastWhileProbing(): boolean | null {
    if (this.#last === null || this.#probing === null || this.#clock.monotonic() - this.#probing.since >= MAX_PROBE_MS) return null;
    return this.#last.answers;
  }

  #watch(): void {
    if (this.#timer !== null || this.#isStopped) return;
    void this.#probe();
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = null;
      if (this.#clock.monotonic() - this.#askedAt < ASKED_MS) this.#watch();
    }, PROBE_EVERY_MS);
  }

  /** One at a time: while the store is away, probes do not pile up. */
  #probe(): Promise<boolean> {
    if (this.#probing !== null) return this.#probing.answers;
    const since = this.#clock.monotonic();
    const answers = this.#try(since).finally(() => (this.#probing = null));
    this.#probing = { since, answers };
    return answers;
  }

  async #try(since: number): Promise<boolean> {
    let answers = false;
    try {
      await this.#leases.exchange([], PROBE);
      answers = this.#clock.monotonic() - since < MAX_PROBE_MS;
    } catch (error) {
      // A closed client never answers again: the timer must not keep its process alive.
      if (error instanceof MillraceError && error.code === "closed") this.stop();
    }
    this.#last = { answers, at: this.#clock.monotonic() };
    return answers;
  }
}
