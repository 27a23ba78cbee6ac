/**
 * RENEWS LEASES FROM A THREAD (beat-thread.ts), one for all workers of a client.
 *
 * The first lease starts the thread, which never keeps the process alive. Until it is ready, after it died, and if it cannot start at all (a
 * bundle without its file), beats run on the main thread over the client: then a blocked event loop can lose a lease.
 */
import { Worker } from "node:worker_threads";
import type { LeaseRef } from "../../client/client.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import { Loop } from "../../lib/loop.ts";
import type { BeatThreadData, FromThread, ToThread } from "./beat-thread.ts";
import { beatMsOf, retryBeatMs } from "./beat-times.ts";
import { Beat, type BeatTarget, type Renewer, type RenewerFactory, type RenewerOptions } from "./heartbeat.ts";
import type { GoneLease, HeldLease } from "./lease-book.ts";
import { SharedLeases } from "./shared-leases.ts";

const FIRST_RESTART_MS = 1000;
const LONGEST_RESTART_MS = 60_000;
/**
 * How long the thread may take to end. It ends by itself, whatever its store does; on a busy machine it may have to start first. It is stopped from
 * outside only if it hangs, because that could happen anywhere, also in the middle of loading its modules.
 */
const CLOSE_MS = 30_000;

export interface ThreadRenewerOptions {
  /** The URL of the store, which the thread opens again. */
  readonly url: string;
  /** How long the calls of the thread may wait for the store. */
  readonly deadlineMs: number;
  /** For beats on the main thread. */
  readonly leases: BeatTarget;
  readonly clock: Clock;
}

export class ThreadRenewer {
  readonly #options: ThreadRenewerOptions;
  readonly #workers = new Map<number, WorkerRenewer>();
  readonly #waiting = new Map<number, () => void>();
  #thread: Worker | null = null;
  #isReady = false;
  #deaths = 0;
  #restart: Timer | null = null;
  #isClosed = false;
  #count = 0;

  constructor(options: ThreadRenewerOptions) {
    this.#options = options;
  }

  /** Makes the renewer of one worker, for startWorker. */
  readonly forWorker: RenewerFactory = (options) => {
    const number = ++this.#count;
    const renewer = new WorkerRenewer(number, this, this.#options, options);
    this.#workers.set(number, renewer);
    return renewer;
  };

  /** Resolves when the thread has ended, and never uses the store again. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#restart?.cancel();
    const thread = this.#thread;
    if (thread === null) return;
    const ended = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    thread.ref();
    this.post({ kind: "close" });
    const timer = setTimeout(() => void thread.terminate(), CLOSE_MS);
    await ended;
    clearTimeout(timer);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether there is a thread. Messages posted before it is ready wait for it. */
  start(): boolean {
    if (this.#thread === null && this.#restart === null && !this.#isClosed) this.#begin();
    return this.#thread !== null;
  }

  post(message: ToThread): void {
    this.#thread?.postMessage(message);
  }

  /** Posts a message, and resolves when it was answered or the thread has died. */
  async ask(message: (token: number) => ToThread): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    const token = ++this.#count;
    // The thread keeps the process alive only while somebody waits for an answer.
    thread.ref();
    await new Promise<void>((resolve) => {
      this.#waiting.set(token, resolve);
      this.post(message(token));
    });
    if (this.#waiting.size === 0) thread.unref();
  }

  forget(number: number): void {
    this.#workers.delete(number);
  }

  /** If threads are not allowed, or there is no memory for them, that is like a thread that died. */
  #begin(): void {
    try {
      this.#thread = this.#makeThread();
    } catch (error) {
      this.#died(error);
    }
  }

  #makeThread(): Worker {
    const { url, deadlineMs } = this.#options;
    const workerData: BeatThreadData = { url, deadlineMs };
    // The sources run as they are; the package has compiled files.
    const file = new URL(import.meta.url.endsWith(".ts") ? "./beat-thread.ts" : "./beat-thread.js", import.meta.url);
    // Without the flags of the process: a thread that runs a file refuses some of them (--input-type, --eval).
    const thread = new Worker(file, { workerData, name: "millrace-beat", execArgv: [] });
    thread.on("message", (message: FromThread) => this.#receive(message));
    let failure: unknown = null;
    thread.on("error", (error) => {
      failure = error;
    });
    thread.on("exit", () => this.#died(failure));
    // Only after its listeners are added: each new one would keep the process alive again.
    thread.unref();
    return thread;
  }

  #receive(message: FromThread): void {
    switch (message.kind) {
      case "ready":
        this.#isReady = true;
        this.#deaths = 0;
        return;
      case "gone":
        this.#workers.get(message.worker)?.goneInThread(message.leases);
        return;
      case "done":
        this.#waiting.get(message.token)?.();
        this.#waiting.delete(message.token);
    }
  }

  #died(error: unknown): void {
    this.#thread = null;
    this.#isReady = false;
    for (const resolve of this.#waiting.values()) resolve();
    this.#waiting.clear();
    if (this.#isClosed) return;
    const delayMs = Math.min(LONGEST_RESTART_MS, FIRST_RESTART_MS * 2 ** Math.min(this.#deaths++, 10));
    this.#restart = this.#options.clock.setTimer(() => {
      this.#restart = null;
      for (const worker of this.#workers.values()) worker.tellNewThread();
    }, delayMs);
    for (const worker of this.#workers.values()) worker.threadDied(error, this.#deaths === 1);
  }
}

/** The renewer of one worker. It has its own book, to know what is still held and to continue without the thread. */
class WorkerRenewer implements Renewer {
  readonly #number: number;
  readonly #thread: ThreadRenewer;
  readonly #options: RenewerOptions;
  readonly #beat: Beat;
  readonly #loop: Loop;
  /** What is held, in memory that the thread can read. */
  readonly #shared = new SharedLeases((buffer) => this.#postLeases(buffer));
  #isTold = false;

  constructor(number: number, thread: ThreadRenewer, { leases, clock }: ThreadRenewerOptions, options: RenewerOptions) {
    this.#number = number;
    this.#thread = thread;
    this.#options = options;
    this.#beat = new Beat(leases, clock, options, this.#shared);
    this.#loop = new Loop({ clock, turn: () => this.#turn(), onError: () => retryBeatMs(options.leaseMs) });
    queueMicrotask(() => this.#loop.start());
  }

  hold(leases: readonly HeldLease[]): void {
    if (leases.length === 0) return;
    this.#beat.book.hold(leases);
    if (!this.#isTold) this.#tellThread();
  }

  drop(leases: readonly LeaseRef[]): void {
    this.#beat.book.drop(leases);
  }

  async beatNow(): Promise<void> {
    if (this.#thread.isReady) await this.#thread.ask((token) => ({ kind: "beat", worker: this.#number, token }));
    else await this.#loop.turnNow();
  }

  async stop(): Promise<void> {
    this.#options.onStopped?.();
    await this.#loop.stop();
    this.#thread.forget(this.#number);
    // A thread that is not ready has no entry of this worker, and learns of its end before it could write anything.
    if (this.#thread.isReady) await this.#thread.ask((token) => ({ kind: "leave", worker: this.#number, token }));
    else this.#thread.post({ kind: "leave", worker: this.#number, token: 0 });
  }

  goneInThread(leases: readonly GoneLease[]): void {
    // Ignore leases that were settled or given back meanwhile.
    const held = leases.filter((lease) => this.#beat.book.has(lease));
    this.#beat.book.drop(held);
    if (held.length > 0) this.#options.onGone(held);
  }

  threadDied(error: unknown, isFirst: boolean): void {
    this.#isTold = false;
    this.#beat.book.trust();
    this.#loop.wake();
    if (!isFirst) return;
    const reason = error instanceof Error ? error.message : "it ended";
    this.#options.onTrouble({
      kind: "thread",
      message: `the thread that renews leases died (${reason}) and will be restarted; until then a handler that blocks the event loop may lose its lease`,
      error,
    });
  }

  tellNewThread(): void {
    if (!this.#beat.book.isEmpty) this.#tellThread();
    this.#loop.wake();
  }

  #tellThread(): void {
    if (!this.#thread.start()) return;
    this.#isTold = true;
    this.#postLeases(this.#shared.buffer);
  }

  #postLeases(buffer: SharedArrayBuffer): void {
    this.#thread.post({ kind: "leases", worker: this.#number, leaseMs: this.#options.leaseMs, buffer });
  }

  /** With a thread: a sign of life, and the worker's entry. Without one: the whole beat. */
  async #turn(): Promise<number> {
    if (!this.#thread.isReady) return this.#beat.turn();
    const { leaseMs, entry } = this.#options;
    this.#thread.post({ kind: "entry", worker: this.#number, leaseMs, entry: entry() });
    return beatMsOf(leaseMs);
  }
}
