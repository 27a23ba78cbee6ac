import type { Status } from "./job.ts";
import type { Transition } from "./lifecycle.ts";

/** What is counted for each queue, by minute, by hour and in all. `failed` and `dead` are jobs that ended so. `retried` are attempts that
 * failed or were lost and were followed by an automatic retry: a retry by hand is not counted. `lost` are attempts, too. */
export const COUNTERS = ["enqueued", "completed", "failed", "dead", "retried", "cancelled", "lost"] as const;
export type Counter = (typeof COUNTERS)[number];

/** The two times whose histograms are kept by minute. */
export const TIMES = ["run", "wait"] as const;
export type TimeKind = (typeof TIMES)[number];

/** The counter that a job entering this status raises, if any. */
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

/** Whether the run and wait times of a running job are counted with its transition: where an attempt ends whose run time was reported. */
export function countsTimes({ endsAttempt, runMs }: Transition): boolean {
  return endsAttempt && runMs !== null;
}
