import type { Clock } from "../../lib/clock.ts";

/** The store's time, in whole milliseconds. It never goes back, and it goes on if somebody sets the machine's clock back. */
export class StoreTime {
  readonly #clock: Clock;
  #last: number;
  /** The monotonic clock at the time of #last. */
  #lastMonotonic: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#last = Math.floor(clock.now());
    this.#lastMonotonic = clock.monotonic();
  }

  now(): number {
    const wall = Math.floor(this.#clock.now());
    const monotonic = this.#clock.monotonic();
    const passed = Math.floor(monotonic - this.#lastMonotonic);
    if (wall >= this.#last + passed) {
      this.#last = wall;
      this.#lastMonotonic = monotonic;
    } else {
      // Only whole milliseconds were added; the rest counts later.
      this.#last += passed;
      this.#lastMonotonic += passed;
    }
    return this.#last;
  }
}
