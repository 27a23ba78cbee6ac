import type { NewJob } from "../../../src/core/job.ts";
import type { LeasedRecord, Settlement } from "../../../src/store/store.ts";
import type { World } from "../world.ts";
import type { Reference, Report } from "./reference.ts";

/** The limit keys of all runs. */
export const LIMIT_KEYS = ["x", "y", "z \u{1F600}"];

/** What a run knows beside the reference: what was said before, so that it can be said again, late or wrongly. */
export interface Model {
  readonly reference: Reference;
  /** Every lease that was ever granted, as it was granted. */
  readonly leases: LeasedRecord[];
  readonly inserted: NewJob[];
  readonly sent: { readonly settlement: Settlement; readonly report: Report }[];
  /** Every version that a schedule ever had, and the present one. */
  readonly versions: Map<string, number[]>;
  steps: number;
}

/** The store that is tried, through two connections: one acts, the other looks. Where there is only one, it does both. */
export interface Real {
  readonly connections: [World, World];
}

/** What happened in all runs together, so that a suite which tries nothing is seen. */
export const effects = new Map<string, number>();

export function happened(effect: string): void {
  effects.set(effect, (effects.get(effect) ?? 0) + 1);
}
