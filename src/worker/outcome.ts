/** Turns the end of an attempt, a returned or thrown value, into an Outcome. Never throws, whatever the handler did. */
import type { Backoff, LeaseFacts } from "../client/client.ts";
import { controlOf } from "../core/control-errors.ts";
import { type Duration, durationWithin, MAX_DELAY_MS } from "../core/duration.ts";
import { preview } from "../core/errors.ts";
import type { AttemptError, Job } from "../core/job.ts";
import { encodeJson } from "../core/json.ts";
import type { Outcome } from "../core/lifecycle.ts";
import type { OnTrouble } from "../core/trouble.ts";
import { describeThrown } from "./attempt-error.ts";

const MAX_RESULT_BYTES: number = 1024 * 1024;

export interface FailureRules {
  readonly facts: LeaseFacts;
  readonly job: Job;
  readonly backoff: Backoff | undefined;
  readonly onTrouble: OnTrouble;
}

/** The JSON text of a result; null if there is none. Throws `invalid_input` with field `result`. */
export function encodeResult(result: unknown): string | null {
  return result === undefined || result === null ? null : encodeJson(result, "result", MAX_RESULT_BYTES);
}

/** A result that cannot be stored fails the attempt: dropping it silently would lose what somebody waits for. */
export function outcomeOfReturn(value: unknown, runMs: number, rules: FailureRules): Outcome {
  try {
    return { kind: "completed", result: encodeResult(value), runMs };
  } catch (error) {
    return failure(error, describeThrown(error), runMs, rules);
  }
}

export function outcomeOfThrow(thrown: unknown, runMs: number, rules: FailureRules): Outcome {
  const control = controlOf(thrown);
  switch (control?.kind) {
    case "snooze":
      return { kind: "snooze", delayMs: control.delayMs };
    case "hold":
      // Without a key there is nothing else to hold.
      return { kind: rules.job.limitKey === null ? "snooze" : "hold", delayMs: control.delayMs };
    case "discard":
      return { kind: "discard", error: describeThrown(thrown), runMs };
    case "retry-after":
      return { kind: "failed", error: describeThrown(thrown), delayMs: control.delayMs, runMs };
    case undefined:
      return failure(thrown, describeThrown(thrown), runMs, rules);
  }
}

export function outcomeOfTimeout(reason: Error, runMs: number, rules: FailureRules): Outcome {
  // The stack of a timer is useless.
  return failure(reason, { name: reason.name, message: reason.message, stack: null, kind: "timeout" }, runMs, rules);
}

function failure(thrown: unknown, error: AttemptError, runMs: number, rules: FailureRules): Outcome {
  return { kind: "failed", error, delayMs: backoffDelay(thrown, rules), runMs };
}

/** The outcome, with the version of the application if the attempt failed. */
export function withVersion(outcome: Outcome, version: string | undefined): Outcome {
  return version !== undefined && "error" in outcome ? { ...outcome, error: { ...outcome.error, version } } : outcome;
}

/** The delay from the backoff function of the job; undefined to use the job's retry delay, also if the function fails. */
function backoffDelay(thrown: unknown, { facts, job, backoff, onTrouble }: FailureRules): number | undefined {
  if (backoff === undefined) return undefined;
  try {
    const delay: Duration = backoff(facts.retryCount + 1, thrown, job);
    const delayMs = durationWithin(delay, 0, MAX_DELAY_MS);
    if (delayMs !== undefined) return delayMs;
    onTrouble({ kind: "backoff", message: `backoff of ${facts.type} must return a time of at most 10 years; got ${preview(delay)}` });
  } catch (error) {
    onTrouble({ kind: "backoff", message: `backoff of ${facts.type} threw: ${preview(describeThrown(error).message)}`, error });
  }
  return undefined;
}
