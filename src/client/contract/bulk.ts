/** What is said of bulk operations. */
import type { BulkAction, BulkFailure, BulkStatus } from "../../core/bulk.ts";
import type { GivenId, JobFilter } from "./jobs.ts";

/** What is to be done to all jobs that match. */
export interface BulkRequest {
  readonly action: BulkAction;
  /**
   * Without `status`: what can be retried (dead and failed; cancelled ones only if they are named), cancelled (waiting and running) or deleted
   * (ended). Jobs that are created after the start are not touched.
   */
  readonly filter?: JobFilter | undefined;
  /** Means every job: a filter that names nothing is refused without it. */
  readonly all?: boolean | undefined;
}

/** How many jobs match. */
export interface BulkPreview {
  readonly action: BulkAction;
  readonly filter: JobFilter;
  /** Exact where status and queue are all that is named; otherwise counting ends at about 10,000. */
  readonly matched: number;
  readonly matchedIsCapped: boolean;
}

/** An operation over many jobs. It is a job itself: `wait` waits for its end. */
export interface BulkOperation extends BulkPreview {
  readonly id: string;
  readonly status: BulkStatus;
  readonly processed: number;
  readonly succeeded: number;
  /** Jobs that changed or vanished before their turn. */
  readonly failed: number;
  /** The first 100 of them. */
  readonly failures: readonly BulkFailure[];
  /** Why the operation as a whole has failed, or is being tried again. */
  readonly error: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}

/** One change for all jobs that match, in batches: it can be watched and stopped, and goes on after a crash. */
export interface BulkOperations {
  /** Counts what would be changed, and changes nothing. */
  preview(request: BulkRequest): Promise<BulkPreview>;
  /** Begins. Worked by this client while it is open, if it is over a store, and by every process that serves. */
  start(request: BulkRequest, options?: GivenId): Promise<BulkOperation>;
  get(id: string): Promise<BulkOperation | null>;
  /** The latest 100, newest first. They are kept as long as jobs are. */
  list(): Promise<BulkOperation[]>;
  /** Ends it after the batch under way: `wrong_status` when it has ended already. What was done stays done. */
  stop(id: string): Promise<BulkOperation>;
}
