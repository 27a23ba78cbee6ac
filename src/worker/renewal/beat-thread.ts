/**
 * THE BEAT THREAD: renews the leases of a process over a store connection of its own, so that a handler which blocks the main loop does not
 * lose its lease. thread-renewer.ts starts it and is the other end of its messages.
 *
 * It must not keep a hung process's jobs for ever either. A lease comes with the time after which it is no longer renewed (a little beyond
 * the job's timeout); leases without one are renewed only while the main loop gives a sign of life.
 */
import { parentPort, workerData } from "node:worker_threads";
import type { WorkerEntry } from "../../core/worker-entry.ts";
import { systemClock } from "../../lib/clock.ts";
import { Loop } from "../../lib/loop.ts";
import { openStore } from "../../store/open-store.ts";
import { retryBeatMs } from "./beat-times.ts";
import { Beat, type BeatTarget } from "./heartbeat.ts";
import type { GoneLease } from "./lease-book.ts";
import { readSharedLeases } from "./shared-leases.ts";

/** What the thread is started with. */
export interface BeatThreadData {
  readonly url: string;
  readonly deadlineMs: number;
}

/** What the main loop says. `worker` is its number. */
export type ToThread =
  /** Where its leases are from now on: read them by `readSharedLeases`. */
  | { readonly kind: "leases"; readonly worker: number; readonly leaseMs: number; readonly buffer: SharedArrayBuffer }
  /** Also the sign of life. */
  | { readonly kind: "entry"; readonly worker: number; readonly leaseMs: number; readonly entry: WorkerEntry }
  | { readonly kind: "beat"; readonly worker: number; readonly token: number }
  | { readonly kind: "leave"; readonly worker: number; readonly token: number }
  | { readonly kind: "close" };

/** What the thread says. */
export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "gone"; readonly worker: number; readonly leases: readonly GoneLease[] }
  /** Answers `beat` and `leave`. */
  | { readonly kind: "done"; readonly token: number };

const LONGEST_SILENCE_MS = 5 * 60_000;

const clock = systemClock;
const port = parentPort!;
const { url, deadlineMs } = workerData as BeatThreadData;
// Beats have a connection of their own, and a warning was given where the process opened the store.
const store = await openStore(url, { clock, deadlineMs, poolSize: 1, onWarning: () => {} });
const target: BeatTarget = {
  extend: (leases, leaseMs) => store.extend(leases.map((lease) => ({ ...lease, leaseMs }))),
  register: (entry, ttlMs) => store.register(entry, ttlMs),
};
const workers = new Map<number, ThreadWorker>();
let heardAt = clock.monotonic();

/** The leases and the registry entry of one worker. Beats go on while the main loop is blocked, so that the worker does not look dead. */
class ThreadWorker {
  readonly loop: Loop;
  entry: WorkerEntry | null = null;
  /** Null until it holds its first lease. */
  leases: SharedArrayBuffer | null = null;
  readonly #beat: Beat;
  #hasLooked = false;

  constructor(worker: number, leaseMs: number) {
    this.#beat = new Beat(target, clock, { leaseMs, entry: () => this.entry, onGone: (leases) => say({ kind: "gone", worker, leases }) });
    this.loop = new Loop({ clock, turn: () => this.#turn(), onError: () => retryBeatMs(leaseMs) });
    this.loop.start();
  }

  #turn(): Promise<number> {
    if (this.leases !== null) this.#look(this.leases);
    return this.#beat.turn(clock.monotonic() - heardAt > LONGEST_SILENCE_MS);
  }

  #look(leases: SharedArrayBuffer): void {
    this.#beat.book.match(readSharedLeases(leases));
    // A thread that begins anew finds leases that were renewed without it until now.
    if (!this.#hasLooked) this.#beat.book.trust();
    this.#hasLooked = true;
  }
}

function say(message: FromThread): void {
  port.postMessage(message);
}

function workerOf(number: number, leaseMs: number): ThreadWorker {
  let worker = workers.get(number);
  if (worker === undefined) {
    worker = new ThreadWorker(number, leaseMs);
    workers.set(number, worker);
  }
  return worker;
}

async function hear(message: ToThread): Promise<void> {
  heardAt = clock.monotonic();
  switch (message.kind) {
    case "leases":
      workerOf(message.worker, message.leaseMs).leases = message.buffer;
      return;
    case "entry":
      workerOf(message.worker, message.leaseMs).entry = message.entry;
      return;
    case "beat":
      await workers.get(message.worker)?.loop.turnNow();
      say({ kind: "done", token: message.token });
      return;
    case "leave":
      await workers.get(message.worker)?.loop.stop();
      workers.delete(message.worker);
      say({ kind: "done", token: message.token });
      return;
    case "close":
      await Promise.all(Array.from(workers.values(), (worker) => worker.loop.stop()));
      await store.close();
      port.close();
  }
}

port.on("message", (message: ToThread) => void hear(message));
say({ kind: "ready" });
