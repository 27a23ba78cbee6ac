import type { ReactElement } from "react";
import { isTerminal, type Job } from "../../../core/job.ts";
import type { JobStep } from "../../api.ts";
import { changeWords } from "../../change-words.ts";
import { localTime, took } from "../../format.ts";
import { type Span, type Step, timelineOf } from "../../job-timeline.ts";
import { Moment, useNow } from "../../parts/time.tsx";
import type { JobHistory } from "../../queries.ts";
import { visible } from "../../safe-text.ts";

const FILLS: Readonly<Record<Span["kind"], string>> = {
  scheduled: "bg-scheduled/45",
  waiting: "bg-pending/30",
  running: "bg-running",
  completed: "bg-completed",
  failed: "bg-dead",
  cancelled: "bg-cancelled",
  backoff: "bg-retrying/40",
  suspended: "bg-blocked/40",
  ended: "bg-muted",
};

const WORDS: Readonly<Record<Span["kind"], string>> = {
  scheduled: "Waited until it was due",
  waiting: "Waited for a worker",
  running: "Running",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
  backoff: "Backoff before retry",
  suspended: "Ran its steps and waited",
  ended: "Had ended",
};

/** While it goes on. */
const STILL: Partial<Record<Span["kind"], string>> = {
  scheduled: "Waits until it is due",
  waiting: "Waits for a worker",
  suspended: "Runs its steps and waits",
};

interface TimelineProps {
  readonly job: Job;
  readonly history: JobHistory;
  readonly steps: readonly JobStep[];
}

/** The lives of a job on one line, and each step below. */
export function Timeline({ job, history, steps: kept }: TimelineProps): ReactElement {
  const now = useNow();
  const steps = timelineOf(job, history.attempts, history.changes, kept);
  const spans = steps.filter(({ step }) => step === "span") as readonly Span[];
  const end = isTerminal(job.status) ? (job.completedAt ?? job.updatedAt) : now;
  return (
    <div>
      <div aria-hidden className="flex h-3 gap-px overflow-hidden rounded">
        {spans.map((span) => (
          <span
            key={`${span.kind} ${span.from}`}
            title={`${wordsOf(span, job)}: ${lengthOf(span, now)}`}
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
        <Line fill="bg-muted-foreground" words="Created" at={job.createdAt} note="" />
        {steps.map((step, index) => (
          <StepLine key={index} step={step} job={job} now={now} />
        ))}
      </ol>
    </div>
  );
}

function StepLine({ step, job, now }: { readonly step: Step; readonly job: Job; readonly now: number }): ReactElement | null {
  switch (step.step) {
    case "span":
      // What ended stays ended: the line before says so, and the one after says for how long.
      return step.kind === "ended" ? null : (
        <Line fill={FILLS[step.kind]} words={wordsOf(step, job)} at={step.from} note={lengthOf(step, now)} />
      );
    case "end":
      return <Line fill="bg-muted-foreground" words={`Ended ${step.status}`} at={step.at} note="" />;
    case "change":
      return (
        <Line
          fill="bg-primary"
          words={changeWords(step.change)}
          more={step.change.reason}
          at={step.at}
          note={step.afterMs === null ? "" : `${took(step.afterMs)} later`}
        />
      );
  }
}

function wordsOf({ kind, to, attempt }: Span, { flow, status }: Job): string {
  // What a job knows of itself does not say when its flow opened it.
  if (kind === "waiting" && flow !== null) {
    if (to !== null) return "Waited for its turn in the flow and for a worker";
    return status === "blocked" ? "Waits for its turn in the flow" : "Waits for a worker";
  }
  if (attempt !== null) return `Attempt ${attempt}: ${WORDS[kind].toLowerCase()}`;
  if (to !== null) return WORDS[kind];
  return STILL[kind] ?? WORDS[kind];
}

function lengthOf({ from, to }: Span, now: number): string {
  return to === null ? `${took(Math.max(0, Math.floor((now - from) / 1000) * 1000))} so far` : took(to - from);
}

function Line({
  fill,
  words,
  more = null,
  at,
  note,
}: {
  readonly fill: string;
  readonly words: string;
  readonly more?: string | null;
  readonly at: number;
  readonly note: string;
}): ReactElement {
  return (
    <li className="relative flex flex-wrap items-baseline gap-x-3 pb-2 pl-5 last:pb-0 before:absolute before:top-4 before:bottom-0 before:left-[4.5px] before:w-px before:bg-border last:before:hidden">
      <span aria-hidden className={`absolute top-1.5 left-0 size-2.5 rounded-full ring-4 ring-card ${fill}`} />
      <span className="min-w-0 flex-1 break-words">
        {words}
        {more !== null && <span className="block text-muted-foreground">{visible(more)}</span>}
      </span>
      <span className="text-muted-foreground">{note}</span>
      <span className="text-muted-foreground max-sm:w-full max-sm:text-xs">
        <Moment at={at} />
      </span>
    </li>
  );
}
