/**
 * WHETHER THE STORE ANSWERS, told without waiting for it: GET /health says what the last look saw. The first look is made when the server is,
 * so that a slow first connection is there before anybody asks. Looks go on by themselves for as long as somebody asks now and then, so that
 * what is told is never old; without questions no timer keeps the process.
 *
 * While a look is under way, what the last one saw holds, until the look is older than a store may take.
 */
import type { Client } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { atMost, type Clock, type Timer } from "../lib/clock.ts";
import { PROBE } from "./health.ts";

/** How often it looks. */
const LOOK_EVERY_MS = 2000;
/** What was seen longer ago than this is not known any more. */
const FRESH_MS = 5000;
/** So long a look may take; one that takes longer has seen a store that does not answer. */
const LOOK_MS = 5000;
/** Looks go on for so long after the last question. A health check that comes every few minutes finds them under way. */
const ASKED_MS = 600_000;
/** So long one who asks is kept at most, when nothing is known yet. */
const PATIENCE_MS = 100;

export class StoreCheck {
  readonly #leases: Client["leases"];
  readonly #clock: Clock;
  #last: { readonly answers: boolean; readonly at: number } | null = null;
  #askedAt = -Infinity;
  #looking: { readonly since: number; readonly answers: Promise<boolean> } | null = null;
  #timer: Timer | null = null;
  #isStopped = false;

  constructor({ leases }: Pick<Client, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Makes the first look. */
  start(): void {
    void this.#look();
  }

  /** Whether the store answers, by the last look. Never waits for the store for longer than a moment. */
  async answers(): Promise<boolean> {
    this.#askedAt = this.#clock.monotonic();
    this.#watch();
    return this.#known() ?? (await atMost(this.#clock, PATIENCE_MS, this.#look())) ?? this.#lastWhileLooking() ?? false;
  }

  /** No more looks. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Null: it has to be looked. */
  #known(): boolean | null {
    const last = this.#last;
    return last !== null && this.#clock.monotonic() - last.at < FRESH_MS ? last.answers : null;
  }

  #lastWhileLooking(): boolean | null {
    if (this.#last === null || this.#looking === null || this.#clock.monotonic() - this.#looking.since >= LOOK_MS) return null;
    return this.#last.answers;
  }

  #watch(): void {
    if (this.#timer !== null || this.#isStopped) return;
    void this.#look();
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = null;
      if (this.#clock.monotonic() - this.#askedAt < ASKED_MS) this.#watch();
    }, LOOK_EVERY_MS);
  }

  /** One at a time: while the store is away, looks do not pile up before it. */
  #look(): Promise<boolean> {
    if (this.#looking !== null) return this.#looking.answers;
    const since = this.#clock.monotonic();
    const answers = this.#try(since).finally(() => (this.#looking = null));
    this.#looking = { since, answers };
    return answers;
  }

  async #try(since: number): Promise<boolean> {
    let answers = false;
    try {
      await this.#leases.exchange([], PROBE);
      answers = this.#clock.monotonic() - since < LOOK_MS;
    } catch (error) {
      // A closed client answers nobody again: the timer must not keep its process.
      if (error instanceof MillraceError && error.code === "closed") this.stop();
    }
    this.#last = { answers, at: this.#clock.monotonic() };
    return answers;
  }
}
