import { AFTER_GRACE_MS } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Attempts } from "./attempts.ts";

/** So long before the end of the grace handlers are told. */
const TOLD_BEFORE_MS = 5000;

/**
 * When a stopping worker does what: let handlers finish, abort them 5 s before the grace ends (at half of a grace below 10 s, so that a short
 * one leaves time for both), give them up at its end, and wait a second for the store. Each of these can be drawn nearer, never put off.
 */
export class Shutdown {
  /** Resolves when there is no time left, also if the store did not take what was given back. */
  readonly outOfTime: Promise<void>;
  readonly #clock: Clock;
  readonly #afterGraceMs: number;
  readonly #steps: readonly { readonly afterMs: (graceMs: number) => number; readonly run: () => void; at: number; done: boolean }[];
  #timer: Timer | null = null;
  #over = false;

  /** `afterGraceMs`: how long the store is waited for, if not a second. */
  constructor(clock: Clock, attempts: Pick<Attempts, "abort" | "giveUp">, afterGraceMs: number = AFTER_GRACE_MS) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.outOfTime = promise;
    this.#clock = clock;
    this.#afterGraceMs = afterGraceMs;
    this.#steps = [
      {
        afterMs: (graceMs) => graceMs - Math.min(TOLD_BEFORE_MS, Math.floor(graceMs / 2)),
        run: () => attempts.abort(),
        at: Infinity,
        done: false,
      },
      { afterMs: (graceMs) => graceMs, run: () => this.#giveUp(attempts), at: Infinity, done: false },
      { afterMs: (graceMs) => graceMs + afterGraceMs, run: resolve, at: Infinity, done: false },
    ];
  }

  endAfter(graceMs: number): void {
    const now = this.#clock.monotonic();
    for (const step of this.#steps) step.at = Math.min(step.at, now + step.afterMs(graceMs));
    this.#walk();
  }

  /** The worker has stopped: nothing is left to wait for, also when it is asked to stop again. */
  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  /** Whoever was held up until long after the end (a blocked loop, a stopped process) has something to say all the same. */
  #giveUp(attempts: Pick<Attempts, "giveUp">): void {
    const last = this.#steps.at(-1)!;
    last.at = Math.max(last.at, this.#clock.monotonic() + this.#afterGraceMs);
    attempts.giveUp();
  }

  /** Takes the steps whose time has come and waits for the next. */
  #walk(): void {
    this.#timer?.cancel();
    if (this.#over) return;
    const now = this.#clock.monotonic();
    for (const step of this.#steps) {
      if (step.done) continue;
      if (step.at > now) {
        this.#timer = this.#clock.setTimer(() => this.#walk(), step.at - now);
        return;
      }
      step.done = true;
      step.run();
    }
  }
}
