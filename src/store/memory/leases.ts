import { MAX_LOG_LINES } from "../../core/job.ts";
import type { LeaseAnswer, Note, Settlement } from "../store.ts";
import type { StoredJob } from "./stored-job.ts";

/** Whether this fence is the one under which the job runs. */
export function holds(job: StoredJob | undefined, fence: number): job is StoredJob {
  return job !== undefined && job.record.status === "running" && job.record.fence === fence;
}

/** The answer to a lease that does not hold. */
export function refusal(job: StoredJob | undefined, fence: number): LeaseAnswer {
  return job?.record.status === "cancelled" && job.cancelledFence === fence ? "cancelled" : "stale";
}

/** Whether this very settlement was the last that was applied: its answer was lost on the way. */
export function isRepeat(job: StoredJob | undefined, { fence, outcome }: Settlement): boolean {
  return job !== undefined && job.settledFence === fence && job.settledOutcome === outcome;
}

export function writeNote(job: StoredJob, { progress, lines }: Note, now: number): void {
  const { record } = job;
  if (progress !== null) {
    record.progress = { ...progress };
    record.updatedAt = now;
  }
  if (lines.length === 0) return;
  const logs = (job.logs ??= []);
  for (const text of lines.slice(0, MAX_LOG_LINES - logs.length)) {
    logs.push({ number: logs.length + 1, at: now, attempt: record.attempt, text });
  }
}
