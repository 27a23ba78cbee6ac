/**
 * THE BEAT THREAD: renews the leases of a process over its own store connection, so that a handler that blocks the event loop does not lose its
 * lease. thread-renewer.ts starts it and exchanges messages with it.
 *
 * It must not keep the jobs of a hung process for ever. A lease comes with the time at which renewal stops (a little after the job's timeout);
 * leases without one are renewed only while the main thread gives a sign of life.
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

export interface BeatThreadData {
  readonly url: string;
  readonly deadlineMs: number;
}

/** Messages of the main thread. `worker` is a number. */
export type ToThread =
  /** The memory of its leases from now on: read it with `readSharedLeases`. */
  | { readonly kind: "leases"; readonly worker: number; readonly leaseMs: number; readonly buffer: SharedArrayBuffer }
  /** Also the sign of life. */
  | { readonly kind: "entry"; readonly worker: number; readonly leaseMs: number; readonly entry: WorkerEntry }
  | { readonly kind: "beat"; readonly worker: number; readonly token: number }
  | { readonly kind: "leave"; readonly worker: number; readonly token: number }
  | { readonly kind: "close" };

/** Messages of the thread. */
export type FromThread =
  | { readonly kind: "ready" }
  | { readonly kind: "gone"; readonly worker: number; readonly leases: readonly GoneLease[] }
  /** Answers `beat` and `leave`. */
  | { readonly kind: "done"; readonly token: number };

const LONGEST_SILENCE_MS = 5 * 60_000;

const clock = systemClock;
const port = parentPort!;
const { url, deadlineMs } = workerData as BeatThreadData;
// Beats have a connection of their own. Warnings were given when the process opened the store.
const opening = openStore(url, { clock, deadlineMs, poolSize: 1, onWarning: () => {} });
let store: Awaited<typeof opening> | null = null;
const target: BeatTarget = {
  extend: (leases, leaseMs) => store!.extend(leases.map((lease) => ({ ...lease, leaseMs }))),
  register: (entry, ttlMs) => store!.register(entry, ttlMs),
};
const workers = new Map<number, ThreadWorker>();
let heardAt = clock.monotonic();

/** The leases and the entry of one worker. Beats go on while the main thread is blocked, so that the worker does not look dead. */
class ThreadWorker {
  readonly loop: Loop;
  entry: WorkerEntry | null = null;
  /** Null until it holds its first lease. */
  leases: SharedArrayBuffer | null = null;
  readonly #beat: Beat;
  #hasLooked = false;

  constructor(worker: number, leaseMs: number) {
    this.#beat = new Beat(target, clock, { leaseMs, entry: () => this.entry, onGone: (leases) => post({ kind: "gone", worker, leases }) });
    this.loop = new Loop({ clock, turn: () => this.#turn(), onError: () => retryBeatMs(leaseMs) });
    this.loop.start();
  }

  #turn(): Promise<number> {
    if (this.leases !== null) this.#look(this.leases);
    return this.#beat.turn(clock.monotonic() - heardAt > LONGEST_SILENCE_MS);
  }

  #look(leases: SharedArrayBuffer): void {
    this.#beat.book.match(readSharedLeases(leases));
    // A restarted thread finds leases that others renewed until now.
    if (!this.#hasLooked) this.#beat.book.trust();
    this.#hasLooked = true;
  }
}

function post(message: FromThread): void {
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

async function receive(message: ToThread): Promise<void> {
  heardAt = clock.monotonic();
  if (store === null) {
    // Ends this thread, not the process: the store may not answer for long.
    if (message.kind === "close") process.exit();
    await opening;
  }
  switch (message.kind) {
    case "leases":
      workerOf(message.worker, message.leaseMs).leases = message.buffer;
      return;
    case "entry":
      workerOf(message.worker, message.leaseMs).entry = message.entry;
      return;
    case "beat":
      await workers.get(message.worker)?.loop.turnNow();
      post({ kind: "done", token: message.token });
      return;
    case "leave":
      await workers.get(message.worker)?.loop.stop();
      workers.delete(message.worker);
      post({ kind: "done", token: message.token });
      return;
    case "close":
      await close();
  }
}

/** Every worker has stopped, so no beat matters any more: a store that does not answer is not waited for. */
async function close(): Promise<void> {
  const stopped = Promise.all(Array.from(workers.values(), (worker) => worker.loop.stop()));
  await store!.close(AbortSignal.abort());
  await stopped;
  port.close();
}

port.on("message", (message: ToThread) => void receive(message));
store = await opening;
post({ kind: "ready" });
