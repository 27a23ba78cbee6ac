/**
 * The life of a job.
 *
 *   scheduled ─→ pending ─→ running ─→ completed
 *                   ↑          ├───→ retrying ─→ pending   retries remain, or it was lost and may run again
 *                   │          ├───→ dead                  no retries left, discarded, or lost too often
 *                   │          ├───→ failed                the same, in a queue without dead letters
 *                   │          └───→ pending | scheduled   released, held with its limit key, or snoozed: costs no attempt
 *                   └── retry by hand from dead, failed, cancelled; to scheduled, if it is spread over a time
 *   blocked ─→ pending | scheduled             unblocked
 *   running ─→ blocked | scheduled             suspended at a durable wait or sleep (steps.ts): costs no attempt
 *   blocked, scheduled, pending, retrying, running ─→ cancelled
 *
 * A transition is a value: it says what changes, not how. Stores apply it atomically, and only if its condition still holds. So all engines
 * agree about retries.
 */
import type { Facets } from "./facets.ts";
import { withGroup } from "./error-group.ts";
import type { AttemptError, JobError, JobRecord, Status } from "./job.ts";
import { FIXED_BACKOFF, lostDelay, retryDelay } from "./retry.ts";
import type { CallRequest, NewStep } from "./steps.ts";

/** How an attempt ended, as its worker (or upkeep, for a lost one) reports it. */
export type Outcome =
  | { readonly kind: "completed"; readonly result: string | null; readonly runMs: number }
  /** `delayMs` replaces the retry delay: from RetryAfter, or a backoff function of the handler. */
  | { readonly kind: "failed"; readonly error: AttemptError; readonly delayMs?: number | undefined; readonly runMs: number }
  /** A retry would not help. */
  | { readonly kind: "discard"; readonly error: AttemptError; readonly runMs: number }
  | { readonly kind: "snooze"; readonly delayMs: number }
  /** The limit key of the job starts nothing for so long. The job keeps its place. */
  | { readonly kind: "hold"; readonly delayMs: number }
  /** Given back unfinished. Costs nothing. */
  | { readonly kind: "release" }
  | { readonly kind: "lost" }
  /**
   * The handler reached these open steps, and nothing else of it runs. Costs nothing. `calls` are the jobs that it calls. `life` is that of the
   * job (see readSteps of the store), which does not change while its lease holds; if the worker does not know it, the store is asked.
   */
  | {
      readonly kind: "suspend";
      readonly waits: readonly NewStep[];
      readonly calls: readonly CallRequest[];
      readonly life?: number | undefined;
    };

export const OUTCOME_KINDS = [
  "completed",
  "failed",
  "discard",
  "snooze",
  "release",
  "lost",
  "hold",
  "suspend",
] as const satisfies Outcome["kind"][];

export interface Transition {
  readonly to: Status;
  /** Whether the fence grows, so that later writes of the present holder are refused. A settled lease does not need it. */
  readonly bumpFence: boolean;
  /** Whether to give back the attempt that the claim counted. */
  readonly giveBackAttempt: boolean;
  /** `add`: one more was used. `reset`: a new life; retries and snoozes count from 0 again. */
  readonly retries: "keep" | "add" | "reset";
  /** `add`: one more attempt was lost; this raises the counter `lost`, and the worker is told. `reset`: counts from 0 again. */
  readonly losses: "keep" | "add" | "reset";
  readonly countSnooze: boolean;
  /** Due this long after the store's now; null keeps the due time and the rank. */
  readonly delayMs: number | null;
  /** undefined keeps the present one. */
  readonly result: string | null | undefined;
  /** undefined keeps the present one. With `errorOnlyIfRunning`, it is written only if the job was running. */
  readonly error: JobError | null | undefined;
  readonly errorOnlyIfRunning: boolean;
  /** Whether the attempt ends. Unless the job ends too, it is added to the history. */
  readonly endsAttempt: boolean;
  /** How long the attempt ran, if reported; only then its times are counted. Null: from its start until now. */
  readonly runMs: number | null;
}

/** Completed with a reported run time, and nothing else changes. */
export type PlainEnd = Transition & { readonly result: string | null; readonly runMs: number };

/** Engines have a fast statement for the plain end. This decides, never the name of the outcome. */
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

/** What the rules need to know about the job. While its lease holds, only its own steps change them: a stored one sets retryCount and lostCount to 0. */
export type AttemptFacts = Pick<JobRecord, "retryCount" | "maxRetries" | "lostCount" | "maxLost" | "retryDelayMs" | "backoff" | "snoozes">;

export interface Policy {
  readonly deadLetters: boolean;
}

export const MIN_SNOOZE_MS = 1000;
export const MAX_SNOOZES = 1000;

/** What follows from the outcome of an attempt. `random` is in [0, 1) and spreads the retries. */
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
    case "hold":
      return hold(job, policy, random);
    case "release":
      return { ...NOTHING, to: "pending", bumpFence: true, giveBackAttempt: true };
    case "lost":
      return lose(job, policy, random);
    case "suspend":
      return suspend(outcome.waits);
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
  const delay = delayMs ?? retryDelay(job.retryDelayMs, job.backoff === FIXED_BACKOFF ? 1 : job.retryCount + 1, random);
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

/** The job stays first in its line, which the store holds back: see Settlement.holdMs. It counts as a snooze, so that this ends, too. */
function hold(job: AttemptFacts, policy: Policy, random: number): Transition {
  if (job.snoozes >= MAX_SNOOZES) return fail(job, TOO_MANY_SNOOZES, undefined, null, policy, random);
  return { ...NOTHING, to: "pending", bumpFence: true, giveBackAttempt: true, countSnooze: true };
}

/**
 * The store makes it due at the earliest end of its waits, or pending at once if one has ended already. It runs again when a wait has ended,
 * which is progress, so retries and losses count from 0 again.
 */
function suspend(waits: readonly NewStep[]): Transition {
  const sleeps = waits.every(({ kind }) => kind === "sleep");
  return { ...NOTHING, to: sleeps ? "scheduled" : "blocked", giveBackAttempt: true, retries: "reset", losses: "reset" };
}

/**
 * A lost attempt is usually not the job's fault (a deploy, or another job that crashed the process), so it costs no retry: losses are counted
 * separately. Its worker may be alive and only cut off. The fence grows, so that its later reports are refused.
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

/** When the handler of a job was called: so long after the claim, but not later than now, nor before the claim if the clock was set back. */
export function startedAfter(claimedAt: number, heldMs: number, now: number): number {
  return Math.max(claimedAt, Math.min(claimedAt + heldMs, now));
}

/** A change that somebody asked for. It applies only to a job whose status is in `from`. */
export interface Move {
  readonly from: readonly Status[];
  readonly transition: Transition;
  /** The JSON text that becomes the payload, and the facets that it has; undefined keeps the present ones. */
  readonly edit?: { readonly payload: string; readonly facets: Facets | null } | undefined;
  /** `forget`: the job begins again without its steps. `retry`: it forgets those that failed. Default: keeps all. */
  readonly steps?: "forget" | "retry" | undefined;
  /** A job that another transaction holds is left to a later try, although it is alone: others wait behind it. */
  readonly leavesHeld?: true | undefined;
  /** What the parent of a job is told: see `Ending`. Set if the move ends jobs, or retries members of flows. */
  readonly ending?: Ending | undefined;
}

/** How a job ended, as its parent keeps it. `open`: it has not, because somebody retried it; only flows are told. */
export interface Ending {
  readonly state: "done" | "failed" | "open";
  /** JSON: the result, or a CallError. */
  readonly value: string | null;
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
  ending: {
    state: "failed",
    value: JSON.stringify({ name: "Cancelled", message: "it was cancelled", kind: "cancelled", status: "cancelled" }),
  },
};

/** A new life: retries, losses and snoozes count from 0 again; attempt, fence and history continue. */
export const RETRY: Move = {
  from: ["dead", "failed", "cancelled"],
  transition: { ...NOTHING, to: "pending", retries: "reset", losses: "reset", delayMs: 0 },
  steps: "retry",
};

/** The same, from the beginning: what the job did before is forgotten. */
export const RESTART: Move = { ...RETRY, steps: "forget" };

/** A new life that begins after a while. */
export function retryAfter(delayMs: number): Move {
  return delayMs === 0 ? RETRY : { ...RETRY, transition: { ...RETRY.transition, to: "scheduled", delayMs } };
}

/** Starts a waiting job at once. Not a new life: retries used and attempts lost so far still count. */
export const RUN_NOW: Move = { from: ["scheduled", "retrying"], transition: { ...NOTHING, to: "pending", delayMs: 0 } };

/** Unblocks a job. With a delay, the same move leads to `scheduled`. The capacity of its queue does not matter. */
export const OPEN: Move = { from: ["blocked"], transition: { ...NOTHING, to: "pending", delayMs: 0 } };
