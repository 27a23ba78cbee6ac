import { setTimeout as sleep } from "node:timers/promises";

/** The interface of all that is measured: ours, bare statements and other queues. */
export interface Queue {
  /** Adds one job with the payload of the workload, and resolves when it is stored. */
  add(): Promise<unknown>;
  /** Adds many as fast as it can. */
  fill(jobs: number): Promise<unknown>;
  /** Starts a worker. Calls `onJobs` with the number of handlers that have ended. */
  work(load: Load, onJobs: OnJobs): Promise<Work>;
  close(): Promise<void>;
}

/** How many handlers run at once, and how long each takes. */
export interface Load {
  readonly slots: number;
  readonly handlerMs: number;
}

export type OnJobs = (jobs: number) => void;

/** A running worker. */
export interface Work {
  /** For queues whose handlers run ahead of the store: resolves when the last completion is stored. */
  settled?(): Promise<void>;
  stop(): Promise<unknown>;
}

/** The handler of all queues. One that takes time waits for a timer, as for an answer from elsewhere. */
export function handlerOf({ handlerMs }: Load, onJobs: OnJobs): () => Promise<void> {
  if (handlerMs === 0) return async () => onJobs(1);
  return async () => {
    await sleep(handlerMs);
    onJobs(1);
  };
}

/** Another queue. */
export interface Peer {
  readonly name: string;
  /** Opens it on a fresh place, with the best settings for the purpose. */
  readonly open: (place: { readonly url: string }, purpose: Purpose) => Promise<Queue>;
}

export type Purpose = "throughput" | "latency";
