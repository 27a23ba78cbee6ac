/** THE STEPS OF A JOB, from the first to the latest: what each did, what it waits for, and when. */
import {
  Bell,
  ChevronRight,
  CircleCheck,
  CircleX,
  CornerDownRight,
  Footprints,
  Hourglass,
  type LucideIcon,
  Moon,
  TimerOff,
} from "lucide-react";
import { type ReactElement, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { counted } from "../../../core/counted.ts";
import { isTerminal, type Job } from "../../../core/job.ts";
import { asWritten, jsonOf, prettyJson, valueOf } from "../../../core/json-text.ts";
import type { JobStep } from "../../api.ts";
import { count } from "../../format.ts";
import { CopyButton, JobLink } from "../../parts/bits.tsx";
import { Button } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { JsonTree } from "../../parts/json-tree.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { Duration, Moment, Until } from "../../parts/time.tsx";
import { useJob, useSteps } from "../../queries.ts";
import { visible } from "../../safe-text.ts";
import { beganAt, inOrder, tookMs } from "../../step-words.ts";
import { SendSignal } from "./send-signal.tsx";

/** How many are shown at first, and with each click. A job can have a thousand. */
const SHOWN = 100;
/** The status of so many called jobs is fetched; each is a request. */
const MAX_WATCHED_CALLS = 20;
const MAX_PREVIEW = 100;

const KIND_ICONS: Readonly<Record<JobStep["kind"], LucideIcon>> = { step: Footprints, sleep: Moon, wait: Bell, call: CornerDownRight };

const STATE_ICONS: Readonly<Record<JobStep["state"], LucideIcon>> = {
  open: Hourglass,
  done: CircleCheck,
  failed: CircleX,
  timeout: TimerOff,
};
const STATE_COLOURS: Readonly<Record<JobStep["state"], string>> = {
  open: "text-blocked",
  done: "text-completed",
  failed: "text-dead",
  timeout: "text-retrying",
};

export function Steps({ job }: { readonly job: Job }): ReactElement {
  const result = useSteps(job);
  const { data = [] } = result;
  const open = data.filter(({ state }) => state === "open").length;
  const figures = [counted(data.length, "step"), ...(open === 0 ? [] : [`${count(open)} open`])].join(", ");
  return (
    <Card title="Steps" aside={<span className="text-xs text-muted-foreground">{data.length > 0 && figures}</span>}>
      <Loaded result={result} lines={3}>
        {(steps) => (steps.length === 0 ? <NoSteps /> : <StepList job={job} steps={inOrder(steps)} />)}
      </Loaded>
    </Card>
  );
}

/** After a restart, until its first step. */
function NoSteps(): ReactElement {
  return <p className="text-muted-foreground">It has no steps now: it started over.</p>;
}

interface OfJob {
  readonly job: Job;
}

function StepList({ job, steps }: OfJob & { readonly steps: readonly JobStep[] }): ReactElement {
  const [shown, setShown] = useState(SHOWN);
  const list = useRef<HTMLOListElement>(null);
  // The button may be gone, or far below: the focus goes on with what it showed.
  useEffect(() => {
    if (shown > SHOWN) (list.current?.children[shown - SHOWN] as HTMLElement | undefined)?.focus({ preventScroll: true });
  }, [shown]);
  const watched = new Set(steps.filter(({ kind, state }) => kind === "call" && state === "open").slice(0, MAX_WATCHED_CALLS));
  const rest = steps.length - shown;
  return (
    <>
      <ol ref={list} aria-label="Steps">
        {steps.slice(0, shown).map((step) => (
          <StepLine key={step.name} job={job} step={step} isWatched={watched.has(step)} />
        ))}
      </ol>
      {rest > 0 && (
        <Button className="mt-3" onClick={() => setShown(shown + SHOWN)}>
          Show {count(Math.min(SHOWN, rest))} of {count(rest)} more
        </Button>
      )}
    </>
  );
}

interface OfStep extends OfJob {
  readonly step: JobStep;
}

function StepLine({ job, step, isWatched }: OfStep & { readonly isWatched: boolean }): ReactElement {
  const { name, kind, state, attempt, endedAt, refused } = step;
  const Icon = KIND_ICONS[kind];
  const began = beganAt(step);
  const isWaiting = state === "open" && !isTerminal(job.status);
  return (
    <li
      data-step={name}
      tabIndex={-1}
      className="relative pb-4 pl-8 outline-none last:pb-0 before:absolute before:top-6 before:bottom-0 before:left-[11.5px] before:w-px before:bg-border last:before:hidden"
    >
      <span
        aria-hidden
        className={`absolute top-0 left-0 grid size-6 place-items-center rounded-full bg-current/10 ${STATE_COLOURS[state]}`}
      >
        <Icon className="size-3.5" />
      </span>
      <div className="flex items-start justify-between gap-3">
        <div className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5">
          <h3 className="min-w-0 font-medium break-words [overflow-wrap:anywhere]">{visible(name)}</h3>
          <span className="text-xs text-muted-foreground">{kind}</span>
          <StateChip state={state} />
        </div>
        <span className="shrink-0 text-muted-foreground">
          {isWaiting ? <Duration ms={null} since={began} /> : state === "open" ? null : <Duration ms={tookMs(step)} />}
        </span>
      </div>
      <p className="text-xs text-muted-foreground">
        Began <Moment at={began} />
        {endedAt !== null && (
          <>
            , ended <Moment at={endedAt} />
          </>
        )}
        {job.attempt > 1 && attempt > 0 && `, attempt ${attempt}`}
      </p>
      <Story job={job} step={step} isWatched={isWatched} />
      {refused.map(({ at, error }) => (
        <p key={`${at} ${error}`} className="break-words [overflow-wrap:anywhere]">
          <span className="text-dead">Refused a signal</span>, <Moment at={at} />: {visible(error)}
        </p>
      ))}
      {isWaiting && kind === "wait" && (
        <div className="mt-1.5">
          <SendSignal job={job} name={name} />
        </div>
      )}
      {step.value !== null && <Value step={step} />}
    </li>
  );
}

function StateChip({ state }: { readonly state: JobStep["state"] }): ReactElement {
  const Icon = STATE_ICONS[state];
  return (
    <span className={`inline-flex h-5 items-center gap-1 rounded-full bg-current/10 px-1.5 text-xs font-medium ${STATE_COLOURS[state]}`}>
      <Icon aria-hidden className="size-3" strokeWidth={2.25} />
      {state}
    </span>
  );
}

/** What it waits for, or how that ended. */
function Story({ job, step, isWatched }: OfStep & { readonly isWatched: boolean }): ReactNode {
  const { kind, state, until } = step;
  if (kind === "call") return <Call job={job} step={step} isWatched={isWatched} />;
  if (state === "open" && isTerminal(job.status)) return <p>Still open when the job ended.</p>;
  if (state === "timeout") return <p>No signal came in time.</p>;
  if (state !== "open") return null;
  if (until === null) return <p>Waits for the signal, without a time limit.</p>;
  return (
    <p>
      {kind === "sleep" ? "Sleeps until" : "Waits for the signal until"} <Moment at={until} />{" "}
      <span className="text-muted-foreground">
        (<Until at={until} />)
      </span>
    </p>
  );
}

/** The called job, its status, and its error. */
function Call({ job, step, isWatched }: OfStep & { readonly isWatched: boolean }): ReactElement {
  const { state, call, error } = step;
  const isOpen = state === "open";
  const { data } = useJob(isOpen && isWatched ? (call?.id ?? null) : null);
  const status = isOpen ? data?.status : state === "done" ? "completed" : error?.status;
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-2">
        {isOpen && !isTerminal(job.status) ? "Waits for" : "Called"}
        {call !== null && (
          <>
            <JobLink id={call.id} />
            <span className="min-w-0 break-all">
              {visible(call.type)} in {visible(call.queue)}
            </span>
          </>
        )}
        {status !== undefined && <StatusBadge status={status} />}
      </p>
      {error !== null && (
        <p className="break-words [overflow-wrap:anywhere]">
          <span className="text-dead">{visible(error.name)}</span>: {visible(error.message)}
        </p>
      )}
    </>
  );
}

/** The result, or the payload of the signal: one line until it is opened. */
function Value({ step }: { readonly step: JobStep }): ReactElement {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const value = valueOf(step);
  const what = step.kind === "wait" ? "Payload" : "Result";
  const preview = visible(jsonOf(value).slice(0, MAX_PREVIEW));
  return (
    <div className="mt-0.5">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
        className="-ml-1 flex min-h-6 max-w-full items-center gap-1 rounded pr-1 text-left hover:bg-accent"
      >
        <ChevronRight aria-hidden className={`size-4 shrink-0 text-muted-foreground transition-transform ${isOpen ? "rotate-90" : ""}`} />
        <span>
          {what}
          <span className="sr-only"> of {visible(step.name)}</span>
        </span>
        {!isOpen && (
          <span dir="ltr" title={preview} className="min-w-0 truncate font-mono text-xs text-muted-foreground">
            {preview}
          </span>
        )}
      </button>
      {isOpen && (
        <div id={id} className="mt-1 flex items-start rounded-lg border bg-background">
          <div
            role="region"
            aria-label={`${what} of ${visible(step.name)}`}
            tabIndex={0}
            className="max-h-80 min-w-0 flex-1 overflow-auto p-2"
          >
            <JsonTree value={asWritten(value)} />
          </div>
          <span className="p-1">
            <CopyButton text={prettyJson(value)} what={what.toLowerCase()} />
          </span>
        </div>
      )}
    </div>
  );
}
