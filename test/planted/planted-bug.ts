import type { Store } from "../../src/store/store.ts";
import type { Invariant } from "../history/violation.ts";
import type { WorldPlan } from "../simulation/plan.ts";
import type { Plant } from "../simulation/stage.ts";

/** A bug that somebody could make, and by which broken promises it must be found. */
export interface PlantedBug extends Plant {
  readonly name: string;
  readonly breaks: readonly Invariant[];
  /** Only worlds in which it could show are worth a run. */
  readonly needs?: (plan: WorldPlan) => boolean;
}

/** The same store but for these verbs. */
export function changed(inner: Store, change: Partial<Store>): Store {
  return new Proxy(inner, {
    get(target, name) {
      const own = change[name as keyof Store];
      if (own !== undefined) return own;
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

export function hasQueue(plan: WorldPlan, option: "capacity" | "headStart" | "retention"): boolean {
  return Object.values(plan.queues).some((queue) => queue[option] !== undefined);
}
