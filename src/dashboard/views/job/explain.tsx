import {
  Bell,
  CircleHelp,
  Clock,
  CornerDownRight,
  Gauge,
  Hand,
  Hourglass,
  Layers,
  ListOrdered,
  type LucideIcon,
  Moon,
  Pause,
  Timer,
  UserX,
  Workflow,
} from "lucide-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import type { Job } from "../../../core/job.ts";
import { preview } from "../../../core/errors.ts";
import type { Explanation } from "../../api.ts";
import { useFellowMembers } from "../../flows/flow-queries.ts";
import { FlowLink } from "../../flows/flow-parts.tsx";
import { MemberLink } from "../../flows/member-link.tsx";
import { JobLink } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { Loaded } from "../../parts/notices.tsx";
import { Ago, Until } from "../../parts/time.tsx";
import { useExplanation } from "../../queries.ts";
import { type JobSearch, searchOfKey, searchOfQueue } from "../../job-search.ts";
import { resumeQueue } from "../../queue-actions.ts";
import { Button } from "../../parts/button.tsx";
import { useIsOperator } from "../../session.ts";
import { visible } from "../../safe-text.ts";
import { SendSignal } from "./send-signal.tsx";

type Reason = Explanation["reasons"][number];

const ICONS: Readonly<Record<Reason["code"], LucideIcon>> = {
  paused: Pause,
  no_worker: UserX,
  key_held: Hand,
  limit_running: Gauge,
  limit_rate: Timer,
  no_free_slot: Layers,
  due_later: Clock,
  overdue: Clock,
  blocked: Hourglass,
  waits_for_signal: Bell,
  waits_for_call: CornerDownRight,
  waits_for_members: Workflow,
  sleeps: Moon,
  position: ListOrdered,
  running: CircleHelp,
  ended: CircleHelp,
};

/** What keeps the job from running. Without this, you would have to look at four pages. */
export function Explain({ job }: { readonly job: Job }): ReactElement {
  const result = useExplanation(job.id);
  return (
    <Card title="Why is it not running?">
      <Loaded result={result} lines={2}>
        {({ reasons }) => (
          <ul className="space-y-2.5">
            {/* The limits of a queue and of a key have the same codes. */}
            {reasons.map((reason, index) => (
              <ReasonLine key={`${reason.code} ${index}`} job={job} reason={reason} />
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

interface ReasonProps {
  readonly job: Job;
  readonly reason: Reason;
}

function ReasonLine({ job, reason }: ReasonProps): ReactElement {
  const Icon = ICONS[reason.code];
  const isHard = reason.code === "paused" || reason.code === "no_worker" || reason.code === "overdue";
  return (
    <li data-reason={reason.code} className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
      <Icon aria-hidden className={`size-4 shrink-0 ${isHard ? "text-warning" : "text-muted-foreground"}`} />
      <span className="min-w-0 flex-1 basis-48 break-words">
        {reason.code === "waits_for_members" ? <WaitsForMembers reason={reason} /> : wordsOf(reason)}
      </span>
      <Remedy job={job} reason={reason} />
    </li>
  );
}

function Remedy({ job, reason }: ReasonProps): ReactElement | null {
  const isOperator = useIsOperator();
  switch (reason.code) {
    case "paused":
      return isOperator ? <Button onClick={() => void resumeQueue(reason.queue)}>Resume {reason.queue}</Button> : null;
    case "no_worker":
    case "no_free_slot":
      return (
        <Link to="/workers" className="inline-flex min-h-6 items-center text-primary underline-offset-2 hover:underline">
          See the workers
        </Link>
      );
    case "limit_running":
      return (
        <Link
          to="/jobs"
          search={{ ...searchOfLimit(reason), status: "running" }}
          className="inline-flex min-h-6 items-center text-primary underline-offset-2 hover:underline"
        >
          See what runs
        </Link>
      );
    case "waits_for_members":
      return <FlowLink flow={{ id: reason.flowId }}>See the flow</FlowLink>;
    case "waits_for_signal":
      return (
        <>
          {reason.until !== null && (
            <span className="text-muted-foreground">
              <Until at={reason.until} />
            </span>
          )}
          <SendSignal job={job} name={reason.step} />
        </>
      );
    case "key_held":
    case "limit_rate":
    case "sleeps":
      return (
        <span className="text-muted-foreground">
          <Until at={reason.until} />
        </span>
      );
    case "due_later":
    case "overdue":
      return (
        <span className="text-muted-foreground">
          <Ago at={reason.at} />
        </span>
      );
    default:
      return null;
  }
}

/** The jobs that share a limit: those of a key, or of the whole queue. */
function searchOfLimit({ queue, limitKey }: Extract<Reason, { readonly code: "limit_running" }>): JobSearch {
  return limitKey === null ? searchOfQueue(queue) : searchOfKey(queue, limitKey);
}

const ID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/;

/** The message as a sentence; the jobs that it names are links. */
function wordsOf(reason: Reason): ReactNode {
  const text = sentence(reason.message);
  const jobs = reason.code === "limit_running" ? reason.holders : reason.code === "waits_for_call" ? [reason.jobId] : [];
  if (jobs.length === 0) return text;
  return text.split(ID).map((part) => (jobs.includes(part) ? <JobLink key={part} id={part} /> : part));
}

/** The members that the message names are links to their jobs. */
function WaitsForMembers({ reason }: { readonly reason: Extract<Reason, { readonly code: "waits_for_members" }> }): ReactElement {
  const { data } = useFellowMembers(reason.flowId);
  let rest = sentence(reason.message);
  const parts: ReactNode[] = [];
  for (const name of reason.names) {
    const named = visible(preview(name));
    const at = rest.indexOf(named);
    if (at === -1) continue;
    parts.push(
      rest.slice(0, at),
      <MemberLink key={name} flowId={reason.flowId} name={name} members={data?.members ?? []} text={named} isInText />,
    );
    rest = rest.slice(at + named.length);
  }
  return (
    <>
      {parts}
      {rest}
    </>
  );
}

function sentence(message: string): string {
  return visible(`${message.charAt(0).toUpperCase()}${message.slice(1)}.`);
}
