import type { OpenBare } from "../bare/bare.ts";
import type { Site } from "../places/place.ts";
import type { Peer } from "../queue.ts";

/** An engine as the bench knows it: where it runs, what stands beside it, what is asked of it, and how much work a round is. */
export interface Engine {
  readonly name: string;
  openSite(): Promise<Site>;
  /** How many batches ours has under way; the bare statements have as many. */
  readonly inFlight: 1 | 2;
  readonly openBare: OpenBare | null;
  readonly peers: readonly Rival[];
  readonly jobs: JobCounts;
  readonly asked: AskedOfEngine;
  /** Whether what a job takes in the store can be told. */
  readonly hasBytes: boolean;
  /** The same engine set up in another way, to see what that costs. */
  readonly variant: { readonly name: string; openSite(): Promise<Site> } | null;
  /** Whether several processes can share a store, and whether they have to be faster than one. */
  readonly processes: "none" | "told" | "asked";
}

/** Jobs of a round at scale 1: a second or two of work for ours. */
export interface JobCounts {
  readonly oneCaller: number;
  readonly callers: number;
  readonly many: number;
  readonly drainTen: number;
  readonly drainHundred: number;
  readonly both: number;
  readonly processes: number;
}

/**
 * A peer, and the ratio to it that is asked of ours: at least for throughput, at most for times and bytes. The bytes of a peer are measured
 * where they are named, also if nothing is asked of them (null).
 */
export interface Rival {
  readonly peer: Peer;
  readonly asked: { readonly enqueue?: number; readonly drain?: number; readonly pickUp?: number; readonly bytes?: number | null };
}

/** Ratios to the bare statements, and figures that have no other to be compared with. */
export interface AskedOfEngine {
  readonly bareEnqueue?: number;
  readonly bareDrain?: number;
  readonly drain?: number;
  readonly pickUpMs?: number;
  /** Over HTTP: the ratio to a bare server, one job a request, and jobs a second, many a request. Absent: it is not measured. */
  readonly http?: { readonly one: number; readonly many?: number };
}
