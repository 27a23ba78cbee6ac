import { type Duration, parseDuration } from "../core/duration.ts";
import { invalid } from "../core/errors.ts";
import type { Clock, Timer, Timers } from "../lib/clock.ts";

/** After this many turns of the event loop without activity, nothing more happens until time passes. */
const CALM_TURNS = 3;
/** More timers than this at one moment, or turns without a rest, are an endless loop. */
const MAX_STEPS = 10_000;

interface VirtualTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** What a wait for the I/O of a handler takes in real time, as a share: 5 s are 100 ms. */
const REAL_SHARE = 0.02;

/**
 * A clock that the test controls. Time passes only in `advance`. Timers then fire in order of time, equal ones in the order in which they were
 * set, each after everything that the one before caused has finished.
 */
export class VirtualClock implements Clock {
  readonly #startedAt: number;
  readonly #activity: () => number;
  #now: number;
  #timers: VirtualTimer[] = [];
  #set = 0;
  readonly forIo: Timers | undefined;
  readonly #waitsForIo = new Set<Promise<void>>();

  /**
   * `activity` returns a number that changes whenever something happens that the clock does not see. With `hasRealIo` waits for I/O take real
   * time, of which `settle` waits for the end: handlers read files and sockets although time stands still.
   */
  constructor(startAt: number, activity: () => number = () => 0, { hasRealIo = false }: { readonly hasRealIo?: boolean } = {}) {
    this.#startedAt = startAt;
    this.#now = startAt;
    this.#activity = activity;
    if (hasRealIo) this.forIo = { setTimer: (callback, ms) => this.#waitForIo(callback, ms) };
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#startedAt;
  }

  setTimer(callback: () => void, ms: number): Timer {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#set++, callback };
    this.#timers.splice(this.#placeOf(timer), 0, timer);
    return { cancel: () => void this.#remove(timer) };
  }

  /** Lets this much time pass: fires every timer that becomes due, in order, and lets everything settle after each. */
  async advance(time: Duration): Promise<void> {
    const ms = parseDuration(time);
    if (ms === null) throw invalid("time", 'a time in milliseconds or as "30s", "5m", "1h"', time);
    const end = this.#now + ms;
    await this.settle();
    for (let next = this.#timers[0]; next !== undefined && next.at <= end; next = this.#timers[0]) {
      this.#now = Math.max(this.#now, next.at);
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }

  /** Resolves when nothing more happens at this moment: everything that is due has run, with all it caused. */
  async settle(): Promise<void> {
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      await this.#calm();
      const due = this.#timers[0];
      const isDue = due !== undefined && due.at <= this.#now;
      if (!isDue && this.#waitsForIo.size === 0) return;
      if (isDue) {
        this.#remove(due);
        due.callback();
      } else await Promise.race(this.#waitsForIo);
    }
    throw new Error(`the clock does not settle: ${MAX_STEPS} timers ran at one moment`);
  }

  async #calm(): Promise<void> {
    let seen = -1;
    for (let calm = 0, turns = 0; calm < CALM_TURNS && turns < MAX_STEPS; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = this.#activity() + this.#set;
      calm = now === seen ? calm + 1 : 0;
      seen = now;
    }
  }

  #waitForIo(callback: () => void, ms: number): Timer {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waitsForIo.add(promise);
    const end = (): void => {
      this.#waitsForIo.delete(promise);
      resolve();
    };
    const handle = setTimeout(() => (end(), callback()), ms * REAL_SHARE);
    return { cancel: () => (clearTimeout(handle), end()) };
  }

  #placeOf(timer: VirtualTimer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#timers[middle]!.at <= timer.at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #remove(timer: VirtualTimer): void {
    const place = this.#timers.indexOf(timer);
    if (place >= 0) this.#timers.splice(place, 1);
  }
}
