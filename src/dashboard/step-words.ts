/** STEPS AS PEOPLE READ THEM: in which order, when each began, how long it took. Pure. */
import type { JobStep } from "./shapes.ts";

/** When a step began. The result of a function is stored when the function has returned: it began before that. */
export function beganAt({ kind, startedAt, runMs }: Pick<JobStep, "kind" | "startedAt" | "runMs">): number {
  return kind === "step" && runMs !== null ? startedAt - runMs : startedAt;
}

/** How long it took; null if it is still open. */
export function tookMs(step: Pick<JobStep, "kind" | "startedAt" | "endedAt" | "runMs">): number | null {
  if (step.kind === "step" && step.runMs !== null) return step.runMs;
  return step.endedAt === null ? null : step.endedAt - step.startedAt;
}

/** In the order in which they began; of those that began together, the first that ended. */
export function inOrder(steps: readonly JobStep[]): JobStep[] {
  return steps.toSorted((one, other) => beganAt(one) - beganAt(other) || (one.endedAt ?? Infinity) - (other.endedAt ?? Infinity));
}

const REFUSED = {
  already_received: "Another signal of this name came first, so this one was not taken.",
  timed_out: "The wait for this signal has timed out, so it was not taken.",
  ended: "The job has ended, so it takes no more signals.",
} as const;

/** Why a job did not take a signal. */
export function signalRefused(reason: keyof typeof REFUSED): string {
  return REFUSED[reason];
}
