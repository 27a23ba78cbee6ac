import { Link } from "@tanstack/react-router";
import { Pause, Play, SlidersHorizontal } from "lucide-react";
import { type ReactElement, useState } from "react";
import { isInternalQueue } from "../../../core/internal.ts";
import type { Status } from "../../../core/job.ts";
import type { Queue } from "../../api.ts";
import { OLD_MS } from "../../../core/attention.ts";
import { compact, count, NOTHING, roughSpan } from "../../format.ts";
import { searchOfQueue, statusWord } from "../../job-search.ts";
import { LimitedBadge, Meter, PausedBadge, QueueLink } from "../../parts/bits.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { limitsInWords } from "../../limit-words.ts";
import { LEVEL_FILLS, LEVELS } from "../../parts/priority.tsx";
import { pauseQueue, resumeQueue } from "../../queue-actions.ts";
import { useIsOperator } from "../../session.ts";
import { QueueSettings } from "./queue-settings.tsx";

const COUNTED = ["pending", "running", "scheduled", "retrying", "blocked", "dead", "completed"] as const satisfies Status[];

/** Which columns give way first on a screen that is too narrow for all. */
const YIELDS: Partial<Record<string, number>> = {
  levels: 1,
  blocked: 2,
  retrying: 3,
  scheduled: 4,
  completed: 5,
  rate: 6,
  oldest: 7,
  capacity: 8,
};

const ALL_COLUMNS: readonly Column<Queue>[] = [
  {
    id: "name",
    title: "Queue",
    cell: (queue) => <QueueName queue={queue} />,
    className: "max-w-56 font-medium",
    place: "title",
    sortBy: ({ name }) => name,
  },
  { id: "levels", title: "By priority", cell: (queue) => <LevelBar queue={queue} />, className: "min-w-24" },
  ...COUNTED.map((status): Column<Queue> => ({
    id: status,
    title: status.charAt(0).toUpperCase() + status.slice(1),
    cell: ({ name, counts }) => <CountLink queue={name} status={status} value={counts[status]} />,
    end: true,
    sortBy: ({ counts }) => counts[status],
    // Few use it, and without room its column is the first to go below the name.
    ...(status === "blocked" ? { isEmpty: ({ counts }: Queue) => counts.blocked === 0 } : {}),
  })),
  {
    id: "rate",
    title: "Per minute",
    cell: ({ rate }) => <Rate rate={rate} />,
    end: true,
    sortBy: ({ rate }) => rate,
  },
  {
    id: "oldest",
    title: "Oldest",
    cell: ({ oldestWaitingMs }) =>
      oldestWaitingMs === null ? (
        <span className="text-muted-foreground">{NOTHING}</span>
      ) : (
        <span
          className={`whitespace-nowrap ${oldestWaitingMs >= OLD_MS ? "font-medium text-warning" : ""}`}
          title="How long the oldest pending job has waited"
        >
          {roughSpan(oldestWaitingMs)}
        </span>
      ),
    end: true,
    sortBy: ({ oldestWaitingMs }) => oldestWaitingMs ?? -1,
  },
  { id: "capacity", title: "Capacity", cell: (queue) => <Capacity queue={queue} />, className: "min-w-24" },
];

const COLUMNS = ALL_COLUMNS.map((column): Column<Queue> => {
  const yields = YIELDS[column.id];
  return yields === undefined ? column : { ...column, yields };
});

export function QueueTable({ queues }: { readonly queues: readonly Queue[] }): ReactElement {
  const isOperator = useIsOperator();
  return (
    <DataTable
      caption="Queues"
      rows={queues}
      columns={COLUMNS}
      keyOf={({ name }) => name}
      rowProps={({ name }) => ({ "data-queue": name })}
      actions={isOperator ? QueueActions : undefined}
    />
  );
}

function QueueName({ queue: { name, paused, limits } }: { readonly queue: Queue }): ReactElement {
  return (
    <span className="flex items-center gap-2">
      <span className="min-w-0 truncate">
        <QueueLink name={name} />
      </span>
      {paused && <PausedBadge />}
      {limits !== null && <LimitedBadge words={limitsInWords(limits)} />}
    </span>
  );
}

interface QueueActionsProps {
  readonly row: Queue;
  /** Whether its settings are open at first. */
  readonly startsOpen?: boolean;
}

export function QueueActions({ row: queue, startsOpen = false }: QueueActionsProps): ReactElement | null {
  const [isEdited, setEdited] = useState(startsOpen);
  const { name, paused } = queue;
  if (isInternalQueue(name)) return null;
  return (
    <span className="flex justify-end gap-1">
      {paused ? (
        <Button icon={Play} className="w-22" onClick={() => void resumeQueue(name)}>
          Resume
        </Button>
      ) : (
        <Button icon={Pause} className="w-22" onClick={() => void pauseQueue(name)}>
          Pause
        </Button>
      )}
      <IconButton icon={SlidersHorizontal} label={`Settings of ${name}`} className="size-8" onClick={() => setEdited(true)} />
      {isEdited && <QueueSettings queue={queue} onClose={() => setEdited(false)} />}
    </span>
  );
}

function CountLink({ queue, status, value }: { readonly queue: string; readonly status: Status; readonly value: number }): ReactElement {
  if (value === 0) return <span className="text-muted-foreground">0</span>;
  return (
    <Link
      to="/jobs"
      search={{ ...searchOfQueue(queue), status: statusWord(status) }}
      title={count(value)}
      className={`inline-flex min-h-6 items-center rounded underline-offset-2 hover:underline ${status === "dead" ? "font-medium text-dead" : ""}`}
    >
      {compact(value)}
    </Link>
  );
}

export function LevelBar({ queue: { waiting } }: { readonly queue: Queue }): ReactElement {
  const levels = LEVELS.filter((level) => waiting[level] > 0);
  const words = levels.map((level) => `${count(waiting[level])} ${level}`).join(", ");
  return (
    <span className="block min-w-20" title={words}>
      <span aria-hidden className="flex h-1.5 gap-px overflow-hidden rounded-full bg-secondary">
        {levels.map((level) => (
          <span key={level} className={LEVEL_FILLS[level]} style={{ flexGrow: waiting[level] }} />
        ))}
      </span>
      <span className="sr-only">{words === "" ? "no waiting jobs" : words}</span>
    </span>
  );
}

export function Rate({ rate }: Pick<Queue, "rate">): ReactElement {
  return (
    <span className={rate === 0 ? "text-muted-foreground" : ""} title="Completed or failed for good in the last full minute">
      {compact(rate)}
    </span>
  );
}

export function Capacity({ queue: { counts, capacity } }: { readonly queue: Queue }): ReactElement {
  if (capacity === null) return <span className="text-muted-foreground">unlimited</span>;
  const used = counts.pending + counts.scheduled + counts.retrying;
  return (
    <span className="block space-y-1">
      <span className="block text-xs">
        {compact(used)} of {compact(capacity)}
      </span>
      <Meter value={used} of={capacity} label="capacity used" warns />
    </span>
  );
}
