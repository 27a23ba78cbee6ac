import type { Clock, Timer } from "./clock.ts";

/** Calls back once, at the earliest of the times that it was given. After that, it can be set again. */
export class EarliestTimer {
  readonly #clock: Clock;
  readonly #callback: () => void;
  #at = Infinity;
  #timer: Timer | null = null;

  constructor(clock: Clock, callback: () => void) {
    this.#clock = clock;
    this.#callback = callback;
  }

  /** Calls back in `ms`, unless it does so earlier. */
  set(ms: number): void {
    const at = this.#clock.monotonic() + ms;
    if (at >= this.#at) return;
    this.cancel();
    this.#at = at;
    this.#timer = this.#clock.setTimer(() => {
      this.cancel();
      this.#callback();
    }, ms);
  }

  /** How long until it calls back; null if it is not set. */
  get leftMs(): number | null {
    return this.#timer === null ? null : Math.max(0, Math.ceil(this.#at - this.#clock.monotonic()));
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#at = Infinity;
  }
}
