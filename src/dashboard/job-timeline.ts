/** THE LIFE OF A JOB AS SPANS OF TIME: waiting, running, backoff before a retry. Pure: a job and its attempts in, spans out. */
import { type Attempt, isTerminal, type JobSummary } from "../core/job.ts";

export interface Span {
  readonly kind: "scheduled" | "waiting" | "running" | "completed" | "failed" | "cancelled" | "backoff";
  readonly from: number;
  /** Null: it has not ended. */
  readonly to: number | null;
  /** The number of the attempt that ran; null if none did. */
  readonly attempt: number | null;
}

type Life = Pick<JobSummary, "createdAt" | "scheduledAt" | "status" | "completedAt">;

/** The spans from creation until the end, or until now. */
export function timelineOf(job: Life, attempts: readonly Attempt[]): Span[] {
  const spans: Span[] = [];
  let at = job.createdAt;
  for (const attempt of attempts) {
    spans.push(...waitBefore(job, attempts, attempt, at));
    spans.push({ kind: attempt.outcome, from: attempt.startedAt, to: attempt.endedAt, attempt: attempt.number });
    at = attempt.endedAt ?? attempt.startedAt;
  }
  if (job.status === "running") return spans;
  if (!isTerminal(job.status)) spans.push(...waitFrom(job, at, attempts.length > 0, null));
  // Cancelled before it ever ran: until then it waited.
  else if (attempts.length === 0 && job.completedAt !== null) spans.push(...waitFrom(job, at, false, job.completedAt));
  return spans;
}

function waitBefore(job: Life, attempts: readonly Attempt[], attempt: Attempt, from: number): Span[] {
  const to = attempt.startedAt;
  if (to <= from) return [];
  if (attempt !== attempts[0]) return [{ kind: "backoff", from, to, attempt: null }];
  // The stored due time is that of the latest attempt; if there were several, that of the first is unknown.
  return waitFrom(attempts.length === 1 ? job : { ...job, scheduledAt: null }, from, false, to);
}

/** The wait until it is due, and the wait from then on. */
function waitFrom({ scheduledAt, status }: Life, from: number, isRetry: boolean, to: number | null): Span[] {
  const due = scheduledAt !== null && scheduledAt > from && (to === null || scheduledAt < to) ? scheduledAt : null;
  const rest = isRetry ? "backoff" : "scheduled";
  if (due === null) return [{ kind: isRetry && status === "retrying" ? "backoff" : "waiting", from, to, attempt: null }];
  const isWaitingForIt = to === null && (status === "scheduled" || status === "retrying");
  if (isWaitingForIt) return [{ kind: rest, from, to: null, attempt: null }];
  return [
    { kind: rest, from, to: due, attempt: null },
    { kind: "waiting", from: due, to, attempt: null },
  ];
}
