import { type Clock, systemClock, type Timer } from "../../src/lib/clock.ts";
import type { Store } from "../../src/store/store.ts";

/** What an engine hands to the suites. */
export interface Engine {
  readonly name: string;
  /** Why nothing outlives its store, where that is so. The suites then prove that instead of what a restart keeps. */
  readonly forgets?: string;
  /** Why `sweep` finds no allowance to drop, where that is so. */
  readonly allowancesVanish?: string;
  /** Why the place of a lease that ended may count as taken for a moment longer, where that is so. The suites then ask again. */
  readonly placesReturnLate?: string;
  /** Why a called job of another partition is inserted by a notice, where that is so. Elsewhere it is there at once. */
  readonly insertsCallsByNotice?: string;
  /** Whether the application's own transactions can hold our verbs: `begin` is then there. */
  readonly hasTransactions?: boolean;
  /** Whether such a transaction holds no more than the rows that it wrote, so that others work beside it. */
  readonly holdsRows?: boolean;
  /** A fresh, empty store whose time is the given clock's. */
  open(options: { readonly clock: TestClock }): Promise<Opened>;
}

export interface Opened {
  readonly store: Store;
  /** A second connection to the same data, as another process would have it. Absent where an engine `forgets`: its data is the store. */
  readonly reopen?: () => Promise<Store>;
  /** The caller's own transactions on this data, where the engine can take part in them. */
  readonly begin?: () => Promise<OwnTransaction>;
  /** Closes every connection that was opened here and leaves nothing on disk or server. */
  destroy(): Promise<void>;
}

/** A transaction that the application opened by itself. */
export interface OwnTransaction {
  /** What the engine's `within` takes. */
  readonly tx: unknown;
  readonly commit: () => Promise<void>;
  readonly rollback: () => Promise<void>;
}

/** Noon, at the start of an hour, so that minutes and hours of counters begin where tests say they do. */
const NOON = Date.UTC(2026, 2, 1, 12);

/** A clock that stands still until a test turns it. Its timers are real: engines poll and retry by them, and no promise depends on those. */
export class TestClock implements Clock {
  #now = NOON;
  #monotonic = 1_000;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(callback: () => void, ms: number): Timer {
    return systemClock.setTimer(callback, ms);
  }

  /** Time goes by. */
  advance(ms: number): void {
    this.#now += ms;
    this.#monotonic += ms;
  }

  /** Somebody sets the clock: no time goes by. */
  step(ms: number): void {
    this.#now += ms;
  }
}
