import type { Status } from "./job.ts";
import type { Transition } from "./lifecycle.ts";

/**
 * The answer to a call under a lease. `ok`: applied now, or by an earlier call. `cancelled`: the job was cancelled. `stale`: the lease ended, is
 * unknown, or belongs to another worker. `locked`: the lease holds, but another open transaction has locked the job: nothing changed, so try again.
 */
export const LEASE_ANSWERS = ["ok", "stale", "cancelled", "locked"] as const;
/** One of these answers. */
export type LeaseAnswer = (typeof LEASE_ANSWERS)[number];

/** An attempt that ended, and its transition. */
export interface Settled {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly retryCount: number;
  readonly lostCount: number;
  readonly transition: Transition;
  /** The steps at which the attempt was suspended, if it was. */
  readonly waits?: readonly string[] | undefined;
}

/** A lease that ran out: its worker died or was cut off. */
export interface LostLease {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  /** The worker that held it. */
  readonly workerId: string | null;
  readonly fence: number;
  readonly attempt: number;
  readonly retryCount: number;
  /** How often the job was lost so far, including this time. */
  readonly lostCount: number;
  /** The new status of the job. */
  readonly to: Status;
}
