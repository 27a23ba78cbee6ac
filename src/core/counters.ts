import type { Status } from "./job.ts";
import type { Transition } from "./lifecycle.ts";
import { HOUR_MS } from "./time-units.ts";

/** What each queue and each type counts: by minute, by hour and in total. `failed` and `dead` are jobs that ended so. `retried` are attempts that failed
 * or were lost and had an automatic retry; a retry by hand is not counted. `lost` are attempts. */
export const COUNTERS = ["enqueued", "completed", "failed", "dead", "retried", "cancelled", "lost"] as const;
export type Counter = (typeof COUNTERS)[number];

/** How many types of a queue are counted each on its own: its first ones. The others count towards their queue only. */
export const MAX_TYPES_COUNTED = 100;

/** Histograms of all types of a queue are many numbers, so they are read of no more periods at once: an hour of minutes, or two days of hours. */
export const MAX_TIMED_PERIODS = 60;

/** How long histograms are kept by minute: as long as a chart by minute goes back. Then `sweep` adds them to those of their hour. */
export const TIMES_BY_MINUTE_MS: number = HOUR_MS;

/** The two times that have histograms. */
export const TIMES = ["run", "wait"] as const;
export type TimeKind = (typeof TIMES)[number];

/** The counter for jobs that enter this status, if there is one. */
export function counterOf(to: Status): Counter | null {
  switch (to) {
    case "completed":
    case "failed":
    case "dead":
    case "cancelled":
      return to;
    case "retrying":
      return "retried";
    default:
      return null;
  }
}

/** Whether a transition counts the run and wait times of its job: it ends an attempt whose run time was reported. */
export function countsTimes({ endsAttempt, runMs }: Transition): boolean {
  return endsAttempt && runMs !== null;
}
