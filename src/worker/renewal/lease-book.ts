import type { LeaseRef, LeaseAnswer } from "../../client/client.ts";
import { atMost, type Clock } from "../../lib/clock.ts";
import { beatMsOf } from "./beat-times.ts";
import type { SharedLeases } from "./shared-leases.ts";

const MAX_LEASES_A_CALL = 1000;

export interface HeldLease extends LeaseRef {
  /** For at most this time from now; null for as long as it is held. */
  readonly stopAfterMs: number | null;
}

/** A lease that this worker no longer holds: the job was cancelled, or the lease ran out. */
export interface GoneLease extends LeaseRef {
  readonly why: "stale" | "cancelled";
}

interface Entry extends Held {
  stopAt: number;
  /** When the lease has certainly run out, unless it is renewed. */
  goodUntil: number;
  /** Its place in the copy, if any. */
  readonly place: number;
}

/** A lease in two books. Times are monotonic. */
export interface Held extends LeaseRef {
  /** When renewal stops. */
  readonly stopAt: number;
  readonly heldAt: number;
}

type Extend = (leases: readonly LeaseRef[]) => Promise<readonly LeaseAnswer[]>;

/** A copy of a book that another thread can read. */
export type BookCopy = Pick<SharedLeases, "add" | "remove">;

/**
 * The leases of a worker, and how one beat renews them. The same on the main thread and in the beat thread.
 *
 * A lease is gone if the store says so. If the store does not answer, a lease counts as gone once its time has certainly passed: counted from
 * an answer, which is later than the store's own count.
 *
 * A call without an answer within one beat is not waited for: its connection may be dead, and the next beat must be able to try another. A
 * late answer still counts.
 */
export class LeaseBook {
  readonly #leaseMs: number;
  readonly #clock: Clock;
  readonly #copy: BookCopy | null;
  readonly #held = new Map<string, Entry>();
  /** Leases that late answers reported as gone. */
  readonly #goneLate: GoneLease[] = [];

  constructor(leaseMs: number, clock: Clock, copy: BookCopy | null = null) {
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#copy = copy;
  }

  /** If a job is already held under another fence, it was lost and claimed again: the new lease counts. */
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

  /** Holds these and no others. Keeps what is known about those already held. */
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

  /** Another renewer had these leases until now, so assume that they were just renewed. */
  trust(): void {
    const goodUntil = this.#clock.monotonic() + this.#leaseMs;
    for (const entry of this.#held.values()) entry.goodUntil = goodUntil;
  }

  /** Renews leases before their time to stop (with `onlyBounded`, only those that have one) and forgets those that are gone. */
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
    // A timer is this late only if a handler blocked the event loop: the answer may already be in the socket.
    const wasBlocked = this.#clock.monotonic() - askedAt > 1.5 * patienceMs;
    if (results === null && wasBlocked) results = await atMost(this.#clock, patienceMs, call);
    if (results !== null) return this.#apply(entries, results, gone);
    call.then(
      (late) => this.#apply(entries, late, this.#goneLate),
      () => {},
    );
    throw new Error("the store did not answer within the time of a beat");
  }

  #apply(entries: readonly Entry[], results: readonly LeaseAnswer[], gone: GoneLease[]): void {
    const goodUntil = this.#clock.monotonic() + this.#leaseMs;
    entries.forEach((entry, index) => {
      // Dropped, or replaced by a newer lease, during the call.
      if (this.#held.get(entry.id) !== entry) return;
      const result = results[index];
      if (result === "ok" || result === undefined) entry.goodUntil = goodUntil;
      // Nobody else can claim a job whose row is locked. The next beat tries again.
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
