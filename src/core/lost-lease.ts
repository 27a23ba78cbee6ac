import type { Status } from "./job.ts";

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
