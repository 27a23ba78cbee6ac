/** What is said of queues, figures and dead letters. */
import type { Duration } from "../../core/duration.ts";
import type { ErrorGroup } from "../../core/error-tally.ts";
import type { PriorityLevel, Status } from "../../core/job.ts";
import type { JobFilter, JobPage, ListJobs } from "./jobs.ts";

/** What a queue can be told. */
export interface QueueOptions {
  /** At most so many waiting jobs; null is no bound. */
  readonly capacity?: number | null | undefined;
  /** How much earlier one step of priority counts; null makes priority strict, which is the default. */
  readonly headStart?: Duration | null | undefined;
  /** Whether jobs that failed for good become `dead` (the default) or `failed`. */
  readonly deadLetters?: boolean | undefined;
  /** How long completed and cancelled jobs are kept. */
  readonly retention?:
    | {
        readonly age?: Duration | undefined;
        readonly count?: number | undefined;
        readonly keepAtLeast?: Duration | undefined;
      }
    | undefined;
}

/** What to do about a queue that does not exist yet. */
export interface NewQueueOptions {
  /** Whether it is made; if not, the call is refused with `not_found`, and the error names the queues that exist. */
  readonly create?: boolean | undefined;
}

/** How many jobs are in each status. */
export type StatusCounts = Readonly<Record<Status, number>>;
/** How many jobs count under each level of priority. */
export type LevelCounts = Readonly<Record<PriorityLevel, number>>;

/** A queue: its settings and counts. */
export interface QueueInfo {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: StatusCounts;
  /** Waiting jobs (pending, scheduled, retrying) by level. */
  readonly waiting: LevelCounts;
  /** Jobs that ended completed, failed or dead in the last full minute. */
  readonly rate: number;
  /**
   * For how long the pending job that is due longest has waited; null when none is pending. With a head start of your own it may be a little
   * less on SQLite and Redis, where the first by rank is looked at.
   */
  readonly oldestWaitingMs: number | null;
  readonly capacity: number | null;
  /** Milliseconds; null when priority is strict. */
  readonly headStart: number | null;
  readonly deadLetters: boolean;
  readonly retention: { readonly age: number; readonly count: number; readonly keepAtLeast: number };
}

/** Figures over all queues but our own. */
export interface Stats {
  /** Jobs by status, over all queues. */
  readonly counts: StatusCounts;
  /** Waiting jobs by level, over all queues. */
  readonly waiting: LevelCounts;
  readonly queues: Readonly<Record<string, { readonly counts: StatusCounts; readonly waiting: LevelCounts; readonly paused: boolean }>>;
  /** Jobs completed, and jobs that ended dead or failed, since the store was made. */
  readonly totalProcessed: number;
  readonly totalFailed: number;
  readonly totalEnqueued: number;
  /** Attempts that failed or were lost and were followed by an automatic retry. A retry by hand is not counted. */
  readonly totalRetried: number;
  /** Attempts whose leases ran out: their workers died, or were cut off. */
  readonly totalLost: number;
  readonly deadCount: number;
  /** Without those that servers bring themselves: see `workers`. */
  readonly activeWorkers: number;
  /** Jobs completed, and jobs that ended dead or failed, since midnight UTC. */
  readonly today: { readonly processed: number; readonly failed: number };
  /** Jobs completed a second, over the last full minute. */
  readonly throughput: number;
  /** Run time of the latest attempts (1,000 at least, where there are so many), in milliseconds. */
  readonly latency: Percentiles;
  /** How long those attempts had waited since they were due. */
  readonly wait: Percentiles;
}

/** Which periods, and of which queue. */
export interface HistoryQuery {
  /** Default `hour`. Minutes are kept for 48 hours, hours for longer. */
  readonly step?: "hour" | "minute" | undefined;
  /** The first period is the one that holds this moment. Default: 24 hours, or 60 minutes, up to `to`. */
  readonly from?: Date | string | number | undefined;
  /** The last period is the one before this moment, or that holds it. Default: now. */
  readonly to?: Date | string | number | undefined;
  /** Default: all of them. */
  readonly queue?: string | undefined;
}

/** What was counted in one period. */
export interface HistoryPoint {
  /** When it began. */
  readonly at: number;
  readonly enqueued: number;
  readonly completed: number;
  /** Jobs that ended dead or failed. */
  readonly failed: number;
  /** Attempts that failed or were lost and were followed by an automatic retry. */
  readonly retried: number;
}

/**
 * Times in milliseconds that half, 95 % and 99 % did not exceed; null when nothing was measured. Times are counted in buckets, four to a
 * doubling, and a percentile is the upper bound of its bucket: at most 19 % above the true value, rounded to three digits.
 */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Jobs that failed for good and wait for somebody to act. */
export interface DeadLetters {
  /** Jobs in status `dead`, newest first. */
  list(query?: Omit<ListJobs, "status">): Promise<JobPage>;
  /** Dead letters by error, the most numerous first. Looks at those that died last, 10,000 at most. */
  groups(filter?: Omit<JobFilter, "status" | "group" | "q">): Promise<ErrorGroups>;
  /** Gives all that match a new life; answers how many. */
  retry(filter?: Omit<JobFilter, "status">): Promise<number>;
  /** Deletes all that match; answers how many. */
  purge(filter?: Omit<JobFilter, "status">): Promise<number>;
}

/** Dead letters by error. */
export interface ErrorGroups {
  /** At most 100. */
  readonly groups: readonly ErrorGroup[];
  /** Whether there are more dead letters than were looked at, or more groups than are shown. */
  readonly isCapped: boolean;
}
