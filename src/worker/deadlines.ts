import type { Clock, Timer } from "../lib/clock.ts";

export interface HasDeadline {
  /** By the monotonic clock; Infinity is never. */
  readonly deadlineAt: number;
  /** Called once the deadline has passed: must move it on or take the item away. Must not throw. */
  onDeadline(): void;
}

/**
 * ONE TIMER FOR ALL DEADLINES. It is armed for the earliest deadline there was. Most items end long before theirs, and nothing is done
 * about that: the timer fires, finds none that is due, and is armed for the earliest of those that are left. So an item costs one
 * comparison, and a look over all of them happens about once in the shortest timeout. (A timer an item costs 0.5 µs, a heap likewise.)
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

  /** To be told of every deadline that is new or came nearer. */
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
