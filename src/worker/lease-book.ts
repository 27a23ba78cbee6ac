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

interface Entry extends Held {
  /** When the lease has surely run out, if it is not renewed before. */
  goodUntil: number;
  /** Its place in the copy, if there is one. */
  readonly place: number;
}

/** A lease as two books know it. Times are by the monotonic clock. */
export interface Held extends LeaseRef {
  /** When it is no longer to be renewed. */
  readonly stopAt: number;
  readonly heldAt: number;
}

/** A copy of a book that another thread can read. */
export interface BookCopy {
  /** Answers where it was put. */
  add(lease: Held): number;
  remove(place: number): void;
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
  readonly #copy: BookCopy | null;
  readonly #held = new Map<string, Entry>();

  constructor(leaseMs: number, clock: Clock, copy: BookCopy | null = null) {
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#copy = copy;
  }

  /** A job that is held already under another fence was lost and claimed again: the new lease counts. */
  hold(leases: readonly HeldLease[]): void {
    const now = this.#clock.monotonic();
    for (const { id, fence, stopAfterMs } of leases) {
      this.#put({ id, fence, stopAt: stopAfterMs === null ? Infinity : now + stopAfterMs, heldAt: now });
    }
  }

  drop(leases: readonly LeaseRef[]): void {
    for (const { id, fence } of leases) {
      const entry = this.#held.get(id);
      if (entry?.fence === fence) this.#remove(entry);
    }
  }

  /** Holds these and no others. What was known of one that is held already still counts. */
  match(leases: readonly Held[]): void {
    const wanted = new Set(leases.map(({ id }) => id));
    for (const entry of this.#held.values()) if (!wanted.has(entry.id)) this.#remove(entry);
    for (const lease of leases) if (!this.has(lease)) this.#put(lease);
  }

  has(lease: LeaseRef): boolean {
    return this.#held.get(lease.id)?.fence === lease.fence;
  }

  get isEmpty(): boolean {
    return this.#held.size === 0;
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

  #forget(entry: Entry, why: GoneLease["why"], gone: GoneLease[]): void {
    this.#remove(entry);
    gone.push({ id: entry.id, fence: entry.fence, why });
  }

  #put(lease: Held): void {
    const known = this.#held.get(lease.id);
    if (known !== undefined) this.#remove(known);
    const { id, fence, stopAt, heldAt } = lease;
    this.#held.set(id, { id, fence, stopAt, heldAt, goodUntil: heldAt + this.#leaseMs, place: this.#copy?.add(lease) ?? -1 });
  }

  #remove({ id, place }: Entry): void {
    this.#held.delete(id);
    this.#copy?.remove(place);
  }
}
