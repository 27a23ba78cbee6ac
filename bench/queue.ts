/** The interface of all measured queues, ours and the peers. */
export interface Queue {
  /** Adds one job with the payload of the workload, and resolves when it is stored. */
  add(): Promise<unknown>;
  /** Adds many as fast as it can, before a measurement. */
  fill(jobs: number): Promise<void>;
  /** Starts a worker. Calls `onJob` when a handler starts; handlers do nothing. */
  work(slots: number, onJob: () => void): Promise<Work>;
  close(): Promise<void>;
}

/** A running worker. */
export interface Work {
  /** For queues whose handlers run ahead of the store: resolves when the last completion is stored. */
  settled?(): Promise<void>;
  stop(): Promise<void>;
}

/** Another queue. */
export interface Peer {
  readonly name: string;
  /** Jobs for about one second, so that a round of a slow queue is short. */
  readonly jobs: { readonly add: number; readonly drain: number };
  /** Opens it on a fresh place, with the best settings for the purpose. */
  open(place: { readonly url: string }, purpose: "throughput" | "latency"): Promise<Queue>;
}
