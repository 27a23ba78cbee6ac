import type { LeaseRef, LeaseResult } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";

/** The most leases that one call renews. */
const MAX_LEASES_A_CALL = 1000;

/** A lease that is to be kept alive. */
export interface HeldLease extends LeaseRef {
  /** Not longer than this from now; null is as long as it is held. */
  readonly stopAfterMs: number | null;
}

/** A lease that somebody else ended. */
export interface GoneLease extends LeaseRef {
  readonly why: "stale" | "cancelled";
}

interface Entry {
  readonly id: string;
  readonly fence: number;
  /** By the monotonic clock. */
  readonly stopAt: number;
  /** When the lease has surely run out, if it is not renewed before. */
  goodUntil: number;
}

/**
 * The leases that a worker holds, and how one beat renews them all. Used on the main loop and in the thread alike.
 *
 * A lease is gone when the store says so. When the store says nothing (it is away), a lease is taken for gone once its time has surely
 * passed: counted from an answer, which is later than the store's own count.
 */
export class LeaseBook {
  readonly #leaseMs: number;
  readonly #clock: Clock;
  readonly #held = new Map<string, Entry>();

  constructor(leaseMs: number, clock: Clock) {
    this.#leaseMs = leaseMs;
    this.#clock = clock;
  }

  /** A job that is held already under another fence was lost and claimed again: the new lease counts. */
  hold(leases: readonly HeldLease[]): void {
    const now = this.#clock.monotonic();
    for (const { id, fence, stopAfterMs } of leases) {
      const stopAt = stopAfterMs === null ? Infinity : now + stopAfterMs;
      this.#held.set(id, { id, fence, stopAt, goodUntil: now + this.#leaseMs });
    }
  }

  drop(leases: readonly LeaseRef[]): void {
    for (const lease of leases) if (this.has(lease)) this.#held.delete(lease.id);
  }

  has(lease: LeaseRef): boolean {
    return this.#held.get(lease.id)?.fence === lease.fence;
  }

  /** All leases, with the time that is left to each. */
  list(): HeldLease[] {
    const now = this.#clock.monotonic();
    return [...this.#held.values()].map(({ id, fence, stopAt }) => ({ id, fence, stopAfterMs: stopAt === Infinity ? null : stopAt - now }));
  }

  /** Another renewer looked after these leases until now, and nobody knows how well. */
  trust(): void {
    const goodUntil = this.#clock.monotonic() + this.#leaseMs;
    for (const entry of this.#held.values()) entry.goodUntil = goodUntil;
  }

  /**
   * Renews all leases whose time to stop has not come (with `onlyBounded`, none of those that have no such time) and forgets those that
   * are gone. `error` is that of a call that failed.
   */
  async renew(
    extend: (leases: readonly LeaseRef[]) => Promise<readonly LeaseResult[]>,
    onlyBounded = false,
  ): Promise<{ gone: GoneLease[]; error: unknown }> {
    const now = this.#clock.monotonic();
    const due = [...this.#held.values()].filter(({ stopAt }) => (stopAt === Infinity ? !onlyBounded : stopAt > now));
    const gone: GoneLease[] = [];
    let error: unknown = null;
    for (let start = 0; start < due.length; start += MAX_LEASES_A_CALL) {
      const entries = due.slice(start, start + MAX_LEASES_A_CALL);
      try {
        const results = await extend(entries.map(({ id, fence }) => ({ id, fence })));
        this.#apply(entries, results, gone);
      } catch (failure) {
        error = failure;
        this.#forgetRunOut(entries, gone);
      }
    }
    return { gone, error };
  }

  #apply(entries: readonly Entry[], results: readonly LeaseResult[], gone: GoneLease[]): void {
    const goodUntil = this.#clock.monotonic() + this.#leaseMs;
    entries.forEach((entry, index) => {
      // Dropped, or replaced by a newer lease, while the call was under way.
      if (this.#held.get(entry.id) !== entry) return;
      const result = results[index];
      if (result === "ok" || result === undefined) entry.goodUntil = goodUntil;
      else this.#forget(entry, result, gone);
    });
  }

  #forgetRunOut(entries: readonly Entry[], gone: GoneLease[]): void {
    const now = this.#clock.monotonic();
    for (const entry of entries) {
      if (this.#held.get(entry.id) === entry && entry.goodUntil < now) this.#forget(entry, "stale", gone);
    }
  }

  #forget({ id, fence }: Entry, why: GoneLease["why"], gone: GoneLease[]): void {
    this.#held.delete(id);
    gone.push({ id, fence, why });
  }
}
