/**
 * THE BEAT THREAD: renews the leases of a process over a store connection of its own, so that a handler which blocks the main loop does not
 * lose its lease. src/thread-renewer.ts starts it and is the other end of its messages.
 *
 * It must not keep a hung process's jobs for ever either. A lease comes with the time after which it is no longer renewed (a little beyond
 * the job's timeout); leases without one are renewed only while the main loop gives a sign of life.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { WorkerEntry } from "./core/worker-entry.ts";
import { atMost, systemClock } from "./lib/clock.ts";
import { Loop } from "./lib/loop.ts";
import { openStore } from "./store/open-store.ts";
import { readSharedLeases } from "./shared-leases.ts";
import { beatMsOf, entryTtlMs, retryBeatMs } from "./worker/beat-times.ts";
import { type GoneLease, LeaseBook } from "./worker/lease-book.ts";

/** What the thread is started with. */
export interface BeatThreadData {
  readonly url: string;
  readonly deadlineMs: number;
}

/** What the main loop says. `crew` is the number of a worker. */
export type ToThread =
  /** Where its leases are from now on: read them by `readSharedLeases`. */
  | { readonly kind: "leases"; readonly crew: number; readonly leaseMs: number; readonly buffer: SharedArrayBuffer }
  /** Also the sign of life. */
  | { readonly kind: "entry"; readonly crew: number; readonly leaseMs: number; readonly entry: WorkerEntry }
  | { readonly kind: "beat"; readonly crew: number; readonly token: number }
  | { readonly kind: "leave"; readonly crew: number; readonly token: number }
  | { readonly kind: "close" };

/** What the thread says. */
export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "gone"; readonly crew: number; readonly leases: readonly GoneLease[] }
  /** Answers `beat` and `leave`. */
  | { readonly kind: "done"; readonly token: number };

const LONGEST_SILENCE_MS = 5 * 60_000;

const clock = systemClock;
const port = parentPort!;
const { url, deadlineMs } = workerData as BeatThreadData;
// Beats have a connection of their own, and a warning was given where the process opened the store.
const store = await openStore(url, { clock, deadlineMs, poolSize: 1, onWarning: () => {} });
const crews = new Map<number, Crew>();
let heardAt = clock.monotonic();

/** The leases and the registry entry of one worker. */
class Crew {
  readonly loop: Loop;
  entry: WorkerEntry | null = null;
  /** Null until it holds its first lease. */
  leases: SharedArrayBuffer | null = null;
  readonly #book: LeaseBook;
  readonly #number: number;
  readonly #leaseMs: number;
  #hasLooked = false;
  #written: WorkerEntry | null = null;
  #writtenAt = -Infinity;
  /** One that waits for a store that is away is enough. */
  #isRegistering = false;

  constructor(number: number, leaseMs: number) {
    this.#number = number;
    this.#leaseMs = leaseMs;
    this.#book = new LeaseBook(leaseMs, clock);
    this.loop = new Loop({ clock, turn: () => this.#beat(), onError: () => retryBeatMs(leaseMs) });
    this.loop.start();
  }

  async #beat(): Promise<number> {
    const leaseMs = this.#leaseMs;
    const isSilent = clock.monotonic() - heardAt > LONGEST_SILENCE_MS;
    if (this.leases !== null) this.#look(this.leases);
    const [{ gone, error }] = await Promise.all([
      this.#book.renew((leases) => store.extend(leases.map((lease) => ({ ...lease, leaseMs }))), isSilent),
      atMost(clock, beatMsOf(leaseMs), this.#register()),
    ]);
    if (gone.length > 0) say({ kind: "gone", crew: this.#number, leases: gone });
    return error === null ? beatMsOf(leaseMs) : retryBeatMs(leaseMs);
  }

  #look(leases: SharedArrayBuffer): void {
    this.#book.match(readSharedLeases(leases));
    // A thread that begins anew finds leases that were renewed without it until now.
    if (!this.#hasLooked) this.#book.trust();
    this.#hasLooked = true;
  }

  /** Once a beat; hints make beats come more often. It goes on while the main loop is blocked, so that the worker does not look dead. */
  async #register(): Promise<void> {
    const { entry } = this;
    const now = clock.monotonic();
    if (this.#isRegistering || entry === null || (entry === this.#written && now - this.#writtenAt < beatMsOf(this.#leaseMs) / 2)) return;
    this.#isRegistering = true;
    try {
      await store.register(entry, entryTtlMs(this.#leaseMs));
      this.#written = entry;
      this.#writtenAt = now;
    } catch {
      // Left to the next beat: the registry is for people, and the leases must go on.
    } finally {
      this.#isRegistering = false;
    }
  }
}

function say(message: FromThread): void {
  port.postMessage(message);
}

function crewOf(number: number, leaseMs: number): Crew {
  let crew = crews.get(number);
  if (crew === undefined) {
    crew = new Crew(number, leaseMs);
    crews.set(number, crew);
  }
  return crew;
}

async function hear(message: ToThread): Promise<void> {
  heardAt = clock.monotonic();
  switch (message.kind) {
    case "leases":
      crewOf(message.crew, message.leaseMs).leases = message.buffer;
      return;
    case "entry":
      crewOf(message.crew, message.leaseMs).entry = message.entry;
      return;
    case "beat":
      await crews.get(message.crew)?.loop.turnNow();
      say({ kind: "done", token: message.token });
      return;
    case "leave":
      await crews.get(message.crew)?.loop.stop();
      crews.delete(message.crew);
      say({ kind: "done", token: message.token });
      return;
    case "close":
      await Promise.all(Array.from(crews.values(), (crew) => crew.loop.stop()));
      await store.close();
      port.close();
  }
}

port.on("message", (message: ToThread) => void hear(message));
say({ kind: "ready" });
