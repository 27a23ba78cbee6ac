import type { LeaseRef, LeaseAnswer } from "../../client/client.ts";
import { atMost, type Clock } from "../../lib/clock.ts";
import { beatMsOf } from "./beat-times.ts";
import type { SharedLeases } from "./shared-leases.ts";

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
  stopAt: number;
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

/** Asks the store for more time. */
type Extend = (leases: readonly LeaseRef[]) => Promise<readonly LeaseAnswer[]>;

/** A copy of a book that another thread can read. */
export type BookCopy = Pick<SharedLeases, "add" | "remove">;

/**
 * The leases that a worker holds, and how one beat renews them all. Used on the main loop and in the thread alike.
 *
 * A lease is gone when the store says so. When the store says nothing (it is away), a lease is taken for gone once its time has surely
 * passed: counted from an answer, which is later than the store's own count.
 *
 * A call that is not answered within the time of a beat is no longer waited for: its connection may be dead, and the next beat must be able
 * to try another. Its answer counts all the same when it comes.
 */
export class LeaseBook {
  readonly #leaseMs: number;
  readonly #clock: Clock;
  readonly #copy: BookCopy | null;
  readonly #held = new Map<string, Entry>();
  /** What answers that came late said. */
  readonly #goneLate: GoneLease[] = [];

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
    for (const lease of leases) {
      const known = this.#held.get(lease.id);
      if (known?.fence === lease.fence) known.stopAt = lease.stopAt;
      else this.#put(lease);
    }
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
  async renew(extend: Extend, onlyBounded = false): Promise<{ gone: GoneLease[]; error: unknown }> {
    const now = this.#clock.monotonic();
    const due = [...this.#held.values()].filter(({ stopAt }) => (stopAt === Infinity ? !onlyBounded : stopAt > now));
    const gone = this.#goneLate.splice(0);
    let error: unknown = null;
    const renewSome = async (entries: readonly Entry[]): Promise<void> => {
      try {
        await this.#renewSome(entries, extend, gone);
      } catch (failure) {
        error = failure;
        this.#forgetRunOut(entries, gone);
      }
    };
    const calls: Promise<void>[] = [];
    for (let start = 0; start < due.length; start += MAX_LEASES_A_CALL) calls.push(renewSome(due.slice(start, start + MAX_LEASES_A_CALL)));
    await Promise.all(calls);
    return { gone, error };
  }

  async #renewSome(entries: readonly Entry[], extend: Extend, gone: GoneLease[]): Promise<void> {
    const patienceMs = beatMsOf(this.#leaseMs);
    const askedAt = this.#clock.monotonic();
    const call = extend(entries.map(({ id, fence }) => ({ id, fence })));
    let results = await atMost(this.#clock, patienceMs, call);
    // So late comes only a timer of a loop that a handler blocked: the answer may lie in the socket.
    const wasBlocked = this.#clock.monotonic() - askedAt > 1.5 * patienceMs;
    if (results === null && wasBlocked) results = await atMost(this.#clock, patienceMs, call);
    if (results !== null) return this.#apply(entries, results, gone);
    call.then(
      (late) => this.#apply(entries, late, this.#goneLate),
      () => {},
    );
    throw new Error("no answer within the time of a beat");
  }

  #apply(entries: readonly Entry[], results: readonly LeaseAnswer[], gone: GoneLease[]): void {
    const goodUntil = this.#clock.monotonic() + this.#leaseMs;
    entries.forEach((entry, index) => {
      // Dropped, or replaced by a newer lease, while the call was under way.
      if (this.#held.get(entry.id) !== entry) return;
      const result = results[index];
      if (result === "ok" || result === undefined) entry.goodUntil = goodUntil;
      // Nobody else can take a job whose row is held. The next beat tells.
      else if (result === "locked") return;
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
