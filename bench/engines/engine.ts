import type { OpenBare } from "../bare/bare.ts";
import type { Site } from "../places/place.ts";
import type { Peer } from "../queue.ts";

/** An engine in the bench: where it runs, what it is compared with, which ratios are required, and how many jobs a round has. */
export interface Engine {
  readonly name: string;
  openSite(): Promise<Site>;
  /** How many batches are in flight, for ours and for the bare statements. */
  readonly inFlight: 1 | 2;
  readonly openBare: OpenBare | null;
  readonly peers: readonly Rival[];
  readonly jobs: JobCounts;
  readonly asked: AskedOfEngine;
  /** Whether the size of a job can be measured. */
  readonly hasBytes: boolean;
  /** The same engine with another set-up, to measure its cost. */
  readonly variant: { readonly name: string; openSite(): Promise<Site> } | null;
  /** Several processes on one store: not possible, only measured, or required to be faster than one. */
  readonly processes: "none" | "measured" | "required";
}

/** Jobs of a round at scale 1: one or two seconds for ours. */
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
 * A peer, and the required ratio of ours to it: a minimum for throughput, a maximum for times and bytes. With `bytes: null` the bytes are
 * measured without a requirement.
 */
export interface Rival {
  readonly peer: Peer;
  readonly asked: { readonly enqueue?: number; readonly drain?: number; readonly pickUp?: number; readonly bytes?: number | null };
}

/** Required ratios to the bare statements, and required absolute figures. */
export interface AskedOfEngine {
  readonly bareEnqueue?: number;
  readonly bareDrain?: number;
  readonly drain?: number;
  readonly pickUpMs?: number;
  /** HTTP: the ratio to a bare server with one job per request, and jobs per second with many. Absent: not measured. */
  readonly http?: { readonly one: number; readonly many?: number };
}
