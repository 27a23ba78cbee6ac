/** SLOTS IN USE OVER TIME, added up from what each worker reports of itself, also of workers that have ended. Pure. */
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import { HOURS_OF_USE, MINUTES_OF_USE, type WorkerEntry } from "../core/worker-entry.ts";

/** How many slots there were in a period, and how many of them were in use, on average. */
export interface UsePoint {
  readonly at: number;
  readonly busy: number;
  readonly slots: number;
}

export type UseStep = "minute" | "hour";

const STEPS = {
  minute: { ms: MINUTE_MS, points: MINUTES_OF_USE, of: "minutes" },
  hour: { ms: HOUR_MS, points: HOURS_OF_USE, of: "hours" },
} as const;

type Reported = Pick<WorkerEntry, "slots" | "use"> & { readonly heartbeatAt: number };

/** The last list item of a worker is of the period in which it was last heard of. */
export function slotsOverTime(workers: readonly Reported[], step: UseStep, now: number): UsePoint[] {
  const { ms, points, of } = STEPS[step];
  const last = Math.floor(now / ms);
  const sums = Array.from({ length: points }, () => ({ busy: 0, slots: 0 }));
  for (const { slots, use, heartbeatAt } of workers) {
    const shares = use?.[of] ?? [];
    const heard = Math.floor(heartbeatAt / ms);
    shares.forEach((share, index) => {
      const sum = sums[points - 1 - (last - heard) - (shares.length - 1 - index)];
      if (sum === undefined) return;
      sum.busy += (share * slots) / 100;
      sum.slots += slots;
    });
  }
  return sums.map((sum, index) => ({ at: (last - (points - 1 - index)) * ms, ...sum }));
}
