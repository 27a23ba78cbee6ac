import type { Clock, Timer } from "../lib/clock.ts";
import { SETTLE_MS } from "./execute.ts";

/** Beyond the grace, so long may the last words to the store take. */
const LAST_WORDS_MS = 2000;

export interface ShutdownSteps {
  /** 5 s before the end: tell the handlers. */
  readonly abort: () => void;
  /** At the end: give back what is unfinished. */
  readonly giveUp: () => void;
}

/**
 * When a stopping worker does what: let handlers finish, abort them 5 s before the grace ends (at once if it is shorter), give them up at its
 * end. The end can be drawn nearer, never put off.
 */
export class Shutdown {
  /** Resolves when there is no time left, also if the store did not take what was given back. */
  readonly outOfTime: Promise<void>;
  readonly #clock: Clock;
  readonly #steps: readonly { readonly beforeEndMs: number; readonly run: () => void; done: boolean }[];
  #endAt = Infinity;
  #timer: Timer | null = null;
  #over = false;

  constructor(clock: Clock, { abort, giveUp }: ShutdownSteps) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.outOfTime = promise;
    this.#clock = clock;
    this.#steps = [
      { beforeEndMs: SETTLE_MS, run: abort, done: false },
      { beforeEndMs: 0, run: giveUp, done: false },
      { beforeEndMs: -LAST_WORDS_MS, run: resolve, done: false },
    ];
  }

  endAfter(graceMs: number): void {
    this.#endAt = Math.min(this.#endAt, this.#clock.monotonic() + graceMs);
    this.#walk();
  }

  /** The worker has stopped: nothing is left to wait for, also when it is asked to stop again. */
  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  /** Takes the steps whose time has come and waits for the next. */
  #walk(): void {
    this.#timer?.cancel();
    if (this.#over) return;
    const now = this.#clock.monotonic();
    for (const step of this.#steps) {
      if (step.done) continue;
      const waitMs = this.#endAt - step.beforeEndMs - now;
      if (waitMs > 0) {
        this.#timer = this.#clock.setTimer(() => this.#walk(), waitMs);
        return;
      }
      step.done = true;
      step.run();
    }
  }
}
