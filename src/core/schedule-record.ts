import type { Timing } from "./schedule.ts";
import type { NewJob } from "./job.ts";

/** What a schedule makes at each tick: a job without an id and a time. */
export type ScheduledJob = Omit<NewJob, "id" | "delayMs" | "runAt" | "idempotencyKey" | "keyTtlMs" | "fingerprint" | "maxLost"> & {
  /** Not there where the schedule was stored by a version that did not know of it: see `maxLostOf` in schedule-input.ts. */
  readonly maxLost?: number;
};

/** What a schedule was told. */
export interface ScheduleSpec {
  readonly name: string;
  readonly timing: Timing;
  readonly job: ScheduledJob;
  /** After downtime: one run for the latest missed tick, or none. */
  readonly catchUp: "one" | "skip";
  /** Whether a tick makes a job while the last one is unfinished. */
  readonly overlap: "allow" | "skip";
  readonly paused: boolean;
}

/** A schedule as stores keep it. */
export interface ScheduleRecord extends ScheduleSpec {
  /** Raised by every write, so that a write can be made only if nothing changed meanwhile. */
  readonly version: number;
  readonly nextTick: number | null;
  readonly lastTick: number | null;
  readonly lastJobId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}
