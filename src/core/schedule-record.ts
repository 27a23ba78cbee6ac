import type { Timing } from "./schedule.ts";
import type { NewJob } from "./job.ts";

/** What a schedule enqueues at each tick: a job without id and time. */
export type ScheduledJob = Omit<
  NewJob,
  "id" | "delayMs" | "runAt" | "idempotencyKey" | "keyTtlMs" | "fingerprint" | "maxLost" | "facets"
> & {
  /** Absent in schedules stored by older versions: see `maxLostOf` in schedule-input.ts. */
  readonly maxLost?: number;
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
