import { formatDuration } from "./duration.ts";
import { readDuration } from "./read-fields.ts";

/** How short and how long a lease may be. */
export const MIN_LEASE_MS = 1000;
export const MAX_LEASE_MS = 3_600_000;
/** How long a call waits for the store before it fails, when nothing is said. */
export const DEFAULT_DEADLINE_MS = 10_000;
/**
 * For so long an impatient opening goes on while the server refuses connections: whoever starts a process with a wrong address should not
 * wait for the whole deadline. A server that is silent may only be slow, and is waited for until the deadline.
 */
export const REFUSED_AT_OPENING_MS = 1000;
/** How many connections to a PostgreSQL server one process may ask for. */
export const MAX_POOL_SIZE = 1000;
/** For how many days figures by the hour can be kept. */
export const MAX_RETENTION_DAYS = 3650;
/** The most items that one call of a store, and one request, may carry. */
export const MAX_BATCH = 1000;
/** How many jobs one worker may run at once, and so hold leases of. */
export const MAX_SLOTS = 10_000;
/** How many types one worker may name. */
export const MAX_TYPES = 10_000;
/** So many running jobs of a worker are listed. */
export const MAX_RUNNING_SHOWN = 100;
/** The longest name of a host. */
export const MAX_HOST_LENGTH = 255;
/** How many queues one worker may serve. */
export const MAX_QUEUES = 1000;

/** How long handlers may go on after a stop at most. */
export const MAX_GRACE_MS = 86_400_000;

/** How long a store that may be away has to answer once the grace is over, for all calls together. */
export const AFTER_GRACE_MS = 1000;

/** Checks the time that handlers may go on after a stop. */
export function readGrace(grace: unknown): number {
  return readDuration(grace, "grace", timeFrom(0, MAX_GRACE_MS), MAX_GRACE_MS);
}

/** How long an aborted handler may take to settle before its slot is given to others, when nothing is said and at most. */
export const DEFAULT_SETTLE_MS = 5000;
export const MAX_SETTLE_MS = 60_000;

/** Checks the time that an aborted handler may take to settle. */
export function readSettle(settle: unknown): number {
  return readDuration(settle, "settle", timeFrom(0, MAX_SETTLE_MS), MAX_SETTLE_MS);
}

/** Checks how long a claim holds without being renewed. */
export function readLease(lease: unknown): number {
  return readDuration(lease, "lease", timeFrom(MIN_LEASE_MS, MAX_LEASE_MS), MAX_LEASE_MS, MIN_LEASE_MS);
}

/**
 * Checks for how long a handler wants its lease left alone. The lease is extended by the time of a lease more than that, so that renewals
 * which begin again then come in time.
 */
export function readHold(time: unknown, leaseMs: number): number {
  const least = formatDuration(MIN_LEASE_MS);
  const most = `${formatDuration(MAX_LEASE_MS)} less the worker's lease of ${formatDuration(leaseMs)}`;
  return readDuration(time, "time", `from ${least} to ${most}, in milliseconds or as "30s"`, MAX_LEASE_MS - leaseMs, MIN_LEASE_MS);
}

function timeFrom(minMs: number, maxMs: number): string {
  return `a time from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, in milliseconds or as "30s"`;
}
