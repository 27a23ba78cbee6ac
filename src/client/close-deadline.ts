import { AFTER_GRACE_MS } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";

/** What is waited for when nothing is said about it. */
const USUAL_GRACE_MS = 30_000;

/**
 * HOW LONG A CLIENT THAT CLOSES WAITS for its store, which may be away: for calls under way until the grace is over, and then a second for all
 * the rest. Workers see to their own grace; it begins when the last of them has stopped. If the store did not answer these, their second was
 * this one, too. Its end can be drawn nearer, never put off.
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

  /** Aborts when nothing is waited for any more. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  endAfter(graceMs: number = USUAL_GRACE_MS): void {
    this.#graceEndsAt = Math.min(this.#graceEndsAt, this.#clock.monotonic() + graceMs);
    if (this.#hasBegun) this.#arm();
  }

  /** `isSilent`: the store let the last second of a worker pass. */
  begin(isSilent: boolean): void {
    this.#hasBegun = true;
    this.#isSilent = isSilent;
    this.#arm();
  }

  /** Resolves when the work is done, whatever came of it, or nothing is waited for any more. */
  async waitFor(work: Promise<unknown> | undefined): Promise<void> {
    if (work === undefined || this.over.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over.addEventListener("abort", () => resolve());
    work.then(
      () => resolve(),
      () => resolve(),
    );
    await promise;
  }

  /** All is done. */
  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer?.cancel();
    const leftMs = Math.max(0, this.#graceEndsAt - this.#clock.monotonic());
    this.#timer = this.#clock.setTimer(() => this.#over.abort(), leftMs + (this.#isSilent ? 0 : AFTER_GRACE_MS));
  }
}
