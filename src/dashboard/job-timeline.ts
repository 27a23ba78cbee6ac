/** THE LIVES OF A JOB AS STEPS: waiting, running, backoff before a retry, ends, and changes by hand. Pure: a job and its history in, steps out. */
import { type Attempt, isTerminal, type JobSummary, type Status } from "../core/job.ts";
import type { ManualChange } from "../core/manual-change.ts";
import type { JobStep } from "./shapes.ts";

/** Something that takes time. */
export interface Span {
  readonly step: "span";
  /** `suspended`: it ran, and waited in turns. Attempts that end at a durable wait are not counted, so their times are unknown. */
  readonly kind: "scheduled" | "waiting" | "running" | "completed" | "failed" | "cancelled" | "backoff" | "suspended" | "ended";
  readonly from: number;
  /** Null: it has not ended. */
  readonly to: number | null;
  /** The number of the attempt that ran; null if none did. */
  readonly attempt: number | null;
}

/** The end of a life. */
interface End {
  readonly step: "end";
  readonly at: number;
  readonly status: Status;
}

/** Somebody changed the job by hand. */
interface Change {
  readonly step: "change";
  readonly at: number;
  readonly change: ManualChange;
  /** How long after the end of the life before, if it began a new one. */
  readonly afterMs: number | null;
}

export type Step = Span | End | Change;

type Life = Pick<JobSummary, "createdAt" | "scheduledAt" | "status" | "completedAt">;

/** A durable step, as far as it says when the job ran. */
type Kept = Pick<JobStep, "kind" | "startedAt" | "endedAt">;

/** The steps from creation until the end, or until now. `kept` are the durable steps of its handler. */
export function timelineOf(
  given: Life,
  attempts: readonly Attempt[],
  changes: readonly ManualChange[],
  kept: readonly Kept[] = [],
): Step[] {
  // The due time of a job that was suspended is that of its latest wait.
  const job = kept.length === 0 ? given : { ...given, scheduledAt: null };
  const steps: Step[] = [];
  let at = job.createdAt;
  let known = 0;
  for (const attempt of attempts) {
    const before = changes.slice(known).filter((change) => change.attempt < attempt.number);
    known += before.length;
    steps.push(...changed(at, before));
    const since = before.at(-1)?.at;
    if (since === undefined) steps.push(...waitBefore(job, attempts, attempt, at));
    else if (attempt.startedAt > since) steps.push(span("waiting", since, attempt.startedAt));
    steps.push({ step: "span", kind: attempt.outcome, from: attempt.startedAt, to: attempt.endedAt, attempt: attempt.number });
    at = attempt.endedAt ?? attempt.startedAt;
  }
  const after = changes.slice(known);
  steps.push(...changed(at, after), ...rest(job, after.at(-1), at, attempts.length > 0));
  return kept.length === 0 ? steps : withSuspensions(steps, kept);
}

/** A job that keeps a step while it seems to wait was running in between: from there on it was suspended. */
function withSuspensions(steps: readonly Step[], kept: readonly Kept[]): Step[] {
  // A signal that came before its wait is stored while the job waits.
  const times = kept.filter(({ kind, startedAt, endedAt }) => kind !== "wait" || startedAt !== endedAt).map(({ startedAt }) => startedAt);
  return steps.flatMap((step): Step[] => {
    if (step.step !== "span" || step.attempt !== null || step.kind === "ended") return [step];
    const { from, to } = step;
    const first = Math.min(...times.filter((at) => at >= from && (to === null || at < to)));
    if (first === Infinity) return [step];
    return [...(first > from ? [{ ...step, to: first }] : []), { ...step, kind: "suspended", from: first }];
  });
}

/** The changes between two attempts, and what the job did before each of them. */
function changed(from: number, changes: readonly ManualChange[]): Step[] {
  const steps: Step[] = [];
  let at = from;
  for (const change of changes) {
    const hasEnded = isTerminal(change.from);
    // A cancel by hand is the end itself.
    if (hasEnded && steps.length === 0) steps.push({ step: "end", at, status: change.from });
    if (change.at > at) steps.push(span(hasEnded ? "ended" : (WAITS[change.from] ?? "waiting"), at, change.at));
    steps.push({ step: "change", at: change.at, change, afterMs: hasEnded ? change.at - at : null });
    at = change.at;
  }
  return steps;
}

const WAITS: Partial<Record<Status, Span["kind"]>> = { scheduled: "scheduled", retrying: "backoff" };

/** From the last attempt or change until the end, or until now. */
function rest(job: Life, last: ManualChange | undefined, from: number, hasRun: boolean): Step[] {
  if (job.status === "running") return [];
  const since = last?.at ?? from;
  const end = isTerminal(job.status) ? job.completedAt : null;
  const waits = end === null ? !isTerminal(job.status) : end > since && last?.action !== "cancelled";
  const steps: Step[] = waits ? waitFrom(job, since, hasRun && last === undefined, end) : [];
  return end === null ? steps : [...steps, { step: "end", at: end, status: job.status }];
}

function waitBefore(job: Life, attempts: readonly Attempt[], attempt: Attempt, from: number): Span[] {
  const to = attempt.startedAt;
  if (to <= from) return [];
  if (attempt !== attempts[0]) return [span("backoff", from, to)];
  // The stored due time is that of the latest attempt; if there were several, that of the first is unknown.
  return waitFrom(attempts.length === 1 ? job : { ...job, scheduledAt: null }, from, false, to);
}

/** The wait until it is due, and the wait from then on. */
function waitFrom({ scheduledAt, status }: Life, from: number, isRetry: boolean, to: number | null): Span[] {
  const due = scheduledAt !== null && scheduledAt > from && (to === null || scheduledAt < to) ? scheduledAt : null;
  const untilDue = isRetry ? "backoff" : "scheduled";
  if (due === null) return [span(isRetry && status === "retrying" ? "backoff" : "waiting", from, to)];
  const isWaitingForIt = to === null && (status === "scheduled" || status === "retrying");
  if (isWaitingForIt) return [span(untilDue, from, null)];
  return [span(untilDue, from, due), span("waiting", due, to)];
}

function span(kind: Span["kind"], from: number, to: number | null): Span {
  return { step: "span", kind, from, to, attempt: null };
}
