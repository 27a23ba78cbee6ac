import type { ReactElement } from "react";
import { type Attempt, isTerminal, type Job } from "../../../core/job.ts";
import { localTime, took } from "../../format.ts";
import { type Span, timelineOf } from "../../job-timeline.ts";
import { Moment, useNow } from "../../parts/time.tsx";

const FILLS: Readonly<Record<Span["kind"], string>> = {
  scheduled: "bg-scheduled/45",
  waiting: "bg-pending/30",
  running: "bg-running",
  completed: "bg-completed",
  failed: "bg-dead",
  cancelled: "bg-cancelled",
  backoff: "bg-retrying/40",
};

const WORDS: Readonly<Record<Span["kind"], string>> = {
  scheduled: "Waited until it was due",
  waiting: "Waited for a worker",
  running: "Running",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
  backoff: "Backoff before retry",
};

/** The life of a job on one line, and each part of it below. */
export function Timeline({ job, attempts }: { readonly job: Job; readonly attempts: readonly Attempt[] }): ReactElement {
  const now = useNow();
  const spans = timelineOf(job, attempts);
  const end = isTerminal(job.status) ? (job.completedAt ?? job.updatedAt) : now;
  return (
    <div>
      <div aria-hidden className="flex h-3 gap-px overflow-hidden rounded">
        {spans.map((span) => (
          <span
            key={`${span.kind} ${span.from}`}
            title={`${wordsOf(span)}: ${lengthOf(span, now)}`}
            // A run of milliseconds between hours of waiting must still be visible.
            className={`min-w-1 ${FILLS[span.kind]}`}
            style={{ flexGrow: Math.max(1, (span.to ?? now) - span.from) }}
          />
        ))}
      </div>
      <div aria-hidden className="mt-1 flex justify-between text-xs text-muted-foreground">
        <span>{localTime(job.createdAt)}</span>
        <span>{isTerminal(job.status) ? localTime(end) : "now"}</span>
      </div>
      <ol className="mt-3">
        <Step fill="bg-muted-foreground" words="Created" at={job.createdAt} note="" />
        {spans.map((span) => (
          <Step key={`${span.kind} ${span.from}`} fill={FILLS[span.kind]} words={wordsOf(span)} at={span.from} note={lengthOf(span, now)} />
        ))}
        {isTerminal(job.status) && <Step fill="bg-muted-foreground" words={`Ended ${job.status}`} at={end} note="" />}
      </ol>
    </div>
  );
}

function wordsOf({ kind, to, attempt }: Span): string {
  if (attempt !== null) return `Attempt ${attempt}: ${WORDS[kind].toLowerCase()}`;
  if (to !== null) return WORDS[kind];
  return (
    { scheduled: "Waits until it is due", waiting: "Waits for a worker", backoff: "Backoff before retry" }[kind as string] ?? WORDS[kind]
  );
}

function lengthOf({ from, to }: Span, now: number): string {
  return to === null ? `${took(Math.max(0, Math.floor((now - from) / 1000) * 1000))} so far` : took(to - from);
}

function Step({
  fill,
  words,
  at,
  note,
}: {
  readonly fill: string;
  readonly words: string;
  readonly at: number;
  readonly note: string;
}): ReactElement {
  return (
    <li className="relative flex items-baseline gap-3 pb-2 pl-5 last:pb-0 before:absolute before:top-4 before:bottom-0 before:left-[4.5px] before:w-px before:bg-border last:before:hidden">
      <span aria-hidden className={`absolute top-1.5 left-0 size-2.5 rounded-full ring-4 ring-card ${fill}`} />
      <span className="min-w-0 flex-1">{words}</span>
      <span className="text-muted-foreground">{note}</span>
      <span className="text-muted-foreground max-sm:hidden">
        <Moment at={at} />
      </span>
    </li>
  );
}
