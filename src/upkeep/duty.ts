import type { Event } from "../core/event.ts";
import type { Transition } from "../core/lifecycle.ts";
import type { LostLease } from "../core/lease.ts";
import type { Clock } from "../lib/clock.ts";
import type { Hint, Store } from "../store/store.ts";

/** Everything that is done on its own time. */
export const DUTIES = ["promote", "reclaim", "recur", "prune", "rerank"] as const;
export type DutyName = (typeof DUTIES)[number];

/** One thing that has to be done again and again. Any number of processes may do it at once; the store sees to that. */
export interface Duty {
  /** The hints that end its rest. */
  readonly wokenBy: readonly Hint["topic"][];
  /** Does what there is to do now; answers how long to rest, in milliseconds. */
  turn(): Promise<number>;
}

/** To whom duties tell what they did. The client's announcer is one. */
export interface Announce {
  wanted(): boolean;
  publish(events: readonly Event[]): void;
  settled(
    attempts: readonly {
      readonly id: string;
      readonly type: string;
      readonly queue: string;
      readonly retryCount: number;
      readonly lostCount: number;
      readonly transition: Transition;
    }[],
  ): void;
}

/** The longest that each duty rests when nothing calls for it: what a lost hint costs. */
export type RestsMs = Readonly<Record<DutyName, number>>;

export const RESTS_MS: RestsMs = { promote: 1000, reclaim: 5000, recur: 5000, prune: 10_000, rerank: 60_000 };

/** What duties are given. */
export interface DutyParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly announce: Announce;
  readonly restsMs: RestsMs;
  /** Lets this process renew its own leases before any that ran out is taken for lost. */
  readonly beforeReclaim: () => Promise<void>;
  /** Told of leases that were taken from their holders. */
  readonly onLost: (lost: readonly LostLease[]) => void;
  /** How long hourly counters are kept. */
  readonly hoursMs: number;
  /** True once the duties shall end: a long series of batches then stops after the one under way. */
  readonly isStopping: () => boolean;
}

/** Lets everything else that waits for this process have its turn. */
export function letOthersRun(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
