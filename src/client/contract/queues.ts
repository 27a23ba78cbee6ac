/** Types of queues, figures and dead letters. */
import type { QueueFacet } from "../../core/facets.ts";
import type { AttemptOption, ShownDefaults } from "../../core/attempt-options.ts";
import type { Duration } from "../../core/duration.ts";
import type { ErrorGroup } from "../../core/error-tally.ts";
import type { PriorityLevel, Status } from "../../core/job.ts";
import type { LimitOptions } from "../../core/limits.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import type { Mute, MuteOptions } from "../../core/mute.ts";
import type { JobFilter, JobPage, ListJobs } from "./jobs.ts";

/** Queue settings. */
export interface QueueOptions {
  /** The most waiting jobs; null for no limit. */
  readonly capacity?: number | null | undefined;
  /** How much time one step of priority is worth; null makes priority strict, which is the default. */
  readonly headStart?: Duration | null | undefined;
  /** Whether jobs that fail for good become `dead` (the default) or `failed`. */
  readonly deadLetters?: boolean | undefined;
  /**
   * Fields of the payload to index, at most 4: `["customer", "order.region"]`. They hold for jobs that are enqueued from about a minute later
   * on. A list replaces the one before; an empty one removes all.
   */
  readonly facets?: readonly string[] | null | undefined;
  /**
   * Defaults for jobs of this queue, for every producer: `{ maxRetries: 5, timeout: "2m" }`. They hold where neither the call nor the definition
   * says anything, and come before the `defaults` of `connect`. Other processes use them within half a minute. An object replaces the one before;
   * null removes all.
   */
  readonly defaults?: QueueJobDefaults | null | undefined;
  /**
   * How many jobs may run at once and start in a time, over all workers, in the whole queue and for each limit key:
   * `{ running: 50, rate: "100/s", perKey: { running: 2 } }`. They take effect with the next claim of any process. An object replaces the one
   * before; null removes all.
   */
  readonly limits?: LimitOptions | null | undefined;
  /** How long completed and cancelled jobs are kept. */
  readonly retention?:
    | {
        readonly age?: Duration | undefined;
        readonly count?: number | undefined;
        readonly keepAtLeast?: Duration | undefined;
      }
    | undefined;
}

/** Options of jobs that a queue can set. */
export type QueueJobDefaults = { readonly [Name in AttemptOption]?: JobOptions[Name] | null };

/** What to do if the queue does not exist yet. */
export interface NewQueueOptions {
  /** Whether to make the queue. If not, the call fails with `not_found`, and the error lists the queues that exist. */
  readonly create?: boolean | undefined;
}

export type { QueueFacet };

/** How many jobs are in each status. */
export type StatusCounts = Readonly<Record<Status, number>>;
/** How many jobs are in each priority level. */
export type LevelCounts = Readonly<Record<PriorityLevel, number>>;

/** A queue with its settings and counts. */
export interface QueueInfo {
  readonly name: string;
  readonly paused: boolean;
  readonly counts: StatusCounts;
  /** Waiting jobs (pending, scheduled, retrying) by level. */
  readonly waiting: LevelCounts;
  /** Jobs that ended completed, failed or dead in the last full minute. */
  readonly rate: number;
  /**
   * How long the pending job that has been due the longest has waited; null if none is pending. With a head start of your own it may be a little
   * too low on SQLite and Redis, which look only at the first job by rank.
   */
  readonly oldestWaitingMs: number | null;
  readonly capacity: number | null;
  /** Milliseconds; null if priority is strict. */
  readonly headStart: number | null;
  readonly deadLetters: boolean;
  /** Indexed fields of the payload, and since when every new job has them. */
  readonly facets: readonly QueueFacet[];
  /** Defaults for the options of its jobs, times in milliseconds; null if it sets none. */
  readonly defaults: ShownDefaults;
  /** How many jobs may run at once and start in a time; null if it has no limits. `limits.use` says how much of them is used. */
  readonly limits: LimitOptions | null;
  readonly retention: { readonly age: number; readonly count: number; readonly keepAtLeast: number };
}

/** A type of a queue that has pending jobs. */
export interface WaitingType {
  readonly type: string;
  /** How long its pending job that has been due the longest has waited; see `QueueInfo`. */
  readonly oldestWaitingMs: number;
  /** Whether a live worker handles it in this queue. */
  readonly hasWorker: boolean;
}

/** A queue, and which of its types wait. */
export interface QueueDetails extends QueueInfo {
  /** The longest waiting first; at most 100. */
  readonly types: readonly WaitingType[];
}

/** Figures over all queues except internal ones. */
export interface Stats {
  /** Jobs by status, over all queues. */
  readonly counts: StatusCounts;
  /** Waiting jobs by level, over all queues. */
  readonly waiting: LevelCounts;
  readonly queues: Readonly<Record<string, { readonly counts: StatusCounts; readonly waiting: LevelCounts; readonly paused: boolean }>>;
  /** Jobs that completed, and jobs that ended dead or failed, since the store was made. */
  readonly totalProcessed: number;
  readonly totalFailed: number;
  readonly totalEnqueued: number;
  /** Attempts that failed or were lost and had an automatic retry. A retry by hand is not counted. */
  readonly totalRetried: number;
  /** Attempts whose lease ran out: the worker died or was cut off. */
  readonly totalLost: number;
  readonly deadCount: number;
  /** Without the workers that servers start: see `workers`. */
  readonly activeWorkers: number;
  /** Jobs that completed, and jobs that ended dead or failed, since midnight UTC. */
  readonly today: { readonly processed: number; readonly failed: number };
  /** Jobs completed per second in the last full minute. */
  readonly throughput: number;
  /** Run time of the latest attempts (at least 1,000, if there are that many), in milliseconds. */
  readonly latency: Percentiles;
  /** How long those attempts had waited since they were due. */
  readonly wait: Percentiles;
  /** Flows that run, and that failed and were not retried. */
  readonly flows: { readonly running: number; readonly failed: number };
}

/** Which periods of which queue. */
export interface HistoryQuery {
  /** Default `hour`. Minutes are kept for 48 hours, hours for longer. */
  readonly step?: "hour" | "minute" | undefined;
  /** The first period is the one with this time. Default: 24 hours, or 60 minutes, up to `to`. */
  readonly from?: Date | string | number | undefined;
  /** The last period is the one with this time. Default: now. */
  readonly to?: Date | string | number | undefined;
  /** Default: all queues. */
  readonly queue?: string | undefined;
  /** Only this type; needs a `queue`. Each of the first 100 types of a queue is counted on its own; any other one has zeros. */
  readonly type?: string | undefined;
  /**
   * Whether to return run and wait times, too; needs a `queue`. Minutes have them for the last hour, hours as long as they are kept; before
   * that they are null.
   */
  readonly times?: boolean | undefined;
}

/** The counts of one period. */
export interface HistoryPoint {
  /** When the period began. */
  readonly at: number;
  readonly enqueued: number;
  readonly completed: number;
  /** Jobs that ended dead or failed. */
  readonly failed: number;
  /** Attempts that failed or were lost and had an automatic retry. */
  readonly retried: number;
  /** Run time of the attempts that ended in this period, in milliseconds; null unless you asked for `times`. */
  readonly run: Percentiles | null;
  /** How long those attempts had waited since they were due; null unless you asked for `times`. */
  readonly wait: Percentiles | null;
}

/** The counts of one type of a queue over some periods. */
export interface TypeFigures {
  /** Null: all types that are not counted on their own, and what was counted before types were. */
  readonly type: string | null;
  readonly enqueued: number;
  readonly completed: number;
  /** Jobs that ended dead or failed. */
  readonly failed: number;
  /** Attempts that failed or were lost and had an automatic retry. */
  readonly retried: number;
  /** Run time of the attempts that ended in these periods, in milliseconds. Null for more than 60 periods: ask for one type with `history`. */
  readonly run: Percentiles;
  /** How long those attempts had waited since they were due. */
  readonly wait: Percentiles;
}

/**
 * Times in milliseconds that half, 95 % and 99 % did not exceed; null if nothing was measured. Times are counted in buckets, four to a
 * doubling, and a percentile is the upper bound of its bucket: at most 19 % above the true value, rounded to three digits.
 */
export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

/** Jobs that failed for good and wait for somebody to act. */
export interface DeadLetters {
  /** Jobs in status `dead`, latest death first; with `sort: "created"`, newest created first. */
  list(query?: Omit<ListJobs, "status">): Promise<JobPage>;
  /** Dead letters by error, largest group first, muted ones last: those that match. Looks at the latest 10,000. */
  groups(filter?: Omit<JobFilter, "status">): Promise<ErrorGroups>;
  /** Retries all that match; returns how many. */
  retry(filter?: Omit<JobFilter, "status">, options?: ChangeOptions): Promise<number>;
  /** Deletes all that match; returns how many. */
  purge(filter?: Omit<JobFilter, "status">, options?: ChangeOptions): Promise<number>;
  /**
   * Mutes an error group, for a time or until somebody unmutes it: its jobs stay dead letters, but do not count as something that needs
   * attention. Muting it again replaces the earlier mute. The latest 1,000 mutes are kept.
   */
  mute(group: string, options?: MuteOptions): Promise<Mute>;
  /** Ends the mute of an error group; false if it was not muted. */
  unmute(group: string, options?: ChangeOptions): Promise<boolean>;
  /** All muted error groups, the latest first, whether they have jobs or not. */
  mutes(): Promise<Mute[]>;
}

/** Dead and failed jobs by the value of a facet. */
export interface FacetCounts {
  /** Most jobs first, at most 50. */
  readonly values: readonly { readonly value: string; readonly count: number }[];
  /** Jobs without this facet: their payload does not have it, or they were enqueued before it was declared. */
  readonly without: number;
  /** Whether there are more jobs than were looked at. Then each count means at least that many. */
  readonly isCapped: boolean;
  /** Whether the jobs that were looked at have more values than are listed. */
  readonly hasMore: boolean;
}

/** Dead letters by error. */
export interface ErrorGroups {
  /** At most 100. */
  readonly groups: readonly ErrorGroup[];
  /** Whether there are more dead letters than were looked at. Then each count means at least that many. */
  readonly isCapped: boolean;
  /** Whether the dead letters that were looked at have more groups than are listed. */
  readonly hasMore: boolean;
}
