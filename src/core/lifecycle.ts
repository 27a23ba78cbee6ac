/**
 * The life of a job.
 *
 *   scheduled ─→ pending ─→ running ─→ completed
 *                   ↑          ├───→ retrying ─→ pending   attempts remain, or it was lost and may run again
 *                   │          ├───→ dead                  retries spent, not retryable, or lost too often
 *                   │          ├───→ failed                the same, in a queue without dead letters
 *                   │          └───→ pending | scheduled   released, or snoozed: costs no attempt
 *                   └── retry by hand from dead, failed, cancelled
 *   blocked ─→ pending | scheduled             what it waited for has happened
 *   running ─→ blocked                         it waits for something in the middle of its work: costs no attempt
 *   blocked, scheduled, pending, retrying, running ─→ cancelled
 *
 * A transition is a value: what changes, not how. Stores apply it, atomically, only if its condition still holds. So four engines
 * cannot disagree about a retry.
 */
import { withGroup } from "./error-group.ts";
import type { AttemptError, JobError, JobRecord, Status } from "./job.ts";
import { lostDelay, retryDelay } from "./retry.ts";

/** How an attempt ended, as its worker (or upkeep, for a lost one) reports it. */
export type Outcome =
  | { readonly kind: "completed"; readonly result: string | null; readonly runMs: number }
  /** `delayMs` overrides the stored curve: RetryAfter, or a backoff function of the handler's. */
  | { readonly kind: "failed"; readonly error: AttemptError; readonly delayMs?: number | undefined; readonly runMs: number }
  /** Not worth a retry. */
  | { readonly kind: "discard"; readonly error: AttemptError; readonly runMs: number }
  | { readonly kind: "snooze"; readonly delayMs: number }
  /** Given back unfinished, at no cost. */
  | { readonly kind: "release" }
  /** The lease ran out. */
  | { readonly kind: "lost" };

export const OUTCOME_KINDS = ["completed", "failed", "discard", "snooze", "release", "lost"] as const satisfies Outcome["kind"][];

export interface Transition {
  readonly to: Status;
  /** Whether the fence moves, so that the present holder's later writes are refused. A settled lease needs no such move. */
  readonly bumpFence: boolean;
  /** Whether the attempt that was counted at claim is given back. */
  readonly giveBackAttempt: boolean;
  /** `add`: one more was used. `reset`: a new life, in which retries and snoozes start again. */
  readonly retries: "keep" | "add" | "reset";
  /** `add`: one more attempt was lost; it raises the counter `lost`, and its holder is told. `reset`: they are counted from 0 again. */
  readonly losses: "keep" | "add" | "reset";
  readonly countSnooze: boolean;
  /** Due so long after the store's now; null keeps the due time, and with it the rank. */
  readonly delayMs: number | null;
  /** undefined keeps what is there. */
  readonly result: string | null | undefined;
  /** undefined keeps what is there. Where `errorOnlyIfRunning` is set, it is written only if the job was running. */
  readonly error: JobError | null | undefined;
  readonly errorOnlyIfRunning: boolean;
  /** Whether the attempt ends here and, unless the job ends with it, goes into the history. */
  readonly endsAttempt: boolean;
  /** How long the attempt ran, where that was reported; only then are its times counted. Null: from its start until now. */
  readonly runMs: number | null;
}

/** Completed, with a reported run time, and nothing changes beyond what that means. */
export type PlainEnd = Transition & { readonly result: string | null; readonly runMs: number };

/** Engines have a fast text for the plain end. They choose it by this, never by the name of the outcome. */
export function isPlainEnd(transition: Transition): transition is PlainEnd {
  return (
    transition.to === "completed" &&
    transition.endsAttempt &&
    transition.runMs !== null &&
    transition.error === null &&
    !transition.errorOnlyIfRunning &&
    transition.result !== undefined &&
    !transition.bumpFence &&
    !transition.giveBackAttempt &&
    !transition.countSnooze &&
    transition.retries === "keep" &&
    transition.losses === "keep" &&
    transition.delayMs === null
  );
}

const NOTHING = {
  bumpFence: false,
  giveBackAttempt: false,
  retries: "keep",
  losses: "keep",
  countSnooze: false,
  delayMs: null,
  result: undefined,
  error: undefined,
  errorOnlyIfRunning: false,
  endsAttempt: false,
  runMs: null,
} as const satisfies Partial<Transition>;

/** What the rules need to know of the job whose attempt ended. These facts cannot change while its lease holds. */
export type AttemptFacts = Pick<JobRecord, "retryCount" | "maxRetries" | "lostCount" | "maxLost" | "retryDelayMs" | "snoozes">;

export interface Policy {
  readonly deadLetters: boolean;
}

export const MIN_SNOOZE_MS = 1000;
export const MAX_SNOOZES = 1000;

/** What follows when an attempt ended so. `random` is in [0, 1) and spreads the retries. */
export function settle(job: AttemptFacts, outcome: Outcome, policy: Policy, random: number): Transition {
  switch (outcome.kind) {
    case "completed":
      return { ...NOTHING, to: "completed", result: outcome.result, error: null, endsAttempt: true, runMs: outcome.runMs };
    case "failed":
      return fail(job, outcome.error, outcome.delayMs, outcome.runMs, policy, random);
    case "discard":
      return giveUp(outcome.error, outcome.runMs, policy);
    case "snooze":
      return snooze(job, outcome.delayMs, policy, random);
    case "release":
      return { ...NOTHING, to: "pending", bumpFence: true, giveBackAttempt: true };
    case "lost":
      return lose(job, policy, random);
  }
}

function fail(
  job: AttemptFacts,
  error: AttemptError,
  delayMs: number | undefined,
  runMs: number | null,
  policy: Policy,
  random: number,
): Transition {
  if (job.retryCount >= job.maxRetries) return giveUp(error, runMs, policy);
  const delay = delayMs ?? retryDelay(job.retryDelayMs, job.retryCount + 1, random);
  return { ...NOTHING, to: "retrying", retries: "add", delayMs: delay, result: null, error: withGroup(error), endsAttempt: true, runMs };
}

function giveUp(error: AttemptError, runMs: number | null, policy: Policy): Transition {
  return { ...NOTHING, to: policy.deadLetters ? "dead" : "failed", result: null, error: withGroup(error), endsAttempt: true, runMs };
}

function snooze(job: AttemptFacts, delayMs: number, policy: Policy, random: number): Transition {
  if (job.snoozes >= MAX_SNOOZES) return fail(job, TOO_MANY_SNOOZES, undefined, null, policy, random);
  const delay = Math.max(MIN_SNOOZE_MS, delayMs);
  return { ...NOTHING, to: "scheduled", giveBackAttempt: true, countSnooze: true, delayMs: delay };
}

/**
 * A lost attempt is as a rule not the job's fault (a deploy, a neighbour that brought the process down), so it costs no retry: losses are
 * counted apart. The holder may still be alive and only cut off: the fence moves, so that nothing it says later is heard.
 */
function lose(job: AttemptFacts, policy: Policy, random: number): Transition {
  const losses = job.lostCount + 1;
  const lost = { bumpFence: true, losses: "add" } as const;
  if (losses > job.maxLost) return { ...giveUp(lostTooOften(losses), null, policy), ...lost };
  const delayMs = lostDelay(job.retryDelayMs, losses, random);
  return { ...NOTHING, ...lost, to: "retrying", delayMs, result: null, error: withGroup(LOST), endsAttempt: true };
}

const LOST: AttemptError = {
  name: "LeaseLost",
  message: "the lease ran out: the worker died, was cut off from the store, or did not renew it in time",
  stack: null,
  kind: "lost",
};

function lostTooOften(losses: number): AttemptError {
  const times = losses === 1 ? "once" : `${losses} times`;
  const ended = losses === 1 ? "that worker" : "these workers";
  return { ...LOST, message: `its worker died or was cut off ${times} while it ran: find out what ended ${ended}, then retry the job` };
}

const TOO_MANY_SNOOZES: AttemptError = {
  name: "TooManySnoozes",
  message: `snoozed more than ${MAX_SNOOZES} times`,
  stack: null,
  kind: "error",
};

/** A change that someone asked for: applied only to a job whose status is one of `from`. */
export interface Move {
  readonly from: readonly Status[];
  readonly transition: Transition;
}

export const CANCEL: Move = {
  from: ["scheduled", "pending", "retrying", "blocked", "running"],
  transition: {
    ...NOTHING,
    to: "cancelled",
    bumpFence: true,
    error: withGroup({ name: "Cancelled", message: "cancelled while it ran", stack: null, kind: "cancelled" }),
    errorOnlyIfRunning: true,
    endsAttempt: true,
  },
};

/** A new life: retries, losses and snoozes start again, while attempt, fence and history go on counting. */
export const RETRY: Move = {
  from: ["dead", "failed", "cancelled"],
  transition: { ...NOTHING, to: "pending", retries: "reset", losses: "reset", delayMs: 0 },
};

/** Starts a job at once that would have waited for its time. It is not a new life: retries used and attempts lost so far still count. */
export const RUN_NOW: Move = {
  from: ["scheduled", "retrying"],
  transition: { ...NOTHING, to: "pending", delayMs: 0 },
};

/** What a blocked job waited for has happened. With a delay, the same move leads to `scheduled`. It always fits, however full its queue is. */
export const OPEN: Move = {
  from: ["blocked"],
  transition: { ...NOTHING, to: "pending", delayMs: 0 },
};
