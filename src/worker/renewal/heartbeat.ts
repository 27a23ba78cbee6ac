/**
 * THE HEARTBEAT of a worker: one beat renews all its leases, refreshes its entry in the list of workers, and finds out which leases are gone.
 *
 * Here it runs on the main thread, which suits a store inside this process and a remote server. For a store that can be opened twice, connect()
 * passes in one that runs in a thread (thread-renewer.ts), which a blocking handler cannot stop.
 */
import type { LeaseRef, Leases } from "../../client/client.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { OnTrouble } from "../../core/trouble.ts";
import { atMost, type Clock } from "../../lib/clock.ts";
import { Loop } from "../../lib/loop.ts";
import { beatMsOf, entryTtlMs, retryBeatMs } from "./beat-times.ts";
import { type BookCopy, type GoneLease, type HeldLease, LeaseBook } from "./lease-book.ts";

/** Renews the leases of one worker. None of these throws. */
export interface Renewer {
  /** Renews these from now on. */
  hold(leases: readonly HeldLease[]): void;
  /** Stops renewing these: `onGone` is not called for them. */
  drop(leases: readonly LeaseRef[]): void;
  /** Resolves after a beat that started after the call. Never rejects. */
  beatNow(): Promise<void>;
  /** Resolves when the last beat is over. The entry stays until it is removed or expires. */
  stop(): Promise<void>;
}

interface BeatOptions {
  readonly leaseMs: number;
  /** The worker's current entry; null before the first. */
  readonly entry: () => WorkerEntry | null;
  readonly onGone: (leases: readonly GoneLease[]) => void;
}

export interface RenewerOptions extends BeatOptions {
  readonly entry: () => WorkerEntry;
  readonly onTrouble: OnTrouble;
  /** Called when there will be no more beats. */
  readonly onStopped?: () => void;
}

/** Makes the renewer of one worker. Beats start at the end of this tick, when the worker has its entry. */
export type RenewerFactory = (options: RenewerOptions) => Renewer;

export type BeatTarget = Pick<Leases, "extend" | "register">;

/** Beats on the main thread, over the client that the worker has anyway. */
export function localRenewer(leases: BeatTarget, clock: Clock): RenewerFactory {
  return (options) => {
    const beat = new Beat(leases, clock, options);
    const loop = new Loop({ clock, turn: () => beat.turn(), onError: () => retryBeatMs(options.leaseMs) });
    queueMicrotask(() => loop.start());
    return {
      hold: (held) => beat.book.hold(held),
      drop: (dropped) => beat.book.drop(dropped),
      beatNow: () => loop.turnNow(),
      stop() {
        options.onStopped?.();
        return loop.stop();
      },
    };
  };
}

/** One beat: renews all leases in the book and refreshes the worker's entry. The same on the main thread and in the beat thread. */
export class Beat {
  readonly book: LeaseBook;
  readonly #target: BeatTarget;
  readonly #clock: Clock;
  readonly #options: BeatOptions;
  #writtenAt = -Infinity;
  #writtenState: WorkerEntry["state"] | null = null;
  /** One call that waits for an unreachable store is enough. */
  #isRegistering = false;

  constructor(target: BeatTarget, clock: Clock, options: BeatOptions, copy: BookCopy | null = null) {
    this.book = new LeaseBook(options.leaseMs, clock, copy);
    this.#target = target;
    this.#clock = clock;
    this.#options = options;
  }

  /** Beats, and returns how long to rest. With `onlyBounded`, renews only leases with a time to stop. */
  async turn(onlyBounded = false): Promise<number> {
    const { leaseMs, onGone } = this.#options;
    const [{ gone, error }] = await Promise.all([
      this.book.renew((refs) => this.#target.extend(refs, leaseMs), onlyBounded),
      atMost(this.#clock, beatMsOf(leaseMs), this.#registerIfDue()),
    ]);
    if (gone.length > 0) onGone(gone);
    return error === null ? beatMsOf(leaseMs) : retryBeatMs(leaseMs);
  }

  /** Once a beat, or if the worker's state changed. A failure waits for the next beat: the entry is for people, and leases come first. */
  async #registerIfDue(): Promise<void> {
    const { leaseMs, entry } = this.#options;
    const now = this.#clock.monotonic();
    const worker = entry();
    if (worker === null || this.#isRegistering) return;
    if (worker.state === this.#writtenState && now - this.#writtenAt < beatMsOf(leaseMs) / 2) return;
    this.#isRegistering = true;
    try {
      await this.#target.register(worker, entryTtlMs(leaseMs));
      this.#writtenAt = now;
      this.#writtenState = worker.state;
    } catch {
      this.#writtenState = null;
    } finally {
      this.#isRegistering = false;
    }
  }
}
