import { type Attempt, isTerminal } from "../../core/job.ts";
import type { Transition } from "../../core/lifecycle.ts";
import { everyAttempt, type StoredJob } from "./stored-job.ts";

/** Writes a transition into a job, except the status: `Jobs.enter` changes and counts that. */
export function applyTransition(job: StoredJob, transition: Transition, now: number): void {
  const { record } = job;
  const wasRunning = record.status === "running";
  const isOver = isTerminal(transition.to);
  // What the record says about its last attempt is about to be overwritten.
  if (isTerminal(record.status)) job.history = everyAttempt(job);

  if (transition.result !== undefined) record.result = transition.result;
  if (transition.error !== undefined && (wasRunning || !transition.errorOnlyIfRunning)) {
    record.error = transition.error === null ? null : { ...transition.error };
  }
  if (wasRunning && transition.endsAttempt) {
    record.runMs = transition.runMs ?? now - record.startedAt!;
    if (!isOver) job.history = [...job.history, failedAttempt(job, now)];
  }
  if (transition.retries !== "keep") record.retryCount = transition.retries === "add" ? record.retryCount + 1 : 0;
  if (transition.to === "cancelled") job.cancelledFence = wasRunning ? record.fence : null;
  if (transition.bumpFence) record.fence++;
  if (transition.giveBackAttempt) record.attempt--;
  if (transition.losses !== "keep") record.lostCount = transition.losses === "add" ? record.lostCount + 1 : 0;
  if (transition.countSnooze) record.snoozes++;
  if (transition.retries === "reset") record.snoozes = 0;
  if (transition.delayMs !== null) record.runAt = now + transition.delayMs;
  record.completedAt = isOver ? now : null;
  record.updatedAt = now;
}

function failedAttempt({ record }: StoredJob, now: number): Attempt {
  return {
    number: record.attempt,
    workerId: record.workerId,
    startedAt: record.startedAt!,
    endedAt: now,
    durationMs: record.runMs,
    outcome: "failed",
    error: record.error,
  };
}
