import { DAY_MS } from "../../core/time-units.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Connection } from "./connection.ts";
import { READ_META, WRITE_META } from "./statements.ts";

const MOST_AHEAD_MS = DAY_MS;

/**
 * The time of the file: one clock for all processes that share it, which never goes back and never stands still.
 *
 * The machine's clock may be set back while jobs run. Processes that started before and after that would then judge the same lease by
 * different times. So the file keeps the latest time that any process used. While the machine's clock is behind it, time goes on from there
 * by the monotonic clock.
 *
 * A time more than a day ahead of the machine's clock is ignored: that clock was wrong and has been corrected, and the file would be wrong
 * for good. This applies to the file and to what a process remembers: otherwise a process that ran through the correction would stay in the
 * wrong time, and see the fresh leases of others as expired.
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

  /** Now. No process will see an earlier time after this. Call it inside a write transaction. */
  take(): number {
    const floor = this.#on.number(READ_META, "time") ?? 0;
    const now = this.#notBefore(floor);
    if (now !== floor) this.#on.run(WRITE_META, "time", now);
    return this.#remember(now);
  }

  /** Now, outside of a write transaction. */
  peek(): number {
    return this.#remember(this.#notBefore(this.#on.number(READ_META, "time") ?? 0));
  }

  #notBefore(floor: number): number {
    const own = this.#own();
    return floor - this.#clock.now() > MOST_AHEAD_MS ? own : Math.max(own, floor);
  }

  #own(): number {
    const wall = this.#clock.now();
    if (this.#last === 0) return wall;
    const goneOn = this.#last + Math.floor(this.#clock.monotonic() - this.#lastMonotonic);
    return goneOn - wall > MOST_AHEAD_MS ? wall : Math.max(wall, goneOn);
  }

  #remember(now: number): number {
    if (now !== this.#last) {
      this.#last = now;
      this.#lastMonotonic = this.#clock.monotonic();
    }
    return now;
  }
}
