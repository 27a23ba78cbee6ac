/** What is measured, ours or a peer: the least that every job queue can do. */
export interface Queue {
  /** Adds one job with the payload of the workload, and resolves when it is stored. */
  add(): Promise<unknown>;
  /** Adds many as fast as it can: what is measured afterwards is to find them waiting. */
  fill(jobs: number): Promise<void>;
  /** Begins to work with so many slots. Calls back when a handler starts; handlers do nothing. */
  work(slots: number, onJob: () => void): Promise<Work>;
  close(): Promise<void>;
}

/** A worker that is under way. */
export interface Work {
  /** Where handlers may be far ahead of what is written: resolves when the last end is in the store. */
  settled?(): Promise<void>;
  stop(): Promise<void>;
}

/** A queue that others would choose. */
export interface Peer {
  readonly name: string;
  /** How many jobs are about a second of work for it: a slow one gets fewer, so that a round is short. */
  readonly jobs: { readonly add: number; readonly drain: number };
  /** Opens it on a fresh place, with the settings that suit the purpose best. */
  open(place: { readonly url: string }, purpose: "throughput" | "latency"): Promise<Queue>;
}
