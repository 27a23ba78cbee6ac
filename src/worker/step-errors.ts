/** WHAT A HANDLER IS TOLD that uses its steps wrongly, or too late. */
import { MillraceError } from "../core/errors.ts";
import type { StepRecord } from "../core/steps.ts";

export function over(jobId: string): MillraceError {
  return new MillraceError("stale_lease", "the attempt is over: its context can no longer be used", { jobId });
}

export function taken(step: string, { kind }: StepRecord): MillraceError {
  const what = kind === "wait" ? "a signal" : `a ${kind}`;
  const message = `the name "${step}" belongs to ${what} of this job: give the call a name of its own`;
  return new MillraceError("invalid_input", message, { field: "name" });
}
