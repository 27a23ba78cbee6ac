/** Types of bulk operations. */
import type { BulkAction, BulkFailure, BulkStatus } from "../../core/bulk.ts";
import type { Duration } from "../../core/duration.ts";
import type { Actor, ChangeOptions } from "../../core/manual-change.ts";
import type { GivenId, JobFilter } from "./jobs.ts";

/** What to do to all jobs that match. */
export interface BulkRequest {
  readonly action: BulkAction;
  /**
   * Without `status`: jobs that can be retried (dead and failed; cancelled only if you name it), cancelled (waiting and running) or deleted
   * (ended). Jobs created after the start are not changed.
   */
  readonly filter?: JobFilter | undefined;
  /** Required with an empty filter, which means every job. */
  readonly all?: boolean | undefined;
  /** Changes only that many jobs, the newest created, and leaves the others. At most 1,000,000. */
  readonly limit?: number | undefined;
  /** For a retry: the jobs come due one after the other, evenly over this time (1 s to 24 h), instead of all at once. */
  readonly spread?: Duration | undefined;
}

/** How many jobs match. */
export interface BulkPreview {
  readonly action: BulkAction;
  readonly filter: JobFilter;
  /** What the error of the filter's `group` says: its name and the first line of its message. Null without a group, or if no job has it. */
  readonly groupWords: string | null;
  /** Null: all that match. */
  readonly limit: number | null;
  /** Milliseconds over which the jobs come due; null: at once. */
  readonly spread: number | null;
  /** Not more than `limit`. Exact if the filter names only status and queue; otherwise counted among at most 10,000 jobs. */
  readonly matched: number;
  readonly matchedIsCapped: boolean;
}

/** An operation over many jobs. It is a job itself: `wait` waits for its end. */
export interface BulkOperation extends BulkPreview, Actor {
  readonly id: string;
  readonly status: BulkStatus;
  readonly processed: number;
  readonly succeeded: number;
  /** Jobs that changed or disappeared before their turn. */
  readonly failed: number;
  /** The first 100 of them. */
  readonly failures: readonly BulkFailure[];
  /** Why the whole operation has failed, or is being retried. */
  readonly error: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}

/** Which page of operations. */
export interface ListBulk {
  /** 1 to 100; default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | null | undefined;
}

/** A page of operations. */
export interface BulkPage {
  readonly operations: BulkOperation[];
  /** For the next page; null at the end. */
  readonly cursor: string | null;
}

/** One change to all jobs that match, in batches. You can watch and stop it, and it continues after a crash. */
export interface BulkOperations {
  /** Counts the jobs that would change, and changes nothing. */
  preview(request: BulkRequest): Promise<BulkPreview>;
  /** Starts an operation. It runs in this client while it is open, if it is over a store, and in every server. */
  start(request: BulkRequest, options?: GivenId & ChangeOptions): Promise<BulkOperation>;
  get(id: string): Promise<BulkOperation | null>;
  /**
   * Operations of everybody, newest first; the `cursor` of one page asks for the next. Those that wait for another attempt come with the first
   * page, beyond its limit. Ended ones are kept as long as ended jobs are.
   */
  list(page?: ListBulk): Promise<BulkPage>;
  /** Stops an operation after its current batch; changes that were made stay. Fails with `wrong_status` if it has already ended. */
  stop(id: string, options?: ChangeOptions): Promise<BulkOperation>;
}
