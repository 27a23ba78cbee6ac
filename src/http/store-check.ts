/**
 * WHETHER THE STORE ANSWERS, told without waiting for it: GET /health says what the last look saw. Looks go on by themselves for as long as
 * somebody asks now and then, so that what is told is never old.
 */
import type { Client } from "../client/client.ts";
import { MillraceError } from "../core/errors.ts";
import { atMost, type Clock, type Timer } from "../lib/clock.ts";
import { PROBE } from "./health.ts";

/** How often it looks. */
const LOOK_EVERY_MS = 2000;
/** What was seen longer ago than this is not known any more: the look since then has not come back. */
const FRESH_MS = 5000;
/** Looks go on for so long after the last question. A health check that comes once a minute finds them under way. */
const ASKED_MS = 90_000;
/** So long one who asks is kept at most, when nothing is known yet. */
const PATIENCE_MS = 100;

export class StoreCheck {
  readonly #leases: Client["leases"];
  readonly #clock: Clock;
  #last: { readonly answers: boolean; readonly at: number } | null = null;
  #askedAt = -Infinity;
  #looking: Promise<boolean> | null = null;
  #timer: Timer | null = null;
  #isStopped = false;

  constructor({ leases }: Pick<Client, "leases">, clock: Clock) {
    this.#leases = leases;
    this.#clock = clock;
  }

  /** Whether the store answered at the last look. Never waits for the store for longer than a moment. */
  async answers(): Promise<boolean> {
    this.#askedAt = this.#clock.monotonic();
    this.#watch();
    const known = this.#known();
    if (known !== null) return known;
    return (await atMost(this.#clock, PATIENCE_MS, this.#look())) ?? false;
  }

  /** No more looks. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #known(): boolean | null {
    const last = this.#last;
    return last === null || this.#clock.monotonic() - last.at >= FRESH_MS ? null : last.answers;
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
    this.#looking ??= this.#try().finally(() => (this.#looking = null));
    return this.#looking;
  }

  async #try(): Promise<boolean> {
    let answers = true;
    try {
      await this.#leases.exchange([], PROBE);
    } catch (error) {
      answers = false;
      // A closed client answers nobody again: the timer must not keep its process.
      if (error instanceof MillraceError && error.code === "closed") this.stop();
    }
    this.#last = { answers, at: this.#clock.monotonic() };
    return answers;
  }
}
