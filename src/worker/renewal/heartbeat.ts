/**
 * THE HEARTBEAT of a worker: one beat renews all its leases, keeps its entry in the registry fresh, and brings back which leases are gone.
 *
 * Here it beats from the main loop, which is right for a store inside this process and for a server far away. For a store that can be
 * opened twice, connect() hands in one that beats from a thread (thread-renewer.ts), which a handler that blocks the loop cannot stop.
 */
import type { LeaseRef, Leases } from "../../client/client.ts";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import type { OnTrouble } from "../../core/trouble.ts";
import { atMost, type Clock } from "../../lib/clock.ts";
import { Loop } from "../../lib/loop.ts";
import { beatMsOf, entryTtlMs, retryBeatMs } from "./beat-times.ts";
import { type BookCopy, type GoneLease, type HeldLease, LeaseBook } from "./lease-book.ts";

/** Keeps the leases of one worker. None of these throws. */
export interface Renewer {
  /** From now on these are renewed. */
  hold(leases: readonly HeldLease[]): void;
  /** These are not, any more: `onGone` will not be called for them. */
  drop(leases: readonly LeaseRef[]): void;
  /** Resolves after a beat that began after the call. Never rejects. */
  beatNow(): Promise<void>;
  /** The last beat is over when this resolves. The entry in the registry stays until it is taken out or runs out. */
  stop(): Promise<void>;
}

/** What a beat says and asks for. */
interface BeatOptions {
  readonly leaseMs: number;
  /** What the worker says about itself now; null is nothing yet. */
  readonly entry: () => WorkerEntry | null;
  readonly onGone: (leases: readonly GoneLease[]) => void;
}

export interface RenewerOptions extends BeatOptions {
  readonly entry: () => WorkerEntry;
  readonly onTrouble: OnTrouble;
  /** It will not beat any more. */
  readonly onStopped?: () => void;
}

/** Makes the renewer of one worker. It beats from the end of this tick on, when the worker can say who it is. */
export type RenewerFactory = (options: RenewerOptions) => Renewer;

/** Where a beat goes. */
export type BeatTarget = Pick<Leases, "extend" | "register">;

/** Beats from the main loop, over the client that the worker has anyway. */
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

/** One beat: renews all leases in the book and keeps the worker's entry fresh. The same on the main loop and in the thread. */
export class Beat {
  readonly book: LeaseBook;
  readonly #target: BeatTarget;
  readonly #clock: Clock;
  readonly #options: BeatOptions;
  #writtenAt = -Infinity;
  #writtenState: WorkerEntry["state"] | null = null;
  /** One that waits for a store that is away is enough. */
  #isRegistering = false;

  constructor(target: BeatTarget, clock: Clock, options: BeatOptions, copy: BookCopy | null = null) {
    this.book = new LeaseBook(options.leaseMs, clock, copy);
    this.#target = target;
    this.#clock = clock;
    this.#options = options;
  }

  /** Beats, and answers how long to rest. With `onlyBounded`, leases without a time to stop are not renewed. */
  async turn(onlyBounded = false): Promise<number> {
    const { leaseMs, onGone } = this.#options;
    const [{ gone, error }] = await Promise.all([
      this.book.renew((refs) => this.#target.extend(refs, leaseMs), onlyBounded),
      atMost(this.#clock, beatMsOf(leaseMs), this.#registerIfDue()),
    ]);
    if (gone.length > 0) onGone(gone);
    return error === null ? beatMsOf(leaseMs) : retryBeatMs(leaseMs);
  }

  /**
   * Once a beat, and sooner when the worker's state changed: hints can make beats come much more often than that. A failure is left to the
   * next beat: the registry is for people, and the leases must go on.
   */
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
