import type { Clock } from "../../lib/clock.ts";
import { sleep } from "../../lib/clock.ts";

export interface GateOptions {
  readonly clock: Clock;
  /** Makes a connection and gives it back. */
  readonly connect: () => Promise<void>;
  /** Whether an error says that nobody takes connections there at the moment. Any other one is for those who wait to see for themselves. */
  readonly isClosedBy: (error: unknown) => boolean;
  /** How long to wait after so many tries that failed. */
  readonly pauseMs: (failures: number) => number;
}

/**
 * WHO TRIES TO CONNECT while a server takes no connections: one for all. Without it every call that waits would try by itself, and a hundred of them
 * would try a hundred times a second.
 *
 *   open ─→ closed       a connection could not be made
 *   closed ─→ open       a try, with pauses that grow between tries, succeeded
 *
 * Nobody tries when nobody waits.
 */
export class Gate {
  readonly #options: GateOptions;
  /** Those who wait; each leaves when its time is over, and nothing of it stays behind however long the gate is closed. */
  readonly #waiting = new Set<() => void>();
  #isOpen = true;
  #isTrying = false;
  #failures = 0;
  #lastError: unknown = null;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Why the last try failed. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /** A connection could not be made. */
  failed(reason: unknown): void {
    if (!this.#options.isClosedBy(reason)) return;
    this.#lastError = reason;
    this.#isOpen = false;
  }

  /** Resolves when the gate is open, or at once when the signal aborts: the caller looks at the signal to tell which. */
  async pass(signal: AbortSignal): Promise<void> {
    if (this.#isOpen || signal.aborted) return;
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
    while (!this.#isOpen && (await this.#isStillWanted())) {
      try {
        await this.#options.connect();
        this.#open();
      } catch (error) {
        this.#lastError = error;
        this.#failures++;
        if (!this.#options.isClosedBy(error)) this.#open();
      }
    }
    this.#isTrying = false;
  }

  /** After the pause: whether somebody waits. The pause is kept also by those who come after all others have left. */
  async #isStillWanted(): Promise<boolean> {
    const { clock, pauseMs } = this.#options;
    await sleep(clock, pauseMs(this.#failures));
    return this.#waiting.size > 0;
  }

  #open(): void {
    this.#failures = 0;
    this.#isOpen = true;
    for (const leave of this.#waiting) leave();
  }
}
