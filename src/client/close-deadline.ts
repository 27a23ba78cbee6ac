import { LAST_CALLS_MS } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";

const USUAL_GRACE_MS = 30_000;

/**
 * HOW LONG A CLOSING CLIENT WAITS for a store that may not answer: for calls in progress until the grace period ends, then half a second for
 * everything else. Workers have a grace period of their own; this one starts when the last of them has stopped. What the store made a worker
 * wait at its end is part of that half second. The deadline can be shortened, never extended.
 */
export class CloseDeadline {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #graceEndsAt = Infinity;
  #hasBegun = false;
  #lastCallsMs = LAST_CALLS_MS;
  #timer: Timer | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts when the wait is over. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  endAfter(graceMs: number = USUAL_GRACE_MS): void {
    this.#graceEndsAt = Math.min(this.#graceEndsAt, this.#clock.monotonic() + graceMs);
    if (this.#hasBegun) this.#arm();
  }

  /** `waitedMs`: how long the store has just made a worker wait at its end. */
  begin(waitedMs: number): void {
    this.#hasBegun = true;
    this.#lastCallsMs = Math.max(0, LAST_CALLS_MS - waitedMs);
    this.#arm();
  }

  /** Resolves when the work has succeeded or failed, or the wait is over. */
  async waitFor(work: Promise<unknown> | undefined): Promise<void> {
    if (work === undefined || this.over.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = (): void => resolve();
    this.over.addEventListener("abort", finish);
    work.then(finish, finish);
    await promise;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer?.cancel();
    const leftMs = Math.max(0, this.#graceEndsAt - this.#clock.monotonic());
    this.#timer = this.#clock.setTimer(() => this.#over.abort(), leftMs + this.#lastCallsMs);
  }
}
