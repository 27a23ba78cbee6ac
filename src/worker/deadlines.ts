import type { Clock, Timer } from "../lib/clock.ts";

export interface HasDeadline {
  /** Monotonic time; Infinity for none. */
  readonly deadlineAt: number;
  /** Called once the deadline has passed: must change it or remove the item. Must not throw. */
  onDeadline(): void;
}

/**
 * ONE TIMER FOR ALL DEADLINES, set to the earliest. Most items end long before their deadline, and the timer then stays as it is: when it
 * fires, it is set to the earliest deadline that is left. So an item costs one comparison, and a look at all of them is needed about once in
 * the shortest timeout. (A timer for each item costs 0.5 µs, and so does a heap.)
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #items: Iterable<HasDeadline>;
  #armedFor = Infinity;
  #timer: Timer | null = null;

  constructor(clock: Clock, items: Iterable<HasDeadline>) {
    this.#clock = clock;
    this.#items = items;
  }

  /** Call this for every deadline that is new or became earlier. */
  watch(deadlineAt: number): void {
    if (deadlineAt >= this.#armedFor) return;
    this.#armedFor = deadlineAt;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(() => this.#sweep(), deadlineAt - this.#clock.monotonic());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#armedFor = -Infinity;
  }

  #sweep(): void {
    this.#armedFor = Infinity;
    const now = this.#clock.monotonic();
    let earliest = Infinity;
    for (const item of this.#items) {
      if (item.deadlineAt <= now) item.onDeadline();
      earliest = Math.min(earliest, item.deadlineAt);
    }
    this.watch(earliest);
  }
}
