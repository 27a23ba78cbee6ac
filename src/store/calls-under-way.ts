import { MillraceError } from "../core/errors.ts";

/** At most this many calls wait. Further ones fail at once. */
export const MOST_WAITING = 10_000;

/** Counts the calls that have begun and not ended. Closing refuses new ones and waits for the rest. */
export class CallsUnderWay {
  readonly #server: string | null;
  #count = 0;
  #isClosed = false;
  readonly #whenIdle: (() => void)[] = [];

  /** `server` is what the calls wait for; with null their number is not limited. */
  constructor(server: string | null = null) {
    this.#server = server;
  }

  /** Call it before a call, and `end` after; it throws if the call may not begin. */
  begin(): void {
    if (this.#isClosed) throw closedError();
    if (this.#server !== null && this.#count >= MOST_WAITING) throw tooManyWaiting(this.#server);
    this.#count++;
  }

  end(): void {
    if (--this.#count === 0 && this.#isClosed) for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  async run<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    this.begin();
    try {
      return await call();
    } finally {
      this.end();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#count > 0) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }
}

export function tooManyWaiting(server: string): MillraceError {
  const message = `${MOST_WAITING} calls already wait for ${server}. Try again later`;
  return new MillraceError("store_unavailable", message, { retryAfterMs: 1_000 });
}

function closedError(): MillraceError {
  return new MillraceError("closed", "the client is closed");
}
