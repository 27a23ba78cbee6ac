import { STRICT_HEAD_START_MS } from "./rank.ts";

/** Queue settings. Each has a default, so that a queue needs no set-up. */
export interface QueueSettings {
  /** How many jobs may wait (pending, scheduled or retrying); null for no limit. */
  readonly capacity: number | null;
  /** How much time one step of priority is worth. By default, priority is strict. */
  readonly headStartMs: number;
  /** Whether jobs that fail for good become `dead` (kept until somebody acts) or `failed`. */
  readonly deadLetters: boolean;
  readonly retention: Retention;
}

/** How long completed and cancelled jobs are kept: until one bound is passed, but at least `keepAtLeastMs`. */
export interface Retention {
  readonly ageMs: number;
  readonly count: number;
  readonly keepAtLeastMs: number;
}

/** A change of settings. What is absent or undefined stays as it is. */
export type QueueChange = Partial<Omit<QueueSettings, "retention">> & {
  readonly retention?: Partial<Retention>;
  readonly paused?: boolean;
};

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
