import { AFTER_GRACE_MS } from "../core/work-limits.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Attempts } from "./attempts.ts";

/** How long before the end of the grace period handlers are aborted. */
const ABORT_BEFORE_MS = 5000;

/**
 * THE STEPS OF A STOPPING WORKER: let handlers finish, abort them 5 s before the grace ends (at half of a grace below 10 s, so that a short one
 * leaves time for both), give them up at its end, and wait a little for the store. Each step can be made earlier, never later.
 */
export class Shutdown {
  /** Resolves when there is no time left, even if the store has not accepted everything. */
  readonly outOfTime: Promise<void>;
  readonly #clock: Clock;
  readonly #afterGraceMs: number;
  readonly #steps: readonly { readonly afterMs: (graceMs: number) => number; readonly run: () => void; at: number; done: boolean }[];
  #timer: Timer | null = null;
  #over = false;

  /** `afterGraceMs`: how long to wait for the store. */
  constructor(clock: Clock, attempts: Pick<Attempts, "abort" | "giveUp">, afterGraceMs: number = AFTER_GRACE_MS) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.outOfTime = promise;
    this.#clock = clock;
    this.#afterGraceMs = afterGraceMs;
    this.#steps = [
      {
        afterMs: (graceMs) => graceMs - Math.min(ABORT_BEFORE_MS, Math.floor(graceMs / 2)),
        run: () => attempts.abort(),
        at: Infinity,
        done: false,
      },
      { afterMs: (graceMs) => graceMs, run: () => this.#giveUp(attempts), at: Infinity, done: false },
      { afterMs: (graceMs) => graceMs + afterGraceMs, run: resolve, at: Infinity, done: false },
    ];
  }

  /** How long it has waited for the store and for nothing else. */
  get waitedMs(): number {
    return Math.max(0, this.#clock.monotonic() - this.#steps[1]!.at);
  }

  endAfter(graceMs: number): void {
    const now = this.#clock.monotonic();
    for (const step of this.#steps) step.at = Math.min(step.at, now + step.afterMs(graceMs));
    this.#runDue();
  }

  /** The worker has stopped: no more steps, even if it is told to stop again. */
  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  /** After a long delay (a blocked event loop, a suspended process) there must still be time to report. */
  #giveUp(attempts: Pick<Attempts, "giveUp">): void {
    const last = this.#steps.at(-1)!;
    last.at = Math.max(last.at, this.#clock.monotonic() + this.#afterGraceMs);
    attempts.giveUp();
  }

  /** Runs the steps that are due and waits for the next. */
  #runDue(): void {
    this.#timer?.cancel();
    if (this.#over) return;
    const now = this.#clock.monotonic();
    for (const step of this.#steps) {
      if (step.done) continue;
      if (step.at > now) {
        this.#timer = this.#clock.setTimer(() => this.#runDue(), step.at - now);
        return;
      }
      step.done = true;
      step.run();
    }
  }
}
