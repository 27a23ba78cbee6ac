import type { Clock, Timer } from "./clock.ts";

export interface LoopOptions {
  readonly clock: Clock;
  /** Does one turn and returns how long to rest, in milliseconds. */
  readonly turn: () => Promise<number> | number;
  /** Called when a turn failed; returns how long to rest. Must not throw. */
  readonly onError: (error: unknown) => number;
}

/** REPEATED WORK: a turn, a rest, a turn; never two at once. A `wake` during a turn makes another turn follow: it may have missed something. */
export class Loop {
  readonly #options: LoopOptions;
  #state: "new" | "started" | "stopped" = "new";
  #rest: Timer | null = null;
  /** All times here are monotonic. */
  #restEndsAt = Infinity;
  #turnBeganAt = -Infinity;
  /** The earliest time asked for during a turn. */
  #wantedAt = Infinity;
  #turn: Promise<void> | null = null;
  #following: Promise<void> | null = null;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Starts the first turn, now or after a rest. */
  start({ restMs = 0 }: { readonly restMs?: number } = {}): void {
    if (this.#state !== "new") return;
    this.#state = "started";
    if (restMs > 0) this.#restUntil(this.#options.clock.monotonic() + restMs);
    else void this.#begin();
  }

  wake(): void {
    void this.turnNow();
  }

  /** Starts a turn in `ms` at the latest, but at least `apartMs` after the start of the last one. A rest that ends earlier stays as it is. */
  wakeWithin(ms: number, apartMs: number): void {
    if (this.#state !== "started") return;
    const wantedAt = Math.max(this.#options.clock.monotonic() + ms, this.#turnBeganAt + apartMs);
    if (this.#turn !== null) this.#wantedAt = Math.min(this.#wantedAt, wantedAt);
    else if (wantedAt < this.#restEndsAt) this.#restUntil(wantedAt);
  }

  /** Resolves after a whole turn that started after this call, or at once if the loop does not run. Concurrent callers share the turn. */
  turnNow(): Promise<void> {
    if (this.#state !== "started") return Promise.resolve();
    // The turn before may already have ended. The next one starts a few microtasks later, and starting one here would make two.
    if (this.#following !== null) return this.#following;
    if (this.#turn === null) return this.#begin();
    this.#following = this.#turn.then(() => {
      this.#following = null;
      return this.#state === "started" ? this.#begin() : undefined;
    });
    return this.#following;
  }

  /** Starts no more turns; resolves when the current one has ended. May be called twice. */
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
