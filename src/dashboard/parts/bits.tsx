/** Small parts of lines and cells. */
import { Link } from "@tanstack/react-router";
import { Copy, Gauge, Hand, Pause, ScrollText } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { ALL_DELIVERIES, ALL_QUEUES } from "../../core/delivery.ts";
import { isInternalQueue } from "../../core/internal.ts";
import { copyText } from "../copy-text.ts";
import { localTime, shortId } from "../format.ts";
import { type AuditSearch, searchOfKey, searchOfQueue } from "../job-search.ts";
import { visible } from "../safe-text.ts";
import { changeWhere } from "../where-text.ts";
import { IconButton } from "./button.tsx";

interface JobLinkProps {
  readonly id: string;
  readonly children?: ReactNode;
  /** Marks the link that opens the job of a row. */
  readonly opensRow?: boolean;
}

/** The end of a job's id, as a link to the job. */
export function JobLink({ id, children, opensRow = false }: JobLinkProps): ReactElement {
  return (
    <Link
      to="/jobs/$id"
      params={{ id }}
      title={id}
      data-open={opensRow ? "" : undefined}
      className="inline-flex min-h-6 items-center rounded font-mono text-xs text-primary underline-offset-2 hover:underline"
    >
      {children ?? shortId(id)}
    </Link>
  );
}

/** What a worker names instead of single queues. */
const KINDS: Readonly<Record<string, string>> = { [ALL_QUEUES]: "all queues", [ALL_DELIVERIES]: "all webhook deliveries" };

/** The name of a queue, as a link to its page. Internal queues and all queues together have none: theirs leads to their jobs. */
export function QueueLink({ name }: { readonly name: string }): ReactElement {
  // Inline, so that a long name ends in an ellipsis or breaks, as the place wants it; the padding makes it high enough for a finger.
  const className = "rounded py-1.25 underline-offset-2 hover:underline";
  const look = { className, title: name, children: KINDS[name] ?? name };
  if (name in KINDS || isInternalQueue(name)) return <Link to="/jobs" search={searchOfQueue(name)} {...look} />;
  return <Link to="/queues/$queue" params={{ queue: name }} {...look} />;
}

/** The name of a type, as a link to its page in this queue. Types of internal queues have none. */
export function TypeLink({ queue, type }: { readonly queue: string; readonly type: string }): ReactElement {
  if (isInternalQueue(queue)) return <span className="break-all">{type}</span>;
  return (
    <Link
      to="/queues/$queue/types/$type"
      params={{ queue, type }}
      className="inline-flex min-h-6 items-center rounded break-all underline-offset-2 hover:underline"
    >
      {type}
    </Link>
  );
}

/** Leads to the changes of a queue or a job in the audit. */
export function AuditLink({ of }: { readonly of: Pick<AuditSearch, "queue" | "jobId"> }): ReactElement {
  return (
    <Link
      to="/audit"
      search={of}
      className="inline-flex h-8 items-center gap-1.5 rounded-md px-2.5 text-muted-foreground hover:bg-accent hover:text-foreground"
    >
      <ScrollText aria-hidden className="size-3.5" /> Audit
    </Link>
  );
}

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): ReactElement {
  return (
    <IconButton icon={Copy} label={`Copy ${what}`} onClick={() => void copyText(text, what.charAt(0).toUpperCase() + what.slice(1))} />
  );
}

/** Marks a queue or schedule that is paused. */
export function PausedBadge(): ReactElement {
  return (
    <span className="inline-flex h-5 items-center gap-1 rounded-full bg-warning/10 px-1.5 text-xs text-warning">
      <Pause aria-hidden className="size-3" /> paused
    </span>
  );
}

/** Marks a queue that has limits, and says which: `words`. */
export function LimitedBadge({ words }: { readonly words: string }): ReactElement {
  return (
    <span
      title={words}
      className="inline-flex h-5 items-center gap-1 rounded-full bg-secondary px-1.5 text-xs font-normal text-muted-foreground"
    >
      <Gauge aria-hidden className="size-3" /> limited<span className="sr-only">: {words}</span>
    </span>
  );
}

/** Marks a limit key that a handler holds. */
export function HeldBadge({ until }: { readonly until: number }): ReactElement {
  return (
    <span
      title={`A handler holds this key with HoldKey until ${localTime(until)}`}
      className="inline-flex h-5 items-center gap-1 rounded-full bg-warning/10 px-1.5 text-xs font-normal text-warning"
    >
      <Hand aria-hidden className="size-3" /> held
    </span>
  );
}

/** A limit key, as a link to its jobs in this queue. */
export function LimitKeyLink({ queue, limitKey }: { readonly queue: string; readonly limitKey: string }): ReactElement {
  return (
    <Link
      to="/jobs"
      search={searchOfKey(queue, limitKey)}
      title={`Jobs of ${queue} with the limit key ${visible(limitKey)}`}
      className="inline-flex min-h-6 max-w-full items-center rounded underline-offset-2 hover:underline"
    >
      <span className="truncate">{visible(limitKey)}</span>
    </Link>
  );
}

/** A tag, as a link to jobs that have it. */
export function Tag({ name }: { readonly name: string }): ReactElement {
  return (
    <Link
      to="/jobs"
      search={{ tag: name }}
      className="inline-flex min-h-6 max-w-40 items-center rounded bg-secondary px-1.5 text-xs text-muted-foreground hover:text-foreground"
    >
      <span className="truncate">{name}</span>
    </Link>
  );
}

/** A facet, as a link to the jobs of the queue that have it. */
export function FacetLink({
  queue,
  field,
  value,
}: {
  readonly queue: string;
  readonly field: string;
  readonly value: string;
}): ReactElement {
  return (
    <Link
      to="/jobs"
      search={{ queue, where: changeWhere(undefined, field, value) }}
      title={`Jobs of ${queue} with this ${field}`}
      className="inline-flex min-h-6 max-w-48 items-center rounded bg-secondary px-1.5 text-xs text-muted-foreground hover:text-foreground"
    >
      <span className="truncate">
        {visible(field)} {visible(value)}
      </span>
    </Link>
  );
}

interface MeterProps {
  readonly value: number;
  readonly of: number;
  readonly label: string;
  /** It has another colour when there is hardly any room left. */
  readonly warns?: boolean;
}

/** How much of something is used. */
export function Meter({ value, of, label, warns = false }: MeterProps): ReactElement {
  const share = of === 0 ? 0 : Math.min(1, value / of);
  return (
    <span
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={Math.min(value, of)}
      className="block h-1.5 w-full overflow-hidden rounded-full bg-secondary"
    >
      <span
        className={`block h-full rounded-full ${warns && share >= 0.95 ? "bg-warning" : "bg-primary"}`}
        style={{ width: `${share * 100}%` }}
      />
    </span>
  );
}
