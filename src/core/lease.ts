import type { Status } from "./job.ts";

/**
 * What becomes of what is done under a lease. `ok`: applied, or a repeat of what was. `cancelled`: a cancel had ended it. `stale`: the lease
 * has passed to another, has ended, or is unknown. `locked`: the lease holds, but somebody else's open transaction holds the job: nothing was
 * changed, ask again.
 */
export const LEASE_ANSWERS = ["ok", "stale", "cancelled", "locked"] as const;
/** One of these answers. */
export type LeaseAnswer = (typeof LEASE_ANSWERS)[number];

/** A lease that ran out and was taken from its holder: the worker died, or was cut off. */
export interface LostLease {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  /** Who held it. */
  readonly workerId: string | null;
  readonly fence: number;
  readonly attempt: number;
  readonly retryCount: number;
  /** How often the job was lost until now, this time included. */
  readonly lostCount: number;
  /** What became of the job. */
  readonly to: Status;
}
