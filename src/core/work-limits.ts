import { formatDuration } from "./duration.ts";
import { invalid } from "./errors.ts";
import { readDuration } from "./read-fields.ts";

/** The shortest and the longest lease. */
export const MIN_LEASE_MS = 1000;
export const MAX_LEASE_MS = 3_600_000;
/** How long a call waits for the store by default. */
export const DEFAULT_DEADLINE_MS = 10_000;
/**
 * How long an impatient opening goes on while the server refuses connections: with a wrong address, nobody should wait for the whole deadline. A
 * server that does not answer may only be slow, so it has until the deadline.
 */
export const REFUSED_AT_OPENING_MS = 1000;
/** The most connections of one process to a PostgreSQL server. */
export const MAX_POOL_SIZE = 1000;
/** The most days that hourly figures are kept. */
export const MAX_RETENTION_DAYS = 3650;
/** The most items in one call of a store, and in one request. */
export const MAX_BATCH = 1000;
/** How many jobs one worker can run at once. */
export const MAX_SLOTS = 10_000;
/** How many types one worker can name. */
export const MAX_TYPES = 10_000;
/** How many running jobs of a worker are listed. */
export const MAX_RUNNING_SHOWN = 100;
export const MAX_HOST_LENGTH = 255;
/** The version of the application that a worker runs: of any form, on one line. */
export const MAX_VERSION_LENGTH = 100;
export const VERSION: RegExp = new RegExp(`^[^\\u0000-\\u001f\\u007f]{1,${MAX_VERSION_LENGTH}}$`);
export const VERSION_RULE = `a text of 1 to ${MAX_VERSION_LENGTH} characters without control characters`;

export function readVersion(version: unknown): string {
  if (typeof version !== "string" || !VERSION.test(version)) throw invalid("version", VERSION_RULE, version);
  return version;
}

/** How many units of its rates one attempt can spend beyond its cost. */
export const MAX_SPEND = 1_000_000_000;
export const SPEND_RULE = `a number from 0 to ${MAX_SPEND}`;

/** How many queues one worker can serve. */
export const MAX_QUEUES = 1000;

/** The longest time that handlers can go on after a stop. */
export const MAX_GRACE_MS = 86_400_000;

/** How long a store that does not answer has after the grace period to take the outcomes of jobs. */
export const AFTER_GRACE_MS = 1000;
/** How long it has for all other calls of the end together: a process with nothing to report ends within a second of its signal. */
export const LAST_CALLS_MS = 500;

export function readGrace(grace: unknown): number {
  return readDuration(grace, "grace", timeFrom(0, MAX_GRACE_MS), MAX_GRACE_MS);
}

/** How often a worker sends a heartbeat, at least. */
export const BEAT_MS = 5000;

/** How long an aborted handler may take to end before its slot is freed: by default, and at most. */
export const DEFAULT_SETTLE_MS = 5000;
export const MAX_SETTLE_MS = 60_000;

/** How far ahead of its free slots a worker claims: by default, and at most. */
export const DEFAULT_AHEAD_MS = 20;
export const MAX_AHEAD_MS = 1000;

export function readAhead(ahead: unknown): number {
  return readDuration(ahead, "ahead", timeFrom(0, MAX_AHEAD_MS), MAX_AHEAD_MS);
}

export function readSettle(settle: unknown): number {
  return readDuration(settle, "settle", timeFrom(0, MAX_SETTLE_MS), MAX_SETTLE_MS);
}

export function readLease(lease: unknown): number {
  return readDuration(lease, "lease", timeFrom(MIN_LEASE_MS, MAX_LEASE_MS), MAX_LEASE_MS, MIN_LEASE_MS);
}

/** Checks how long a lease should hold without renewal. One lease length is added, so that renewals can start again in time. */
export function readHold(time: unknown, leaseMs: number): number {
  const least = formatDuration(MIN_LEASE_MS);
  const most = `${formatDuration(MAX_LEASE_MS)} less the worker's lease of ${formatDuration(leaseMs)}`;
  return readDuration(time, "time", `from ${least} to ${most}, in milliseconds or as "30s"`, MAX_LEASE_MS - leaseMs, MIN_LEASE_MS);
}

function timeFrom(minMs: number, maxMs: number): string {
  return `a time from ${formatDuration(minMs)} to ${formatDuration(maxMs)}, in milliseconds or as "30s"`;
}
