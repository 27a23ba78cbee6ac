import { HOURS_OF_USE, MINUTES_OF_USE, type WorkerEntry } from "../core/worker-entry.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";

/** How much of its slots a worker used over time. Measured exactly: each change of the number of running attempts is noted. */
export class SlotUse {
  readonly #minutes: UseByPeriod;
  readonly #hours: UseByPeriod;
  #busy = 0;
  #slots = 0;
  #at: number;

  /** All times are of a clock that never goes back. */
  constructor(now: number) {
    this.#at = now;
    this.#minutes = new UseByPeriod(MINUTE_MS, MINUTES_OF_USE, now);
    this.#hours = new UseByPeriod(HOUR_MS, HOURS_OF_USE, now);
  }

  /** From now on so many slots are in use. */
  change(busy: number, slots: number, now: number): void {
    this.#addUntil(now);
    this.#busy = busy;
    this.#slots = slots;
  }

  /** The use of the last periods; the latest one, which has not ended, is the last. */
  read(now: number): NonNullable<WorkerEntry["use"]> {
    this.#addUntil(now);
    return { minutes: this.#minutes.shares(), hours: this.#hours.shares() };
  }

  #addUntil(now: number): void {
    this.#minutes.add(this.#at, now, this.#busy, this.#slots);
    this.#hours.add(this.#at, now, this.#busy, this.#slots);
    this.#at = now;
  }
}

class UseByPeriod {
  readonly #periodMs: number;
  readonly #most: number;
  readonly #ended: number[] = [];
  #begunAt: number;
  /** Slots in use, and all slots, each times milliseconds. */
  #busyMs = 0;
  #slotMs = 0;

  constructor(periodMs: number, most: number, now: number) {
    this.#periodMs = periodMs;
    this.#most = most;
    this.#begunAt = now;
  }

  add(from: number, to: number, busy: number, slots: number): void {
    let since = from;
    for (let end = this.#begunAt + this.#periodMs; to >= end; end += this.#periodMs) {
      this.#note(end - since, busy, slots);
      this.#ended.push(this.#share());
      if (this.#ended.length >= this.#most) this.#ended.shift();
      this.#busyMs = this.#slotMs = 0;
      this.#begunAt = since = end;
    }
    this.#note(to - since, busy, slots);
  }

  shares(): number[] {
    return [...this.#ended, this.#share()];
  }

  #note(ms: number, busy: number, slots: number): void {
    this.#busyMs += busy * ms;
    this.#slotMs += slots * ms;
  }

  /** In percent. A worker that has just reduced its slots may use more than it has. */
  #share(): number {
    return this.#slotMs === 0 ? 0 : Math.min(100, Math.round((100 * this.#busyMs) / this.#slotMs));
  }
}
