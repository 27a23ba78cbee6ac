import { AFTER_GRACE_MS } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";

const USUAL_GRACE_MS = 30_000;

/**
 * HOW LONG A CLOSING CLIENT WAITS for a store that may not answer: for calls in progress until the grace period ends, then one second for
 * everything else. Workers have a grace period of their own; this one starts when the last of them has stopped. If the store already let the
 * last second of a worker pass, no second is added. The deadline can be shortened, never extended.
 */
export class CloseDeadline {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #graceEndsAt = Infinity;
  #hasBegun = false;
  #isSilent = false;
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

  /** `isSilent`: the store did not answer in the last second of a worker. */
  begin(isSilent: boolean): void {
    this.#hasBegun = true;
    this.#isSilent = isSilent;
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
    this.#timer = this.#clock.setTimer(() => this.#over.abort(), leftMs + (this.#isSilent ? 0 : AFTER_GRACE_MS));
  }
}
