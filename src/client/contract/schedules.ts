/** What is said of schedules. */
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { EnqueuedJob } from "./jobs.ts";

/** A schedule as a caller gives it. */
export type ScheduleInput = {
  readonly name: string;
  readonly type: string;
  readonly payload?: unknown;
  /** After downtime: one run for the latest missed tick (default), or none. */
  readonly catchUp?: "one" | "skip" | undefined;
  /** Whether a tick makes a job while the last run is unfinished (default: it does). */
  readonly overlap?: "allow" | "skip" | undefined;
} & ScheduleTiming &
  Pick<JobOptions, "queue" | "priority" | "maxRetries" | "maxLost" | "retryDelay" | "timeout" | "tags" | "meta" | "webhookUrl">;

/** When a schedule fires: a cron in a time zone, or an interval. */
export type ScheduleTiming =
  | { readonly cron: string; readonly timeZone?: string | undefined; readonly every?: undefined }
  | { readonly every: Duration; readonly cron?: undefined; readonly timeZone?: undefined };

/** A schedule as people see it. */
export interface Schedule {
  readonly name: string;
  readonly cron: string | null;
  /** Milliseconds. */
  readonly every: number | null;
  readonly timeZone: string | null;
  readonly type: string;
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly maxRetries: number;
  readonly maxLost: number;
  readonly retryDelay: number;
  readonly timeout: number;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly webhookUrl: string | null;
  readonly catchUp: "one" | "skip";
  readonly overlap: "allow" | "skip";
  readonly paused: boolean;
  readonly nextRunAt: number | null;
  /** The latest tick that was taken. */
  readonly lastRunAt: number | null;
  readonly lastJobId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Recurring jobs, by name. */
export interface Schedules {
  /** Makes or changes the schedule of that name. The same again changes nothing and keeps the next tick. */
  upsert(schedule: ScheduleInput): Promise<Schedule>;
  get(name: string): Promise<Schedule | null>;
  list(): Promise<Schedule[]>;
  /** False when there was none. */
  remove(name: string): Promise<boolean>;
  pause(name: string): Promise<Schedule>;
  /** Ticks that passed while it was paused are not made up for. */
  resume(name: string): Promise<Schedule>;
  /** Makes a job now, beside the ticks. */
  run(name: string): Promise<EnqueuedJob>;
  /** The next ticks, of a stored schedule or of a timing that is only tried. */
  preview(schedule: string | ScheduleTiming, count?: number): Promise<number[]>;
}
