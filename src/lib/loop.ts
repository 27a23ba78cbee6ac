import type { Clock, Timer } from "./clock.ts";

export interface LoopOptions {
  readonly clock: Clock;
  /** Does one turn and answers how long to rest, in milliseconds. */
  readonly turn: () => Promise<number> | number;
  /** Told when a turn failed; answers how long to rest before the next. Must not throw. */
  readonly onError: (error: unknown) => number;
}

/**
 * SOMETHING DONE AGAIN AND AGAIN. A turn, a rest, a turn; no two turns at once. A rest ends early when somebody wakes the loop, and a
 * wake-up in the middle of a turn makes another turn follow at once, because that turn may have looked before the news came.
 */
export class Loop {
  readonly #options: LoopOptions;
  #state: "new" | "started" | "stopped" = "new";
  #rest: Timer | null = null;
  /** By the monotonic clock, as all times here. */
  #restEndsAt = Infinity;
  #turnBeganAt = -Infinity;
  /** The earliest that was asked for while a turn was under way. */
  #wantedAt = Infinity;
  #turn: Promise<void> | null = null;
  #following: Promise<void> | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Begins the first turn, now or after a rest. */
  start({ restMs = 0 }: { readonly restMs?: number } = {}): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    if (restMs > 0) this.#restUntil(this.#options.clock.monotonic() + restMs);
    else void this.#begin();
  }

  /** Ends the rest. */
  wake(): void {
    void this.turnNow();
  }

  /** A turn begins in `ms` at the latest, but not sooner than `apartMs` after the one before began. A rest that ends before is left alone. */
  wakeWithin(ms: number, apartMs: number): void {
    if (this.#state !== "started") return;
    const wantedAt = Math.max(this.#options.clock.monotonic() + ms, this.#turnBeganAt + apartMs);
    if (this.#turn !== null) this.#wantedAt = Math.min(this.#wantedAt, wantedAt);
    else if (wantedAt < this.#restEndsAt) this.#restUntil(wantedAt);
  }

  /** Resolves after a whole turn that began after this call, or at once when the loop does not run. Callers at one time share the turn. */
  turnNow(): Promise<void> {
    if (this.#state !== "started") return Promise.resolve();
    // The turn before it may have ended already; it begins a few microtasks later, and to begin one here would make two.
    if (this.#following !== null) return this.#following;
    if (this.#turn === null) return this.#begin();
    this.#following = this.#turn.then(() => {
      this.#following = null;
      return this.#state === "started" ? this.#begin() : undefined;
    });
    return this.#following;
  }

  /** No turn begins any more; resolves when the one under way has ended. May be called twice. */
  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#rest?.cancel();
    this.#rest = null;
    await this.#turn;
  }

  #begin(): Promise<void> {
    this.#rest?.cancel();
    this.#rest = null;
    this.#turnBeganAt = this.#options.clock.monotonic();
    this.#wantedAt = Infinity;
    this.#turn = this.#run();
    return this.#turn;
  }

  async #run(): Promise<void> {
    let restMs: number;
    try {
      restMs = await this.#options.turn();
    } catch (error) {
      restMs = this.#options.onError(error);
    }
    this.#turn = null;
    if (this.#state !== "started" || this.#following !== null) return;
    this.#restUntil(Math.min(this.#options.clock.monotonic() + restMs, this.#wantedAt));
  }

  #restUntil(endsAt: number): void {
    const { clock } = this.#options;
    this.#rest?.cancel();
    this.#restEndsAt = endsAt;
    this.#rest = clock.setTimer(() => void this.#begin(), endsAt - clock.monotonic());
  }
}
