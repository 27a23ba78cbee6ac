import { STRICT_HEAD_START_MS } from "./rank.ts";

/** What a queue can be told. Each has a default, so that a queue needs no set-up. */
export interface QueueSettings {
  /** At most so many jobs may wait (pending + scheduled + retrying); null is no bound. */
  readonly capacity: number | null;
  /** How much earlier one step of priority counts. The default makes priority strict. */
  readonly headStartMs: number;
  /** Whether jobs that failed for good become `dead` (kept until someone acts) or `failed`. */
  readonly deadLetters: boolean;
  readonly retention: Retention;
}

/** How long completed and cancelled jobs are kept: until either bound is passed, but never less than `keepAtLeastMs`. */
export interface Retention {
  readonly ageMs: number;
  readonly count: number;
  readonly keepAtLeastMs: number;
}

/** A change of settings: what is not named, or undefined, stays. */
export type QueueChange = Partial<Omit<QueueSettings, "retention">> & {
  readonly retention?: Partial<Retention>;
  readonly paused?: boolean;
};

/** The settings after a change. */
export function changeSettings(settings: QueueSettings, change: QueueChange): QueueSettings {
  const { retention = {} } = change;
  return {
    capacity: change.capacity === undefined ? settings.capacity : change.capacity,
    headStartMs: change.headStartMs ?? settings.headStartMs,
    deadLetters: change.deadLetters ?? settings.deadLetters,
    retention: {
      ageMs: retention.ageMs ?? settings.retention.ageMs,
      count: retention.count ?? settings.retention.count,
      keepAtLeastMs: retention.keepAtLeastMs ?? settings.retention.keepAtLeastMs,
    },
  };
}

export const QUEUE_DEFAULTS: QueueSettings = {
  capacity: null,
  headStartMs: STRICT_HEAD_START_MS,
  deadLetters: true,
  retention: { ageMs: 24 * 3_600_000, count: 10_000, keepAtLeastMs: 10 * 60_000 },
};

export const DEFAULT_QUEUE = "default";
