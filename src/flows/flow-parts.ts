import type { Event } from "../core/event.ts";
import type { Clock } from "../lib/clock.ts";
import type { Store } from "../store/store.ts";

/** What the work of flows needs: of a client that starts one, or of upkeep. */
export interface FlowParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly announce: {
    wanted(): boolean;
    publish(events: readonly Event[]): void;
    /** Tells waiting callers in this process that a job has ended. */
    ended(id: string): void;
  };
}
