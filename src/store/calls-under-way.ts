import { MillraceError } from "../core/errors.ts";

/** More calls than this do not wait: the next ones fail at once. */
export const MOST_WAITING = 10_000;

/** Calls that were begun and have not ended. Closing lets them come to their end, and refuses more. */
export class CallsUnderWay {
  readonly #whom: string | null;
  #count = 0;
  #isClosed = false;
  readonly #whenIdle: (() => void)[] = [];

  /** `whom` they wait for, where no more than MOST_WAITING may. */
  constructor(whom: string | null = null) {
    this.#whom = whom;
  }

  /** Before a call; throws if it may not begin. Each that has begun must end. */
  begin(): void {
    if (this.#isClosed) throw closedError();
    if (this.#whom !== null && this.#count >= MOST_WAITING) throw tooManyWaiting(this.#whom);
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

export function tooManyWaiting(whom: string): MillraceError {
  return new MillraceError("store_unavailable", `${MOST_WAITING} calls wait for ${whom} already: try again later`, { retryAfterMs: 1_000 });
}

function closedError(): MillraceError {
  return new MillraceError("closed", "the client is closed");
}
