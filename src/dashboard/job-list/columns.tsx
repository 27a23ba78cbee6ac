/** Every column that a list of jobs can have. */
import type { ReactElement } from "react";
import type { JobSummary } from "../../core/job.ts";
import type { StateOrder } from "../../core/list-order.ts";
import { NOTHING } from "../format.ts";
import { FacetLink, JobLink, LimitKeyLink, QueueLink, Tag } from "../parts/bits.tsx";
import type { Column } from "../parts/data-table.tsx";
import { Priority } from "../parts/priority.tsx";
import { StatusBadge } from "../parts/status-badge.tsx";
import { Ago, Duration } from "../parts/time.tsx";

export type JobColumn = Column<JobSummary>;

const nothing = <span className="text-muted-foreground">{NOTHING}</span>;

/** In the order in which they can be chosen. */
export const JOB_COLUMNS: readonly JobColumn[] = [
  { id: "id", title: "Id", cell: ({ id }) => <JobLink id={id} opensRow />, place: "corner" },
  {
    id: "type",
    title: "Type",
    cell: ({ type }) => <span title={type}>{type}</span>,
    className: "max-w-72 truncate font-medium",
    place: "title",
  },
  { id: "queue", title: "Queue", cell: ({ queue }) => <QueueLink name={queue} />, className: "max-w-40 truncate", yields: 4 },
  { id: "priority", title: "Priority", cell: ({ priority }) => <Priority priority={priority} />, yields: 2 },
  { id: "status", title: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    id: "attempt",
    title: "Retries",
    cell: ({ retryCount, maxRetries }) => (
      <span className="whitespace-nowrap">
        {retryCount}
        <span className="text-muted-foreground"> / {maxRetries}</span>
      </span>
    ),
    end: true,
    yields: 1,
  },
  { id: "created", title: "Created", cell: ({ createdAt }) => <Ago at={createdAt} />, end: true },
  { id: "scheduled", title: "Due", cell: ({ scheduledAt }) => <Ago at={scheduledAt} />, end: true },
  { id: "ended", title: "Ended", cell: ({ completedAt }) => <Ago at={completedAt} />, end: true },
  { id: "wait", title: "Waited", cell: (job) => <Duration ms={waitOf(job)} />, end: true },
  {
    id: "duration",
    title: "Duration",
    cell: ({ status, startedAt, durationMs }) =>
      status === "running" ? <Duration ms={null} since={startedAt} /> : <Duration ms={durationMs} />,
    end: true,
    yields: 3,
    isEmpty: ({ status, durationMs }) => status !== "running" && durationMs === null,
  },
  {
    id: "worker",
    title: "Worker",
    cell: ({ workerId }) => (workerId === null ? nothing : <Mono text={workerId} />),
    className: "max-w-40 truncate",
  },
  {
    id: "tags",
    title: "Tags",
    cell: ({ tags }) =>
      tags.length === 0 ? (
        nothing
      ) : (
        <span className="flex gap-1">
          {tags.slice(0, 3).map((tag) => (
            <Tag key={tag} name={tag} />
          ))}
          {tags.length > 3 && <span className="text-muted-foreground">+{tags.length - 3}</span>}
        </span>
      ),
  },
  {
    id: "limitKey",
    title: "Limit key",
    cell: ({ queue, limitKey }) => (limitKey === null ? nothing : <LimitKeyLink queue={queue} limitKey={limitKey} />),
    className: "max-w-48",
  },
  {
    id: "facets",
    title: "Facets",
    cell: ({ queue, facets }) =>
      facets === null ? (
        nothing
      ) : (
        <span className="flex gap-1">
          {Object.entries(facets).map(([field, value]) => (
            <FacetLink key={field} queue={queue} field={field} value={value} />
          ))}
        </span>
      ),
  },
  {
    id: "error",
    title: "Last error",
    cell: ({ error }) =>
      error === null ? (
        nothing
      ) : (
        <span title={`${error.name}: ${error.message}`.slice(0, 500)}>
          <span className="text-dead">{error.name}</span> {error.message.slice(0, 200)}
        </span>
      ),
    className: "max-w-96 truncate",
  },
  {
    id: "key",
    title: "Idempotency key",
    cell: ({ idempotencyKey }) => (idempotencyKey === null ? nothing : <Mono text={idempotencyKey} />),
    className: "max-w-48 truncate",
  },
];

function Mono({ text }: { readonly text: string }): ReactElement {
  return (
    <span title={text} className="font-mono text-xs">
      {text}
    </span>
  );
}

/** How long the latest attempt waited after the job was due; never negative, even after a snooze. */
function waitOf({ startedAt, scheduledAt, createdAt }: JobSummary): number | null {
  return startedAt === null ? null : Math.max(0, startedAt - (scheduledAt ?? createdAt));
}

/** The column of the time by which a list is sorted, instead of the time of creation. Pending jobs have none: most were never delayed. */
const TIME_OF: Readonly<Partial<Record<StateOrder, string>>> = { ended: "ended", due: "scheduled" };

/** The columns of these ids, in the order of all; the time of creation makes room for the time by which the list is sorted. */
export function columnsOf(ids: readonly string[], order: StateOrder | null = null): JobColumn[] {
  const time = (order === null ? undefined : TIME_OF[order]) ?? "created";
  const shown = ids.map((id) => (id === "created" ? time : id));
  return JOB_COLUMNS.filter(({ id }) => id === "id" || shown.includes(id));
}
