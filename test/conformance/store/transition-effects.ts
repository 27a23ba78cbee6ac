/** What a transition must do, in the plainest form: from a job as it was to the job, its attempts and what was counted. No code of an engine. */
import type { Attempt, JobRecord, Status } from "../../../src/core/job.ts";
import type { Transition } from "../../../src/core/lifecycle.ts";

/** A job and every attempt of it. */
export interface Story {
  readonly job: JobRecord;
  readonly attempts: readonly Attempt[];
}

const ENDED: readonly Status[] = ["completed", "failed", "dead", "cancelled"];

export function storyAfter({ job, attempts }: Story, transition: Transition, now: number): Story {
  const after = jobAfter(job, transition, now);
  // What runs is told by the job, and is in the history only once it ended without ending the job.
  const history = job.status === "running" ? attempts.filter(({ number }) => number !== job.attempt) : [...attempts];
  if (job.status === "running" && transition.endsAttempt && !ENDED.includes(after.status)) {
    history.push({ ...latest(after), number: job.attempt, endedAt: now, outcome: "failed" });
  }
  const isTold = after.attempt === 0 || history.some(({ number }) => number === after.attempt);
  return { job: after, attempts: isTold ? history : [...history, latest(after)] };
}

function jobAfter(job: JobRecord, transition: Transition, now: number): JobRecord {
  const ran = job.status === "running";
  const { to, retries, losses } = transition;
  const count = (before: number, how: "keep" | "add" | "reset"): number => (how === "reset" ? 0 : before + (how === "add" ? 1 : 0));
  const writesError = transition.error !== undefined && (ran || !transition.errorOnlyIfRunning);
  return {
    ...job,
    status: to,
    fence: job.fence + (transition.bumpFence ? 1 : 0),
    attempt: job.attempt - (transition.giveBackAttempt ? 1 : 0),
    retryCount: count(job.retryCount, retries),
    lostCount: count(job.lostCount, losses),
    snoozes: retries === "reset" ? 0 : count(job.snoozes, transition.countSnooze ? "add" : "keep"),
    runAt: transition.delayMs === null ? job.runAt : now + transition.delayMs,
    result: transition.result === undefined ? job.result : transition.result,
    error: writesError ? transition.error : job.error,
    runMs: ran && transition.endsAttempt ? (transition.runMs ?? now - job.startedAt!) : job.runMs,
    completedAt: ENDED.includes(to) ? now : null,
    updatedAt: now,
  };
}

function latest({ attempt, workerId, startedAt, completedAt, runMs, status, error }: JobRecord): Attempt {
  const outcome = status === "completed" || status === "cancelled" ? status : "failed";
  return { number: attempt, workerId, startedAt: startedAt!, endedAt: completedAt, durationMs: runMs, outcome, error };
}

const COUNTERS: Partial<Record<Status, string>> = {
  completed: "completed",
  failed: "failed",
  dead: "dead",
  cancelled: "cancelled",
  retrying: "retried",
};

/**
 * What is counted: a counter by its name, a time as `run 12` with the number of its bucket. Times are counted where an attempt ends whose run
 * time was reported.
 */
export function countedBy(job: JobRecord, { to, losses, endsAttempt, runMs }: Transition): string[] {
  const counted = [COUNTERS[to] ?? [], losses === "add" ? "lost" : []].flat();
  if (job.status !== "running" || !endsAttempt || runMs === null) return counted;
  return [...counted, `run ${bucketOf(runMs)}`, `wait ${bucketOf(job.startedAt! - job.runAt)}`];
}

/** Buckets end at 2^(n/4) milliseconds. */
function bucketOf(ms: number): number {
  let bucket = 0;
  while (2 ** (bucket / 4) < ms) bucket++;
  return bucket;
}
