/**
 * THE HEARTBEAT of a worker: one beat renews all its leases, keeps its entry in the registry fresh, and brings back which leases are gone.
 *
 * Here it beats from the main loop, which is right for a store inside this process and for a server far away. For a store that can be
 * opened twice, connect() hands in one that beats from a thread (src/thread-renewer.ts), which a handler that blocks the loop cannot stop.
 */
import type { LeaseRef, Leases } from "../client/client.ts";
import type { WorkerEntry } from "../core/worker-entry.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { atMost, type Clock } from "../lib/clock.ts";
import { Loop } from "../lib/loop.ts";
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

export interface RenewerOptions {
  readonly leaseMs: number;
  /** What the worker says about itself now. */
  readonly entry: () => WorkerEntry;
  readonly onGone: (leases: readonly GoneLease[]) => void;
  readonly onTrouble: OnTrouble;
  /** It will not beat any more. */
  readonly onStopped?: () => void;
}

/** Makes the renewer of one worker. It beats from the end of this tick on, when the worker can say who it is. */
export type RenewerFactory = (options: RenewerOptions) => Renewer;

/** Beats from the main loop, over the client that the worker has anyway. */
export function localRenewer(leases: Pick<Leases, "extend" | "register">, clock: Clock): RenewerFactory {
  return (options) => new LocalRenewer(leases, clock, options);
}

class LocalRenewer implements Renewer {
  readonly #options: RenewerOptions;
  readonly #beat: MainBeat;
  readonly #loop: Loop;

  constructor(leases: Pick<Leases, "extend" | "register">, clock: Clock, options: RenewerOptions) {
    this.#options = options;
    this.#beat = new MainBeat(leases, clock, options);
    this.#loop = new Loop({ clock, turn: () => this.#beat.turn(), onError: () => retryBeatMs(options.leaseMs) });
    queueMicrotask(() => this.#loop.start());
  }

  hold(leases: readonly HeldLease[]): void {
    this.#beat.book.hold(leases);
  }

  drop(leases: readonly LeaseRef[]): void {
    this.#beat.book.drop(leases);
  }

  beatNow(): Promise<void> {
    return this.#loop.turnNow();
  }

  stop(): Promise<void> {
    this.#options.onStopped?.();
    return this.#loop.stop();
  }
}

/** A beat of the main loop: over the client, all leases that are in the book, and the worker's entry. */
export class MainBeat {
  readonly book: LeaseBook;
  readonly #leases: Pick<Leases, "extend">;
  readonly #clock: Clock;
  readonly #options: RenewerOptions;
  readonly #registrar: Registrar;

  constructor(leases: Pick<Leases, "extend" | "register">, clock: Clock, options: RenewerOptions, copy: BookCopy | null = null) {
    this.book = new LeaseBook(options.leaseMs, clock, copy);
    this.#leases = leases;
    this.#clock = clock;
    this.#options = options;
    this.#registrar = new Registrar(leases, clock, options);
  }

  /** Beats, and answers how long to rest. */
  async turn(): Promise<number> {
    const { leaseMs, onGone } = this.#options;
    const [{ gone, error }] = await Promise.all([
      this.book.renew((refs) => this.#leases.extend(refs, leaseMs)),
      atMost(this.#clock, beatMsOf(leaseMs), this.#registrar.registerIfDue()),
    ]);
    if (gone.length > 0) onGone(gone);
    return error === null ? beatMsOf(leaseMs) : retryBeatMs(leaseMs);
  }
}

/** Writes a worker's entry once a beat, and sooner when its state changed: hints can make beats come much more often than that. */
class Registrar {
  readonly #leases: Pick<Leases, "register">;
  readonly #clock: Clock;
  readonly #options: RenewerOptions;
  #writtenAt = -Infinity;
  #state: WorkerEntry["state"] | null = null;
  /** One that waits for a store that is away is enough. */
  #isUnderWay = false;

  constructor(leases: Pick<Leases, "register">, clock: Clock, options: RenewerOptions) {
    this.#leases = leases;
    this.#clock = clock;
    this.#options = options;
  }

  /** A failure is left to the next beat: the registry is for people, and the beat must go on. */
  async registerIfDue(): Promise<void> {
    const { leaseMs, entry } = this.#options;
    const now = this.#clock.monotonic();
    const worker = entry();
    if (this.#isUnderWay || (worker.state === this.#state && now - this.#writtenAt < beatMsOf(leaseMs) / 2)) return;
    this.#isUnderWay = true;
    try {
      await this.#leases.register(worker, entryTtlMs(leaseMs));
      this.#writtenAt = now;
      this.#state = worker.state;
    } catch {
      this.#state = null;
    } finally {
      this.#isUnderWay = false;
    }
  }
}
