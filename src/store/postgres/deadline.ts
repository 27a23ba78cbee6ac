import type { Clock } from "../../lib/clock.ts";

/** The deadline of a call. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly #since: number;
  #timer: { cancel(): void };
  #endsMs: number;
  #expire: (() => void) | null = null;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#since = clock.monotonic();
    this.#endsMs = ms;
    this.#timer = clock.setTimer(() => this.expire(), ms);
  }

  /** Moves the deadline to `ms` after its start, if that is earlier. */
  endBy(ms: number): void {
    if (ms >= this.#endsMs) return;
    this.#endsMs = ms;
    this.#timer.cancel();
    const left = ms - (this.#clock.monotonic() - this.#since);
    if (left <= 0) this.expire();
    else this.#timer = this.#clock.setTimer(() => this.expire(), left);
  }

  expire(): void {
    this.#controller.abort();
    this.#expire?.();
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /**
   * Rejects after `longestMs` without an answer, in real time, and at the deadline at the latest: the network may swallow an answer, and
   * the driver would wait for it for ever.
   */
  bound<Answer>(work: Promise<Answer>, longestMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // If a handler blocked this event loop, the answer may be in the socket: what has arrived is read first.
      const giveUp = (): void => void setImmediate(() => reject(new NoAnswer()));
      const silence = longestMs === Infinity ? undefined : setTimeout(giveUp, longestMs);
      this.#expire = giveUp;
      if (this.isOver) giveUp();
      work.then(resolve, reject).finally(() => clearTimeout(silence));
    });
  }

  end(): void {
    this.#timer.cancel();
    this.#expire = null;
  }
}

/** Neither the server nor the system answered. */
export class NoAnswer extends Error {
  constructor() {
    super("no answer");
  }
}
