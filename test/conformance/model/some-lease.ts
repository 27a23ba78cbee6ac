import fc from "fast-check";
import type { LeasedRecord } from "../../../src/store/store.ts";
import type { Model } from "./state.ts";
import { pickFrom } from "./step.ts";

/** The leases that hold, with what their holders know: steps that they kept have reset retries and losses. */
export function current(model: Model): LeasedRecord[] {
  return model.leases.flatMap((lease) => {
    const record = model.reference.jobs.get(lease.id)?.record;
    if (record?.status !== "running" || record.fence !== lease.fence) return [];
    return [{ ...lease, retryCount: record.retryCount, lostCount: record.lostCount }];
  });
}

const WHICH = ["current", "current", "current", "current", "late", "late", "cancelled", "forged"] as const;
export const which = fc.constantFrom(...WHICH);

/** One of the leases that hold, one of the latest that were granted, one whose job was cancelled, or one with a fence that nobody has. */
export function someLease(model: Model, which: (typeof WHICH)[number], pick: number): LeasedRecord | undefined {
  switch (which) {
    case "current":
      return pickFrom(current(model), pick);
    case "late": {
      const late = pickFrom(model.leases.slice(-10), pick);
      return current(model).find(({ id, fence }) => id === late?.id && fence === late.fence) ?? late;
    }
    case "cancelled":
      return pickFrom(
        model.leases.filter(({ id }) => model.reference.jobs.get(id)?.record.status === "cancelled"),
        pick,
      );
    case "forged": {
      const lease = pickFrom(model.leases, pick);
      if (lease === undefined) return undefined;
      const present = model.reference.jobs.get(lease.id)?.record.fence ?? lease.fence;
      const granted = model.leases.filter(({ id }) => id === lease.id).map(({ fence }) => fence);
      const never = Array.from({ length: present + 4 }, (_, fence) => fence).filter((fence) => !granted.includes(fence));
      return { ...lease, fence: pickFrom(never, pick)! };
    }
  }
}
