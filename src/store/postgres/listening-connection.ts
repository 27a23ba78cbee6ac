import type { Clock } from "../../lib/clock.ts";
import { sleep } from "../../lib/clock.ts";
import type { Connections } from "./connections.ts";
import { configureSession } from "./session.ts";

export interface ListeningOptions {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** Hints may have been missed: look at everything. */
  readonly onLook: () => void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** How often to look if notifications do not arrive. */
const POLL_MS = 1_000;
/** How often to test the connection, and how long it may take to answer. */
const TRIAL_MS = 15_000;
const PATIENCE_MS = 5_000;

/**
 * THE CONNECTION THAT LISTENS. Notifications come only to the connection that asked for them, so it has its own. If it is lost, by a
 * restart or a silent network, it is replaced, and since hints may have been missed everything is looked at once.
 *
 * Behind a pooler that passes connections around, LISTEN is accepted and nothing ever arrives. So the connection is tested with a message
 * to itself; if that does not arrive, it polls every second instead, and tests again from time to time.
 */
export class ListeningConnection {
  readonly #options: ListeningOptions;
  #stop: AbortController | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ListeningOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#stop !== null) return;
    const stop = new AbortController();
    this.#stop = stop;
    this.#running = this.#running.then(() => this.#run(stop.signal));
  }

  /** Resolves when the connection is closed. */
  async stop(): Promise<void> {
    this.#stop?.abort();
    this.#stop = null;
    await this.#running;
  }

  async #run(stop: AbortSignal): Promise<void> {
    const { clock, onLook } = this.#options;
    for (let failures = 0; !stop.aborted; failures++) {
      const began = performance.now();
      try {
        await this.#listen(stop);
      } catch {
        // The next try may work.
      }
      if (stop.aborted) return;
      if (performance.now() - began > LONGEST_PAUSE_MS) failures = 0;
      await sleep(clock, Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures), stop);
      if (!stop.aborted) onLook();
    }
  }

  /** Listens until the connection is lost or `stop` aborts. */
  async #listen(stop: AbortSignal): Promise<void> {
    const { connections, clock, channel, onPayload, onLook } = this.#options;
    const client = connections.single();
    const lost = new AbortController();
    const over = AbortSignal.any([stop, lost.signal]);
    const trial = { word: `trial ${Math.random()}`, heard: false };
    client.on("error", () => lost.abort());
    client.on("end", () => lost.abort());
    client.on("notification", ({ payload = "" }) => {
      if (payload === trial.word) trial.heard = true;
      else if (!stop.aborted) onPayload(payload);
    });
    const say = (text: string): Promise<void> => bounded(client.query({ text, rowMode: "array" }), stop);
    try {
      await bounded(client.connect(), stop);
      await bounded(configureSession(client), stop);
      await say(`listen "${channel}"`);
      while (!over.aborted) {
        trial.heard = false;
        await say(`select pg_notify('${channel}', '${trial.word}')`);
        onLook();
        const trialEnds = performance.now() + TRIAL_MS;
        if (trial.heard) await sleep(clock, TRIAL_MS, over);
        while (!trial.heard && !over.aborted && performance.now() < trialEnds) {
          await sleep(clock, POLL_MS, over);
          onLook();
        }
      }
    } finally {
      await connections.disconnect(client);
    }
  }
}

/** Rejects if it takes too long, because a dead connection never answers, or when `stop` aborts. */
function bounded(work: Promise<unknown>, stop: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new Error("no answer"));
    const timer = setTimeout(giveUp, PATIENCE_MS);
    stop.addEventListener("abort", giveUp);
    if (stop.aborted) giveUp();
    work
      .then(() => resolve(), reject)
      .finally(() => {
        clearTimeout(timer);
        stop.removeEventListener("abort", giveUp);
      });
  });
}
