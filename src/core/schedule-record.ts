import type { AttemptOption } from "./attempt-options.ts";
import type { Timing } from "./schedule.ts";
import type { NewJob } from "./job.ts";
import type { JobOptions } from "./job-options.ts";

/** The job options that a schedule takes. */
export const SCHEDULED_OPTIONS = [
  "queue",
  "priority",
  "maxRetries",
  "maxLost",
  "retryDelay",
  "backoff",
  "timeout",
  "tags",
  "meta",
  "limitKey",
  "cost",
  "webhookUrl",
] as const satisfies (keyof JobOptions)[];

/** What a schedule enqueues at each tick: a job without id and time. */
export type ScheduledJob = Omit<
  NewJob,
  "id" | "delayMs" | "runAt" | "idempotencyKey" | "keyTtlMs" | "fingerprint" | "maxLost" | "backoff" | "facets" | "limitKey" | "cost"
> & {
  /** Absent in schedules stored by older versions: see `maxLostOf` in schedule-input.ts. */
  readonly maxLost?: number;
  /** Absent if it is exponential, as in schedules stored by older versions. */
  readonly backoff?: string;
  /** Absent if it has none. */
  readonly limitKey?: string | null;
  /** Absent if it is 1. */
  readonly cost?: number;
  /** Options that the schedule does not set: its queue may, at each tick. Absent if it sets all, and in schedules stored by older versions. */
  readonly unset?: readonly AttemptOption[];
};

/** The settings of a schedule. */
export interface ScheduleSpec {
  readonly name: string;
  readonly timing: Timing;
  readonly job: ScheduledJob;
  /** After downtime: run once for the latest missed tick, or not at all. */
  readonly catchUp: "one" | "skip";
  /** Whether a tick makes a job while the last one has not ended. */
  readonly overlap: "allow" | "skip";
  readonly paused: boolean;
}

/** A schedule as stores keep it. */
export interface ScheduleRecord extends ScheduleSpec {
  /** Grows with every write, so that a write can require that nothing changed meanwhile. */
  readonly version: number;
  readonly nextTick: number | null;
  readonly lastTick: number | null;
  readonly lastJobId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}
