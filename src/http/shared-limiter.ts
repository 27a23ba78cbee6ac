/**
 * ONE RATE FOR ALL PROCESSES. The store has the allowance of each caller. A process takes shares of it (a tenth of what is left) and uses
 * them by itself, so that nearly every request needs no call to the store. When nothing is left, it remembers for how long.
 *
 * How exact this is: a share expires after a tenth of the period, so a caller never gets more than a tenth beyond its rate, however many
 * processes there are. It may get a little less: the part of its allowance that other processes hold and have not used yet.
 *
 * While the store is away, each process counts for itself.
 */
import { SHARE, type Spend, type Spent } from "../core/allowance.ts";
import { MillraceError } from "../core/errors.ts";
import { Batcher, WaitingLimit } from "../lib/batcher.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { type Limiter, MAX_CALLERS, MemoryLimiter, type RateLimit } from "./limits.ts";

/** Takes from allowances that all processes share. */
export type SpendTogether = (spends: readonly Spend[]) => Promise<Spent[]>;

export interface SharedLimiterOptions {
  readonly rate: RateLimit;
  readonly spend: SpendTogether;
  readonly clock: Clock;
}

/** How long a request waits for the store's answer. */
const MAX_WAIT_MS = 1000;
/** How long the store is not asked again after it did not answer. */
const AWAY_MS = 5000;
const MAX_ASKING = 1000;
const MAX_WAITING = 10_000;

/** What this process knows about a caller. */
interface Caller {
  /** Requests that are left of its share, and when the share expires. */
  left: number;
  leftUntil: number;
  /** The allowance in the store is used up until then. */
  refusedUntil: number;
  asking: Promise<void> | null;
}

export class SharedLimiter implements Limiter {
  readonly #rate: RateLimit;
  readonly #clock: Clock;
  readonly #alone: MemoryLimiter;
  readonly #spends: Batcher<Spend, Spent>;
  /** In the order of the latest requests: the first caller was idle longest. */
  readonly #callers = new Map<string, Caller>();
  #awayUntil = -Infinity;

  constructor({ rate, spend, clock }: SharedLimiterOptions) {
    this.#rate = rate;
    this.#clock = clock;
    this.#alone = new MemoryLimiter(rate);
    this.#spends = new Batcher({
      run: (spends) => inTime(spend(spends), clock),
      inFlight: 1,
      maxItems: MAX_ASKING,
      waitingLimit: new WaitingLimit(MAX_WAITING, () => noAnswer()),
    });
  }

  take(who: string, now: number): number | Promise<number> {
    const caller = this.#callerOf(who);
    return this.#takeKnown(caller, now) ?? this.#takeAsking(who, caller);
  }

  /** Decides by what is known here; null if the store must be asked. */
  #takeKnown(caller: Caller, now: number): number | null {
    if (caller.left > 0 && now < caller.leftUntil) {
      caller.left--;
      return 0;
    }
    return now < caller.refusedUntil ? caller.refusedUntil - now : null;
  }

  /** Requests that come while the store is asked wait for the same answer. If those before them use it up, the store is asked again. */
  async #takeAsking(who: string, caller: Caller): Promise<number> {
    for (;;) {
      if (this.#clock.monotonic() < this.#awayUntil) return this.#alone.take(who, this.#clock.monotonic());
      await (caller.asking ??= this.#ask(who, caller));
      const known = this.#takeKnown(caller, this.#clock.monotonic());
      if (known !== null) return known;
    }
  }

  async #ask(who: string, caller: Caller): Promise<void> {
    const { requests, perMs } = this.#rate;
    const askedAt = this.#clock.monotonic();
    try {
      const { taken, waitMs } = await this.#spends.add({ name: who, units: requests, perMs });
      caller.left = taken;
      // At least 1 ms after the answer, so that the requests that waited for it can use it.
      caller.leftUntil = Math.max(askedAt + perMs / SHARE, this.#clock.monotonic() + 1);
      caller.refusedUntil = askedAt + waitMs;
    } catch {
      // The store reports its own errors.
      this.#awayUntil = this.#clock.monotonic() + AWAY_MS;
    } finally {
      caller.asking = null;
    }
  }

  #callerOf(who: string): Caller {
    const known = this.#callers.get(who);
    const caller = known ?? { left: 0, leftUntil: 0, refusedUntil: -Infinity, asking: null };
    if (known !== undefined) this.#callers.delete(who);
    this.#callers.set(who, caller);
    if (this.#callers.size > MAX_CALLERS) this.#callers.delete(this.#callers.keys().next().value!);
    return caller;
  }
}

async function inTime(answer: Promise<Spent[]>, clock: Clock): Promise<Spent[]> {
  const spent = await atMost(clock, MAX_WAIT_MS, answer);
  if (spent === null) throw noAnswer();
  return spent;
}

function noAnswer(): MillraceError {
  return new MillraceError("store_unavailable", "the store did not answer in time, so the rate limit could not be checked");
}
