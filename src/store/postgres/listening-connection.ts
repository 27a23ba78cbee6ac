import type { Clock } from "../../lib/clock.ts";
import { sleep } from "../../lib/clock.ts";
import type { Connections } from "./connections.ts";
import { settleSession } from "./session.ts";

export interface ListeningOptions {
  readonly connections: Connections;
  readonly clock: Clock;
  readonly channel: string;
  /** A notification came. */
  readonly onPayload: (payload: string) => void;
  /** Hints may have been missed: look at everything. */
  readonly onLook: () => void;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** How often one looks when notifications do not arrive here. */
const POLL_MS = 1_000;
/** How often a quiet connection is tried, and how long it may take to answer. */
const TRIAL_MS = 15_000;
const PATIENCE_MS = 5_000;

/**
 * THE CONNECTION THAT LISTENS. It is its own, because notifications come to the connection that asked for them. When it is lost, by a restart
 * or by a network that went silent, another one is made, and since hints may have been missed meanwhile one looks at everything once.
 *
 * Behind a pooler that hands connections from one to the next, LISTEN is accepted and nothing ever comes. So a connection is tried with a word of
 * its own; if that does not arrive, one looks every second instead, and tries again from time to time.
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
        // Whatever it was, the next one may work.
      }
      if (stop.aborted) return;
      if (performance.now() - began > LONGEST_PAUSE_MS) failures = 0;
      await sleep(clock, Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures), stop);
      if (!stop.aborted) onLook();
    }
  }

  /** Listens until the connection is lost or nobody wants to hear any more. */
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
      await bounded(settleSession(client), stop);
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
      await connections.hangUp(client);
    }
  }
}

/** Rejects when it takes too long, for a connection into the void answers nothing and says nothing; and at once when nobody waits any more. */
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
