import type { Clock, Timer } from "../lib/clock.ts";

/** So long may the last words to the store take once the grace is over. */
const LAST_WORDS_MS = 2000;
/** What is waited for when nothing is said about it. */
const USUAL_GRACE_MS = 30_000;

/**
 * HOW LONG A CLIENT THAT CLOSES WAITS for its store, which may be away: until the grace is over, and a little longer. Workers see to their own
 * grace; it begins when the last of them has stopped. Its end can be drawn nearer, never put off.
 */
export class LastWords {
  readonly #clock: Clock;
  readonly #over = new AbortController();
  #graceEndsAt = Infinity;
  #hasBegun = false;
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

  begin(): void {
    this.#hasBegun = true;
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

  /** All is said. */
  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer?.cancel();
    const left = Math.max(0, this.#graceEndsAt - this.#clock.monotonic());
    this.#timer = this.#clock.setTimer(() => this.#over.abort(), left + LAST_WORDS_MS);
  }
}
