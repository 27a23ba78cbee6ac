/** The numbers by which our functions answer: their texts write them, and whoever calls them reads them. */
import type { LeaseAnswer } from "../store.ts";

/** What became of a job that `admit` was given. */
export const ADMITTED = {
  created: 0,
  /** A job of this id is there: the call is a repeat. */
  knownId: 1,
  /** The key is another job's with the same content. */
  knownKey: 2,
  /** The same, of a job that was pruned. */
  pruned: 3,
  /** The key is another job's with other content. */
  conflict: 4,
  full: 5,
  /** Somebody else took the key meanwhile: ask again. */
  overtaken: 6,
  leftOut: 7,
} as const;

/** What became of a job that `change` or `remove` was given. One of which nothing is answered is missing. */
export const CHANGED = { done: 0, refused: 1, missing: 2, leftOut: 3 } as const;

/** What became of a lease, by its number. */
export const LEASE_ANSWERS: readonly LeaseAnswer[] = ["ok", "stale", "cancelled", "locked"];

export const leaseAnswer = (answer: LeaseAnswer): number => LEASE_ANSWERS.indexOf(answer);
