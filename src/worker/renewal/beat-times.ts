/** THE TIMES OF A HEARTBEAT. All of them follow from the length of a lease. */
import { BEAT_MS } from "../../core/work-limits.ts";

const RETRY_BEAT_MS = 1000;
const SHORTEST_TTL_MS = 3 * BEAT_MS;
const SHORTEST_DEADLINE_MS = 4000;

/** How often a worker beats. An answer that takes longer is not waited for: the next beat tries again. */
export function beatMsOf(leaseMs: number): number {
  return Math.min(BEAT_MS, Math.floor(leaseMs / 3));
}

/** Two beats can fail before a worker looks dead. */
export function entryTtlMs(leaseMs: number): number {
  return Math.max(SHORTEST_TTL_MS, 3 * beatMsOf(leaseMs));
}

/** How long to wait after a beat that failed. */
export function retryBeatMs(leaseMs: number): number {
  return Math.min(RETRY_BEAT_MS, beatMsOf(leaseMs));
}

/**
 * How long the calls of a beat may wait for the store. After half of this time without an answer, a store treats a connection as dead and tries
 * another one. So this happens within a beat, while the lease is valid.
 */
export function beatDeadlineMs(leaseMs: number): number {
  return Math.max(SHORTEST_DEADLINE_MS, 2 * beatMsOf(leaseMs));
}
