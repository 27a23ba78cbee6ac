/** Types of schedules. */
import type { AttemptOption } from "../../core/attempt-options.ts";
import type { ChangeOptions } from "../../core/manual-change.ts";
import type { Duration } from "../../core/duration.ts";
import type { JobOptions } from "../../core/job-options.ts";
import type { SCHEDULED_OPTIONS } from "../../core/schedule-record.ts";
import type { DefinitionOf, EnqueuedJob, OnlyDefaults, PayloadField } from "./jobs.ts";
import type { JobName, JobsByName, ScheduledByName } from "./registered-jobs.ts";

/**
 * What `schedules.upsert` and `schedules.create` take: a `type` and its payload, or a definition as `job`, whose options are the defaults of the
 * schedule. Its `delay`, `runAt`, `idempotencyKey` and `keyTtl` do not count: the tick decides when a job runs, and that there is one.
 */
export type ScheduleInput<Payload = unknown, Named = ScheduledByName<JobsByName, string>> = (Named | ScheduledByDefinition<Payload>) &
  ScheduleTiming &
  ScheduleOptions;

/** What a schedule runs, by its definition. */
export type ScheduledByDefinition<Payload> = { readonly job: DefinitionOf<Payload>; readonly type?: undefined } & PayloadField<
  NoInfer<Payload>
>;

/** Options of a schedule and of its jobs. */
export interface ScheduleOptions extends Pick<JobOptions, (typeof SCHEDULED_OPTIONS)[number]>, OnlyDefaults {
  readonly name: string;
  /** After downtime: run once for the latest missed tick (default), or not at all. */
  readonly catchUp?: "one" | "skip" | undefined;
  /** Whether a tick makes a job while the last one has not ended. Default: `allow`. */
  readonly overlap?: "allow" | "skip" | undefined;
}

/** When a schedule ticks: a cron in a time zone, or an interval. */
export type ScheduleTiming =
  | { readonly cron: string; readonly timeZone?: string | undefined; readonly every?: undefined }
  | { readonly every: Duration; readonly cron?: undefined; readonly timeZone?: undefined };

/** A schedule as clients return it. */
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
  readonly backoff: string;
  readonly timeout: number;
  /** Which of these the schedule does not set: each run takes them from the defaults of its queue, if that has some. */
  readonly unset: readonly AttemptOption[];
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  /** The limit key of its jobs, and what each of their starts costs. */
  readonly limitKey: string | null;
  readonly cost: number;
  readonly webhookUrl: string | null;
  readonly catchUp: "one" | "skip";
  readonly overlap: "allow" | "skip";
  readonly paused: boolean;
  readonly nextRunAt: number | null;
  /** The latest tick that ran. */
  readonly lastRunAt: number | null;
  readonly lastJobId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Recurring jobs, by name. `Jobs` are those that the client knows by name. */
export interface Schedules<out Jobs extends JobsByName = JobsByName> {
  /** Makes a schedule. Fails with `schedule_exists` if there is one with that name. */
  create<Payload = unknown, Name extends JobName<Jobs> = JobName<Jobs>>(
    schedule: ScheduleInput<Payload, ScheduledByName<Jobs, Name>>,
    options?: ChangeOptions,
  ): Promise<Schedule>;
  /** Makes or changes the schedule with that name. Repeating it changes nothing and keeps the next tick. */
  upsert<Payload = unknown, Name extends JobName<Jobs> = JobName<Jobs>>(
    schedule: ScheduleInput<Payload, ScheduledByName<Jobs, Name>>,
    options?: ChangeOptions,
  ): Promise<Schedule>;
  get(name: string): Promise<Schedule | null>;
  list(): Promise<Schedule[]>;
  /** False if there was none. */
  remove(name: string, options?: ChangeOptions): Promise<boolean>;
  pause(name: string, options?: ChangeOptions): Promise<Schedule>;
  /** Ticks that passed while it was paused are not made up for. */
  resume(name: string, options?: ChangeOptions): Promise<Schedule>;
  /** Makes a job now. Does not change the ticks. */
  run(name: string, options?: ChangeOptions): Promise<EnqueuedJob>;
  /** The next ticks of a stored schedule, or of a timing that you want to try. */
  preview(schedule: string | ScheduleTiming, count?: number): Promise<number[]>;
}
