/** THE TIMES OF A HEARTBEAT: all of them follow from how long a lease lasts. */
const LONGEST_BEAT_MS = 5000;
const RETRY_BEAT_MS = 1000;
const SHORTEST_TTL_MS = 15_000;
const SHORTEST_DEADLINE_MS = 4000;

/** How often a worker with such a lease beats. An answer that takes longer is no longer waited for: the next beat asks again. */
export function beatMsOf(leaseMs: number): number {
  return Math.min(LONGEST_BEAT_MS, Math.floor(leaseMs / 3));
}

/** Two beats may be missed before a worker looks dead. */
export function entryTtlMs(leaseMs: number): number {
  return Math.max(SHORTEST_TTL_MS, 3 * beatMsOf(leaseMs));
}

/** How long to wait for the next beat after this one failed. */
export function retryBeatMs(leaseMs: number): number {
  return Math.min(RETRY_BEAT_MS, beatMsOf(leaseMs));
}

/**
 * How long the calls of a beat may wait for the store. A store takes a connection for dead that was silent for half of it, and asks again
 * over another: so that happens within a beat, while the lease is good.
 */
export function beatDeadlineMs(leaseMs: number): number {
  return Math.max(SHORTEST_DEADLINE_MS, 2 * beatMsOf(leaseMs));
}
