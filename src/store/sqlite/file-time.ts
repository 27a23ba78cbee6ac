import type { Clock } from "../../lib/clock.ts";
import type { Connection } from "./connection.ts";
import { READ_META, WRITE_META } from "./statements.ts";

/**
 * The time of the file: one clock for all processes that share it, which never goes back and never stands still.
 *
 * The machine's clock may be set back while jobs run. A process that started before and one that started after would then judge the same
 * lease by times that differ by the step. So the latest time that any process used is kept in the file, and while the machine's clock is
 * behind it, time goes on from there by the monotonic clock.
 */
export class FileTime {
  readonly #on: Connection;
  readonly #clock: Clock;
  #last = 0;
  #lastMonotonic = 0;

  constructor(on: Connection, clock: Clock) {
    this.#on = on;
    this.#clock = clock;
  }

  /** Now, and from now on the least that any process will see. Call inside a write transaction. */
  take(): number {
    const floor = this.#on.number(READ_META, "time") ?? 0;
    const now = Math.max(this.#own(), floor);
    if (now > floor) this.#on.run(WRITE_META, "time", now);
    return this.#remember(now);
  }

  /** Now, for a look outside of a write. */
  peek(): number {
    return this.#remember(Math.max(this.#own(), this.#on.number(READ_META, "time") ?? 0));
  }

  #own(): number {
    if (this.#last === 0) return this.#clock.now();
    return Math.max(this.#clock.now(), this.#last + Math.floor(this.#clock.monotonic() - this.#lastMonotonic));
  }

  #remember(now: number): number {
    if (now > this.#last) {
      this.#last = now;
      this.#lastMonotonic = this.#clock.monotonic();
    }
    return now;
  }
}
