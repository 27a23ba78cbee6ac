import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import type { ReactElement } from "react";
import { OLD_MS } from "../../../core/attention.ts";
import { MAX_WAITING_TYPES } from "../../../core/queue.ts";
import type { QueueDetails } from "../../api.ts";
import { count, roughSpan } from "../../format.ts";
import { Card } from "../../parts/card.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";

/** A type of the queue. */
type WaitingType = QueueDetails["types"][number] & { readonly queue: string };

const COLUMNS: readonly Column<WaitingType>[] = [
  {
    id: "type",
    title: "Type",
    cell: ({ queue, type }) => (
      <Link
        to="/jobs"
        search={{ queue, type, status: "pending" }}
        className="inline-flex min-h-6 items-center rounded break-all underline-offset-2 hover:underline"
      >
        {type}
      </Link>
    ),
    className: "font-medium",
    place: "title",
    sortBy: ({ type }) => type,
  },
  {
    id: "worker",
    title: "Worker",
    cell: ({ hasWorker }) =>
      hasWorker ? (
        <span className="text-muted-foreground">live</span>
      ) : (
        <span className="inline-flex items-center gap-1.5 font-medium text-destructive">
          <TriangleAlert aria-hidden className="size-3.5" /> none
        </span>
      ),
  },
  {
    id: "oldest",
    title: "Oldest waiting",
    cell: ({ oldestWaitingMs }) => (
      <span className={oldestWaitingMs >= OLD_MS ? "font-medium text-warning" : ""}>{roughSpan(oldestWaitingMs)}</span>
    ),
    end: true,
    sortBy: ({ oldestWaitingMs }) => oldestWaitingMs,
  },
];

/** The types of a queue that have pending jobs, the longest waiting first. */
export function WaitingTypes({ queue: { name, types } }: { readonly queue: QueueDetails }): ReactElement {
  const rows = types.map((type): WaitingType => ({ ...type, queue: name }));
  return (
    <Card title="Types with pending jobs" flush>
      {types.length === 0 ? (
        <p className="px-4 py-6 text-center text-muted-foreground">No job is pending.</p>
      ) : (
        <>
          <DataTable caption="Types with pending jobs" rows={rows} columns={COLUMNS} keyOf={({ type }) => type} />
          {types.length >= MAX_WAITING_TYPES && (
            <p className="border-t px-4 py-2 text-muted-foreground">
              Only the {count(MAX_WAITING_TYPES)} types that have waited longest are listed.
            </p>
          )}
        </>
      )}
    </Card>
  );
}
