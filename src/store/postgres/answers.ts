/** The numbers in the answers of our SQL functions. */
import type { Move } from "../../core/lifecycle.ts";
import type { FlowChangeAnswer, LeaseAnswer } from "../store.ts";

/** What `admit` did with a job. */
export const ADMITTED = {
  created: 0,
  /** A job with this id exists: the call is a repeat. */
  knownId: 1,
  /** Another job with the same content has the key. */
  knownKey: 2,
  /** The same, but that job was pruned. */
  pruned: 3,
  /** Another job with other content has the key. */
  conflict: 4,
  full: 5,
  /** Somebody else took the key meanwhile: ask again. */
  overtaken: 6,
  leftOut: 7,
  /** Its limit key has as many waiting jobs as it may have. */
  fullKey: 8,
} as const;

/** What `change` or `remove` did with a job. One without an answer is missing. */
export const CHANGED = { done: 0, refused: 1, missing: 2, leftOut: 3 } as const;

/** The answers about a lease, by number. */
export const LEASE_ANSWERS: readonly LeaseAnswer[] = ["ok", "stale", "cancelled", "locked"];

export const leaseAnswer = (answer: LeaseAnswer): number => LEASE_ANSWERS.indexOf(answer);

/** Further answers of `keep_steps`: the job has too many steps. */
export const KEPT_FULL: number = LEASE_ANSWERS.length;

/** What `end_steps` did with a step. */
export const STEP_ENDED = { ok: 0, late: 1, full: 2, refused: 3, missing: 4, leftOut: 5 } as const;

/** What `change_flows` did with a flow, by number. */
export const FLOW_ANSWERS: readonly FlowChangeAnswer[] = ["ok", "stale", "missing", "locked"];

export const flowAnswer = (answer: FlowChangeAnswer): number => FLOW_ANSWERS.indexOf(answer);

/** What `change` does with the steps of jobs. */
export const FORGET = { forget: 0, retry: 1 } as const satisfies Record<NonNullable<Move["steps"]>, number>;

/** Rows of `exchange` that are no claimed job, instead of the number of the claim. See functions/exchange.ts. */
export const HEAD = -1;
export const CLOGGED = -2;
export const ASK_AGAIN = -3;
