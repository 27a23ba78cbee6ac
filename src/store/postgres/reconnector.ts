import type { Clock } from "../../lib/clock.ts";
import { sleep } from "../../lib/clock.ts";

export interface ReconnectorOptions {
  readonly clock: Clock;
  /** Makes a connection and returns it to the pool. */
  readonly connect: () => Promise<void>;
  /** Whether the error means that the server takes no connections now. Other errors are left to the waiting calls. */
  readonly meansUnreachable: (error: unknown) => boolean;
  /** How long to wait after this many failed tries. */
  readonly pauseMs: (failures: number) => number;
}

/**
 * ONE RECONNECT FOR ALL CALLS while a server takes no connections. Otherwise each waiting call would try by itself: a hundred calls, a
 * hundred tries a second.
 *
 *   reachable ─→ unreachable     a connection could not be made
 *   unreachable ─→ reachable     a try succeeded, with growing pauses between tries
 *
 * It only tries while a call waits.
 */
export class Reconnector {
  readonly #options: ReconnectorOptions;
  /** The waiting calls; each leaves when its time is over, and nothing of it stays behind. */
  readonly #waiting = new Set<() => void>();
  #isReachable = true;
  #isTrying = false;
  #failures = 0;
  #lastError: unknown = null;

  constructor(options: ReconnectorOptions) {
    this.#options = options;
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  get lastError(): unknown {
    return this.#lastError;
  }

  failed(reason: unknown): void {
    if (!this.#options.meansUnreachable(reason)) return;
    this.#lastError = reason;
    this.#isReachable = false;
  }

  /** Resolves when the server is reachable, or when the signal aborts: the caller checks the signal. */
  async untilReachable(signal: AbortSignal): Promise<void> {
    if (this.#isReachable || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = (): void => resolve();
    signal.addEventListener("abort", leave);
    this.#waiting.add(leave);
    if (!this.#isTrying) void this.#tryToConnect();
    await promise;
    signal.removeEventListener("abort", leave);
    this.#waiting.delete(leave);
  }

  async #tryToConnect(): Promise<void> {
    this.#isTrying = true;
    while (!this.#isReachable && (await this.#isStillWanted())) {
      try {
        await this.#options.connect();
        this.#setReachable();
      } catch (error) {
        this.#lastError = error;
        this.#failures++;
        if (!this.#options.meansUnreachable(error)) this.#setReachable();
      }
    }
    this.#isTrying = false;
  }

  /** Waits for the pause, then tells whether a call waits. The pause also applies to calls that come after all others have left. */
  async #isStillWanted(): Promise<boolean> {
    const { clock, pauseMs } = this.#options;
    await sleep(clock, pauseMs(this.#failures));
    return this.#waiting.size > 0;
  }

  #setReachable(): void {
    this.#failures = 0;
    this.#isReachable = true;
    for (const leave of this.#waiting) leave();
  }
}
