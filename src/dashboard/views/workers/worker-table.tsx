import { CircleDot, Hourglass, type LucideIcon, Moon, TriangleAlert } from "lucide-react";
import { Fragment, type ReactElement } from "react";
import type { Worker } from "../../api.ts";
import { count, NOTHING, roughSpan } from "../../format.ts";
import { JobLink, Meter, QueueLink } from "../../parts/bits.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Ago, useNow } from "../../parts/time.tsx";
import type { SeenWorker } from "../../queries.ts";
import { visible } from "../../safe-text.ts";

const SHOWN_JOBS = 4;

type Identity = Pick<Worker, "id" | "host" | "pid" | "version">;

/** Who it is, as the tables of live and of former workers show it. */
export const NAME_COLUMN: Column<Identity> = {
  id: "worker",
  title: "Worker",
  cell: (worker) => <WorkerName worker={worker} />,
  className: "max-w-56",
  place: "title",
  sortBy: ({ host, id }) => `${host} ${id}`,
};

const COLUMNS: readonly Column<SeenWorker>[] = [
  NAME_COLUMN,
  { id: "state", title: "State", cell: (worker) => <State worker={worker} />, place: "corner", sortBy: ({ state }) => state },
  {
    id: "slots",
    title: "Slots",
    cell: (worker) => <Slots worker={worker} />,
    className: "min-w-24",
    sortBy: ({ runningCount, slots }) => runningCount / slots,
  },
  { id: "running", title: "Running now", cell: (worker) => <RunningJobs worker={worker} /> },
  {
    id: "queues",
    title: "Queues",
    cell: ({ queues }) => <Queues queues={queues} />,
    className: "max-w-48",
  },
  { id: "types", title: "Types", cell: ({ types }) => <Types types={types} />, className: "max-w-56", yields: 4 },
  {
    id: "rate",
    title: "Per minute",
    cell: ({ perMinute }) => count(perMinute),
    end: true,
    yields: 3,
    sortBy: ({ perMinute }) => perMinute,
  },
  { id: "done", title: "Done", cell: ({ processed }) => count(processed), end: true, yields: 2, sortBy: ({ processed }) => processed },
  {
    id: "beat",
    title: "Heartbeat",
    cell: ({ heartbeatAt }) => <Ago at={heartbeatAt} />,
    end: true,
    sortBy: ({ heartbeatAt }) => heartbeatAt,
  },
  {
    id: "up",
    title: "Up for",
    cell: ({ startedAt }) => <Uptime since={startedAt} />,
    end: true,
    yields: 1,
    sortBy: ({ startedAt }) => -startedAt,
  },
];

/** Workers, by host. */
export function WorkerTable({ workers }: { readonly workers: readonly SeenWorker[] }): ReactElement {
  const rows = workers.toSorted((a, b) => (`${a.host} ${a.id}` < `${b.host} ${b.id}` ? -1 : 1));
  return (
    <DataTable caption="Workers" rows={rows} columns={COLUMNS} keyOf={({ id }) => id} rowProps={({ id }) => ({ "data-worker": id })} />
  );
}

function Uptime({ since }: { readonly since: number }): ReactElement {
  return <span className="whitespace-nowrap">{roughSpan(Math.max(0, useNow() - since))}</span>;
}

function Slots({ worker: { runningCount, slots, abandoned } }: { readonly worker: Worker }): ReactElement {
  return (
    <span className="block min-w-20 space-y-1">
      <span className="block text-xs">
        {runningCount} of {slots}
      </span>
      <Meter value={runningCount} of={slots} label="slots in use" warns />
      {abandoned > 0 && <span className="block text-xs text-warning">{abandoned} abandoned</span>}
    </span>
  );
}

const STATES: Readonly<Record<Worker["state"], readonly [icon: LucideIcon, colour: string]>> = {
  idle: [Moon, "text-muted-foreground"],
  busy: [CircleDot, "text-running"],
  stopping: [Hourglass, "text-warning"],
};

function State({ worker }: { readonly worker: SeenWorker }): ReactElement {
  const [Icon, colour] = worker.isSilent ? [TriangleAlert, "text-destructive"] : STATES[worker.state];
  return (
    <span className={`inline-flex items-center gap-1.5 align-bottom font-medium ${colour}`}>
      <Icon aria-hidden className="size-3.5" />
      {worker.isSilent ? "silent" : worker.state}
    </span>
  );
}

function WorkerName({ worker: { id, host, pid, version } }: { readonly worker: Identity }): ReactElement {
  return (
    <span className="block">
      <span className="block truncate font-medium">{visible(host)}</span>
      <span className="block truncate font-mono text-xs font-normal text-muted-foreground">
        {visible(id)} · pid {pid}
      </span>
      {version !== undefined && <span className="block truncate text-xs font-normal">version {visible(version)}</span>}
    </span>
  );
}

export function Queues({ queues }: Pick<Worker, "queues">): ReactElement {
  return (
    <span className="leading-6">
      {queues.map((queue, index) => (
        <Fragment key={queue}>
          {index > 0 && ", "}
          <QueueLink name={queue} />
        </Fragment>
      ))}
    </span>
  );
}

/** The jobs that a worker runs, or ran when it was last heard of. */
export function RunningJobs({
  worker: { running, runningCount },
}: {
  readonly worker: Pick<Worker, "running" | "runningCount">;
}): ReactElement {
  if (runningCount === 0) return <span className="text-muted-foreground">{NOTHING}</span>;
  const rest = runningCount - Math.min(running.length, SHOWN_JOBS);
  return (
    <span className="flex flex-wrap gap-x-2">
      {running.slice(0, SHOWN_JOBS).map((id) => (
        <JobLink key={id} id={id} />
      ))}
      {rest > 0 && <span className="text-muted-foreground">{running.length === 0 ? count(rest) : `+${rest}`}</span>}
    </span>
  );
}

function Types({ types }: { readonly types: Worker["types"] }): ReactElement {
  if (types === "*") return <span className="text-muted-foreground">any type</span>;
  return (
    <span title={types.join("\n")} className="line-clamp-2 text-xs break-words">
      {types.map((type) => visible(type)).join(", ")}
    </span>
  );
}
