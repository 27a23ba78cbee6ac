import type { Event } from "../core/event.ts";
import type { LostLease, Settled } from "../core/lease.ts";
import type { Clock } from "../lib/clock.ts";
import type { Hint, Store } from "../store/store.ts";

export const DUTIES = ["promote", "reclaim", "recur", "prune", "rerank", "deliver", "expire"] as const;
export type DutyName = (typeof DUTIES)[number];

/** Work that is repeated. Any number of processes can do it at once; the store makes that safe. */
export interface Duty {
  /** Hints that end its rest. */
  readonly wokenBy: readonly Hint["topic"][];
  /** Work in this queue ends its rest, too. */
  readonly wakesFor?: string | undefined;
  /** Does what is due; returns how long to rest, in milliseconds. */
  turn(): Promise<number>;
}

/** Where duties announce what they did, such as the client's announcer. */
export interface Announce {
  wanted(): boolean;
  publish(events: readonly Event[]): void;
  settled(attempts: readonly Settled[]): void;
  /** Tells waiting callers in this process that a job has ended. */
  ended(id: string): void;
}

/** The longest rest of each duty: the delay that a lost hint causes. */
export type RestsMs = Readonly<Record<DutyName, number>>;

export const RESTS_MS: RestsMs = {
  promote: 1000,
  reclaim: 5000,
  recur: 5000,
  prune: 10_000,
  rerank: 60_000,
  deliver: 1000,
  expire: 10_000,
};

export interface DutyParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: () => number;
  readonly announce: Announce;
  readonly restsMs: RestsMs;
  /** Lets this process renew its own leases before expired ones count as lost. */
  readonly beforeReclaim: () => Promise<void>;
  readonly onLost: (lost: readonly LostLease[]) => void;
  /** How long hourly counters are kept. */
  readonly hoursMs: number;
  /** True once the duties must end: a series of batches then stops after the current one. */
  readonly isStopping: () => boolean;
}

/** Lets other work in this process run. */
export function letOthersRun(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
