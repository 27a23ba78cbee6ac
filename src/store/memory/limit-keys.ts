import { decodeKeyLimits, type EffectiveLimits, limitsOfKey, type QueueLimits } from "../../core/limits.ts";
import { type RateState, rescaleRate, takeFromRate, waitForRate } from "../../core/rate.ts";
import { type KeyUse, MAX_HOLDERS } from "../store.ts";
import type { StoredJob } from "./stored-job.ts";
import type { KeyLine } from "./turns.ts";

/** What a queue remembers of one limit key. */
export class LimitKey {
  readonly name: string;
  /** Its own limits, as core/limits.ts stores them. */
  own: string | null = null;
  readonly running = new Set<StoredJob>();
  waiting = 0;
  heldUntil = 0;
  rate: RateState | null = null;
  #limits: { readonly queue: QueueLimits; readonly own: string | null; readonly limits: EffectiveLimits } | null = null;
  /** Lines with pending jobs. */
  readonly lines = new Set<KeyLine>();

  constructor(name: string) {
    this.name = name;
  }

  /** Asked for every job that is taken, so the answer is kept while nothing changes. */
  limits(queue: QueueLimits): EffectiveLimits {
    const kept = this.#limits;
    if (kept !== null && kept.queue === queue && kept.own === this.own) return kept.limits;
    const limits = limitsOfKey(queue, this.name, decodeKeyLimits(this.own));
    this.#limits = { queue, own: this.own, limits };
    return limits;
  }

  /** Whether a job of this cost may start: 0, or the time to wait; null if a lease of the key has to end first. */
  waitMs(limits: EffectiveLimits, cost: number, now: number): number | null {
    if (limits.rate !== null) this.rate = rescaleRate(limits.rate, this.rate, now);
    if (this.heldUntil > now) return this.heldUntil - now;
    if (limits.running !== null && this.running.size >= limits.running) return null;
    return limits.rate === null || cost === 0 ? 0 : waitForRate(limits.rate, this.rate, cost, now);
  }

  /** Takes units of its rate, or gives them back. */
  take({ rate }: EffectiveLimits, units: number, now: number): void {
    if (rate !== null) this.rate = takeFromRate(rate, this.rate, units, now);
  }

  isIdle(now: number): boolean {
    const rests = this.running.size === 0 && this.waiting === 0 && this.lines.size === 0;
    return rests && this.own === null && this.heldUntil <= now && (this.rate?.busyUntil ?? 0) <= now;
  }

  use(now: number): KeyUse {
    return {
      key: this.name,
      running: this.running.size,
      waiting: this.waiting,
      heldUntil: this.heldUntil > now ? this.heldUntil : null,
      rate: this.rate,
      holders: [...this.running].slice(0, MAX_HOLDERS).map(({ record }) => record.id),
      limits: this.own,
    };
  }
}

/** The limit keys of a queue that have jobs, limits of their own, or something to remember. */
export class LimitKeys {
  readonly #keys = new Map<string, LimitKey>();

  get(name: string): LimitKey | undefined {
    return this.#keys.get(name);
  }

  /** The key of this name; makes it if it is new. */
  of(name: string): LimitKey {
    let key = this.#keys.get(name);
    if (key === undefined) this.#keys.set(name, (key = new LimitKey(name)));
    return key;
  }

  all(): Iterable<LimitKey> {
    return this.#keys.values();
  }

  sweep(now: number, limit: number): number {
    let removed = 0;
    for (const [name, key] of this.#keys) {
      if (removed >= limit) break;
      if (!key.isIdle(now)) continue;
      this.#keys.delete(name);
      removed++;
    }
    return removed;
  }
}
