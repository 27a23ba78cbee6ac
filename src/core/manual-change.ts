/** CHANGES BY HAND: who retried, edited, started or cancelled a job, when, and why; and the lives of a job, which follow from them. */
import { invalid, MillraceError } from "./errors.ts";
import type { Attempt, Status } from "./job.ts";

/** The longest name of who makes a change, and the longest reason, in characters. */
export const MAX_ACTOR_LENGTH = 128;
export const MAX_REASON_LENGTH = 500;

/** A job keeps this many of its latest changes by hand. */
export const MAX_MANUAL_CHANGES = 100;

/** Who makes a change, and why. Both are kept with what was changed. */
export interface ChangeOptions {
  /**
   * Who makes the change: at most 128 characters; null for nobody. Default: the client's `actor`. A server takes it from the API key or the
   * session.
   */
  readonly by?: string | null | undefined;
  /** Why: at most 500 characters. */
  readonly reason?: string | undefined;
}

export const CHANGE_OPTIONS = ["by", "reason"] as const satisfies (keyof ChangeOptions)[];

/** How to retry a job. */
export interface RetryOptions extends ChangeOptions {
  /** Also starts a scheduled or retrying job at once. Cannot be combined with `payload`. */
  readonly now?: boolean | undefined;
  /** Replaces the payload of the job. Undefined keeps it. */
  readonly payload?: unknown;
  /** Forgets the steps of the job, so that it begins from the start. Default: it goes on where it died. Cannot be combined with `now`. */
  readonly restart?: boolean | undefined;
}

export const RETRY_OPTIONS = ["now", "payload", "restart", ...CHANGE_OPTIONS] as const satisfies (keyof RetryOptions)[];

/** Who made a change, and why; null if nobody said. */
export interface Actor {
  readonly by: string | null;
  readonly reason: string | null;
}

export const MANUAL_ACTIONS = ["retried", "edited", "started", "cancelled"] as const;
/** What was done by hand: `edited` is a retry with another payload; `started` is a scheduled or retrying job that was started at once. */
export type ManualAction = (typeof MANUAL_ACTIONS)[number];

/** A change by hand, as a store is told of it. */
export interface Manual extends Actor {
  readonly action: ManualAction;
}

/** A change of a job by hand. */
export interface ManualChange extends Manual {
  readonly at: number;
  /** The status before. */
  readonly from: Status;
  /** How many attempts had begun by then. */
  readonly attempt: number;
}

/** An attempt, and the life of the job that it belongs to: 1, and one more with each retry by hand among its latest 100 changes. */
export interface JobAttempt extends Attempt {
  readonly life: number;
}

/** Reads who makes a change, and why. Throws `invalid_input`. */
export function readActor({ by, reason }: { readonly by?: unknown; readonly reason?: unknown }, actor: string | undefined): Actor {
  return {
    by: by === undefined ? (actor ?? null) : readText(by, "by", MAX_ACTOR_LENGTH),
    reason: readText(reason, "reason", MAX_REASON_LENGTH),
  };
}

/** Checks how to retry a job. Throws `invalid_input`. */
export function readRetryOptions<Given extends { readonly now?: unknown; readonly payload?: unknown; readonly restart?: unknown }>(
  given: Given,
): Given & { readonly now: boolean; readonly restart: boolean } {
  const { now = false, restart = false, payload } = given;
  if (typeof restart !== "boolean") throw invalid("restart", "true or false", restart);
  if (now === true && restart) {
    throw new MillraceError("invalid_input", "restart and now cannot be combined: only a job that has ended begins again", {
      field: "restart",
    });
  }
  if (typeof now !== "boolean") throw invalid("now", "true or false", now);
  if (now && payload !== undefined) {
    throw new MillraceError("invalid_input", "payload and now cannot be combined: only a job that has ended gets another payload", {
      field: "payload",
    });
  }
  return { ...given, now, restart };
}

/** Whether this can be the name of who makes changes. */
export function isActor(given: unknown): given is string {
  return isText(given, MAX_ACTOR_LENGTH);
}

export const ACTOR_RULE = `a text of 1 to ${MAX_ACTOR_LENGTH} characters`;

function readText(given: unknown, field: string, longest: number): string | null {
  if (given === undefined || given === null) return null;
  if (!isText(given, longest)) throw invalid(field, `a text of 1 to ${longest} characters`, given);
  return given;
}

function isText(given: unknown, longest: number): given is string {
  return typeof given === "string" && given.length > 0 && given.length <= longest;
}

/** Whether the change began a new life of the job. */
export function startsLife({ action }: ManualChange): boolean {
  return action === "retried" || action === "edited";
}

/** The attempts, each with its life: those after the n-th retry by hand belong to life n + 1. Counts from the changes that the job still has. */
export function withLives(attempts: readonly Attempt[], changes: readonly ManualChange[]): JobAttempt[] {
  const ends = changes.filter(startsLife).map(({ attempt }) => attempt);
  return attempts.map((attempt) => ({ ...attempt, life: 1 + ends.filter((end) => end < attempt.number).length }));
}
