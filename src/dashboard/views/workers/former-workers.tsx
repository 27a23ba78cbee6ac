import { CircleStop, Unplug } from "lucide-react";
import type { ReactElement } from "react";
import type { FormerWorker } from "../../api.ts";
import { count, roughSpan } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Ago } from "../../parts/time.tsx";
import { NAME_COLUMN, Queues, RunningJobs } from "./worker-table.tsx";

const COLUMNS: readonly Column<FormerWorker>[] = [
  NAME_COLUMN,
  { id: "end", title: "End", cell: ({ end }) => <End end={end} />, place: "corner", sortBy: ({ end }) => end },
  { id: "running", title: "Ran then", cell: (worker) => <RunningJobs worker={worker} /> },
  { id: "queues", title: "Queues", cell: ({ queues }) => <Queues queues={queues} />, className: "max-w-48" },
  { id: "done", title: "Done", cell: ({ processed }) => count(processed), end: true, sortBy: ({ processed }) => processed },
  {
    id: "up",
    title: "Was up for",
    cell: ({ startedAt, heartbeatAt }) => <span className="whitespace-nowrap">{roughSpan(Math.max(0, heartbeatAt - startedAt))}</span>,
    end: true,
    sortBy: ({ startedAt, heartbeatAt }) => heartbeatAt - startedAt,
  },
  {
    id: "beat",
    title: "Last heartbeat",
    cell: ({ heartbeatAt }) => <Ago at={heartbeatAt} />,
    end: true,
    sortBy: ({ heartbeatAt }) => heartbeatAt,
  },
];

/** Workers that ended in the last day, the last one first. */
export function FormerWorkers({ workers }: { readonly workers: readonly FormerWorker[] }): ReactElement {
  const lost = workers.filter(({ end }) => end === "lost").length;
  return (
    <Card
      flush
      title="Stopped or lost in the last 24 hours"
      aside={<span className="text-muted-foreground">{`${workers.length - lost} stopped, ${lost} lost`}</span>}
    >
      <DataTable caption="Workers that stopped or were lost" rows={workers} columns={COLUMNS} keyOf={({ id }) => id} />
    </Card>
  );
}

function End({ end }: Pick<FormerWorker, "end">): ReactElement {
  const [Icon, colour] = end === "lost" ? [Unplug, "text-destructive"] : [CircleStop, "text-muted-foreground"];
  return (
    <span className={`inline-flex items-center gap-1.5 align-bottom font-medium ${colour}`}>
      <Icon aria-hidden className="size-3.5" />
      {end}
    </span>
  );
}
