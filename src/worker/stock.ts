import type { Clock, Timer } from "../lib/clock.ts";
import type { Attempt } from "./attempt.ts";
import { Pace } from "./pace.ts";

/** The most jobs that a worker holds, in slots and in stock. With as many slots or more it claims only for free ones. */
export const MOST_HELD = 500;
/** What has not started within this many times `ahead` is given back. */
const TOO_OLD = 5;
/** Over HTTP, `ahead` is at least this many round trips, and at most this long. */
const ROUND_TRIPS = 2;
const MOST_REMOTE_AHEAD_MS = 200;
/** How fast a round trip that was never so short again is forgotten: by this factor with each exchange. */
const FORGETTING = 1.05;
/** How long a worker claims for free slots only after it had a job in stock that must not be lost. */
const BARRED_MS = 60_000;

export interface StockOptions {
  readonly clock: Clock;
  /** How far ahead of the free slots the worker claims; 0: not at all. */
  readonly aheadMs: number;
  readonly isRemote: boolean;
  readonly slots: () => number;
  /** In the order in which they were started. */
  readonly running: ReadonlySet<Attempt>;
  readonly giveBack: (attempts: readonly Attempt[]) => void;
}

/**
 * JOBS CLAIMED AHEAD OF THE FREE SLOTS, measured in time: no more than the worker will start within `ahead`.
 *
 *   claimed ─→ in stock ─→ started                  as soon as a slot is free, in the order in which they were taken
 *                  ├─→ given back                   too old, no slot in sight, or the worker stops: costs nothing
 *                  └─→ dropped                      cancelled, or its lease is gone
 *
 * A worker with few slots and fast handlers would spend its time on round trips. With slow handlers there is no stock: a job that waits here is not
 * available to other workers.
 */
export class Stock {
  readonly #options: StockOptions;
  readonly #waiting = new Set<Attempt>();
  readonly #pace = new Pace();
  /** Halved when jobs had to be given back, doubled with each full claim. */
  #most = MOST_HELD;
  #barredUntil = -Infinity;
  #roundTripMs = 0;
  #timer: Timer | null = null;

  constructor(options: StockOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** The one that is started next. */
  get first(): Attempt | undefined {
    return this.#waiting.values().next().value;
  }

  get attempts(): Iterable<Attempt> {
    return this.#waiting;
  }

  get #aheadMs(): number {
    const { aheadMs, isRemote } = this.#options;
    if (!isRemote || aheadMs === 0) return aheadMs;
    return Math.max(aheadMs, Math.min(MOST_REMOTE_AHEAD_MS, ROUND_TRIPS * this.#roundTripMs));
  }

  /** How many jobs the worker may hold now beyond its slots. */
  room(): number {
    const { clock, slots } = this.#options;
    const aheadMs = this.#aheadMs;
    const now = clock.monotonic();
    if (aheadMs === 0 || slots() >= MOST_HELD || now < this.#barredUntil || this.#pace.hasSlowTypes(now)) return 0;
    const usable = this.#usable(now);
    if (usable <= 0) return 0;
    return Math.max(0, Math.floor(Math.min(MOST_HELD - slots(), this.#most, this.#pace.startsWithin(aheadMs, usable))));
  }

  /** Slots that will be free within `ahead`: all but those of slow types, and of handlers that have run for longer. */
  #usable(now: number): number {
    const aheadMs = this.#aheadMs;
    let usable = this.#options.slots();
    for (const { startedAt, lease } of this.#options.running) if (now - startedAt > aheadMs || this.#pace.isSlow(lease.job.type)) usable--;
    return usable;
  }

  add(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#waiting.add(attempt);
  }

  /** Call this when others have been added, and all that could start have started. */
  keepRest(): void {
    if (this.#waiting.size === 0) return;
    // It claimed for free slots, and some were removed meanwhile.
    if (this.#aheadMs === 0) return this.#giveBack(this.#beyondSlots());
    this.#giveBackUnlosable();
    this.#watch();
  }

  /** It is about to be started, or its lease is gone. */
  remove(attempt: Attempt): void {
    this.#waiting.delete(attempt);
  }

  started(): void {
    this.#pace.started();
  }

  ended({ lease, startedAt }: Attempt, now: number): void {
    this.#pace.ran(lease.job.type, now - startedAt, this.#aheadMs, now);
  }

  claimed(isFull: boolean): void {
    this.#pace.claimed(isFull, this.#options.clock.monotonic());
    if (isFull) this.#most = Math.min(MOST_HELD, 2 * this.#most + 1);
  }

  /** The shortest of the last exchanges tells the round trip. */
  exchanged(ms: number): void {
    this.#roundTripMs = this.#roundTripMs === 0 ? ms : Math.min(ms, this.#roundTripMs * FORGETTING);
  }

  giveBackAll(): void {
    this.#giveBack([...this.#waiting]);
  }

  /** A crash would cost these their only loss. */
  #giveBackUnlosable(): void {
    const unlosable = this.#beyondSlots().filter(({ lease }) => lease.facts.maxLost === 0);
    if (unlosable.length === 0) return;
    this.#barredUntil = this.#options.clock.monotonic() + BARRED_MS;
    this.#giveBack(unlosable);
  }

  #watch(): void {
    this.#timer ??= this.#options.clock.setTimer(() => {
      this.#timer = null;
      this.#giveBackLate();
      if (this.#waiting.size > 0) this.#watch();
    }, this.#aheadMs);
  }

  /** Those that have no slot. The others start next: only the event loop was busy. */
  #beyondSlots(): Attempt[] {
    const { slots, running } = this.#options;
    return [...this.#waiting].slice(Math.max(0, slots() - running.size));
  }

  #giveBackLate(): void {
    const now = this.#options.clock.monotonic();
    const beyond = this.#beyondSlots();
    // Not at the next look, when it is too late: a pause promises that nothing starts after that time.
    const nextLook = now + this.#aheadMs;
    const late = this.#usable(now) <= 0 ? beyond : beyond.filter(({ takenAt }) => nextLook - takenAt > TOO_OLD * this.#aheadMs);
    if (late.length === 0) return;
    this.#most = Math.floor(this.#waiting.size / 2);
    this.#giveBack(late);
  }

  #giveBack(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#waiting.delete(attempt);
    if (attempts.length > 0) this.#options.giveBack(attempts);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
