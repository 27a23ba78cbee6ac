import type { Clock } from "../../lib/clock.ts";

/** The end of a call's patience. */
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

  /** Ends it so long after its beginning, if that is sooner. */
  endBy(ms: number): void {
    if (ms >= this.#endsMs) return;
    this.#endsMs = ms;
    this.#timer.cancel();
    const left = ms - (this.#clock.monotonic() - this.#since);
    if (left <= 0) this.expire();
    else this.#timer = this.#clock.setTimer(() => this.expire(), left);
  }

  /** It is over now. */
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
   * Rejects when nothing came of it for so long, whatever clock the store goes by, and at the deadline at the latest: the network may swallow
   * an answer, and the driver would wait for it for ever.
   */
  bound<Answer>(work: Promise<Answer>, longestMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // If it was this loop that did not listen, because a handler blocked it, the answer lies in the socket: what came is read first.
      const giveUp = (): void => void setImmediate(() => reject(new Silence()));
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

/** Nobody said anything, neither the server nor the system. */
export class Silence extends Error {
  constructor() {
    super("no answer");
  }
}
