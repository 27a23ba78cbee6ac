import { CircleAlert, CircleCheck, CircleDot, CircleStop, type LucideIcon, Square } from "lucide-react";
import type { ReactElement } from "react";
import { counted } from "../../../core/counted.ts";
import type { BulkOperation } from "../../api.ts";
import { stopBulk } from "../../bulk.ts";
import { filterWords, spreadWords } from "../../filter-words.ts";
import { count, NOTHING } from "../../format.ts";
import { ACTION_WORDS } from "../../job-actions.ts";
import { JobLink, Meter } from "../../parts/bits.tsx";
import { Button } from "../../parts/button.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { messageOf } from "../../parts/notices.tsx";
import { Ago, Duration } from "../../parts/time.tsx";
import { visible } from "../../safe-text.ts";
import { useIsOperator } from "../../session.ts";

const COLUMNS: readonly Column<BulkOperation>[] = [
  {
    id: "operation",
    title: "Operation",
    cell: ({ action, filter, groupWords, limit, spread }) => (
      <span className="block font-normal">
        <span className="block font-medium">
          {ACTION_WORDS[action]}
          {limit !== null && ` the newest ${count(limit)}`}
          {spreadWords(spread)}
        </span>
        <span className="block break-words text-muted-foreground">{visible(filterWords(filter, null, groupWords))}</span>
      </span>
    ),
    className: "min-w-56 max-w-xl",
    place: "title",
  },
  { id: "status", title: "State", cell: ({ status }) => <State status={status} />, place: "corner" },
  { id: "progress", title: "Progress", cell: (operation) => <Progress operation={operation} />, className: "min-w-28" },
  { id: "changed", title: "Changed", cell: ({ succeeded }) => count(succeeded), end: true },
  {
    id: "failed",
    title: "Not changed",
    cell: ({ failed }) => <span className={failed > 0 ? "font-medium text-dead" : "text-muted-foreground"}>{count(failed)}</span>,
    end: true,
  },
  {
    id: "by",
    title: "By",
    cell: ({ by, reason }) => (
      <span className={by === null ? "text-muted-foreground" : ""} title={reason === null ? undefined : visible(reason)}>
        {by === null ? NOTHING : visible(by)}
      </span>
    ),
    className: "max-w-40 truncate",
    yields: 1,
  },
  { id: "started", title: "Started", cell: ({ createdAt }) => <Ago at={createdAt} />, end: true, yields: 3 },
  {
    id: "took",
    title: "Took",
    cell: ({ createdAt, endedAt }) =>
      endedAt === null ? <Duration ms={null} since={createdAt} /> : <Duration ms={Math.max(0, endedAt - createdAt)} />,
    end: true,
    yields: 2,
  },
];

/** Operations, newest first. */
export function OperationTable({ operations }: { readonly operations: readonly BulkOperation[] }): ReactElement {
  const isOperator = useIsOperator();
  return (
    <DataTable
      caption="Bulk operations"
      rows={operations}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      rowProps={({ id }) => ({ "data-operation": id })}
      actions={isOperator ? StopButton : undefined}
      details={{
        label: ({ action, filter, groupWords }) => `Details of ${action} ${visible(filterWords(filter, null, groupWords))}`,
        body: Failures,
        has: ({ failed, error }) => failed > 0 || error !== null,
      }}
    />
  );
}

const STATES: Readonly<Record<BulkOperation["status"], readonly [icon: LucideIcon, colour: string]>> = {
  running: [CircleDot, "text-running"],
  completed: [CircleCheck, "text-success"],
  stopped: [CircleStop, "text-warning"],
  failed: [CircleAlert, "text-destructive"],
};

function State({ status }: Pick<BulkOperation, "status">): ReactElement {
  const [Icon, colour] = STATES[status];
  return (
    <span className={`inline-flex items-center gap-1.5 align-bottom font-medium ${colour}`}>
      <Icon aria-hidden className="size-3.5" />
      {status}
    </span>
  );
}

function Progress({ operation }: { readonly operation: BulkOperation }): ReactElement {
  const { status, processed, matched, matchedIsCapped } = operation;
  return (
    <span className="block min-w-24 space-y-1">
      <span className="block text-xs whitespace-nowrap">
        {count(processed)} of {matchedIsCapped && "at least "}
        {count(matched)}
      </span>
      {status === "running" && <Meter value={processed} of={matched} label="jobs processed" />}
    </span>
  );
}

function StopButton({ row }: { readonly row: BulkOperation }): ReactElement | null {
  if (row.status !== "running") return null;
  return (
    <Button icon={Square} onClick={() => void stopBulk(row)}>
      Stop
    </Button>
  );
}

/** Why the operation failed, and the first jobs that it could not change. */
function Failures({ row: { error, failed, failures } }: { readonly row: BulkOperation }): ReactElement {
  return (
    <div className="space-y-2">
      {error !== null && <p className="break-words text-dead">{visible(messageOf(error))}</p>}
      {failures.length > 0 && (
        <>
          <p className="text-muted-foreground">{counted(failed, "job was", "jobs were")} not changed:</p>
          <ul aria-label="Jobs that were not changed" className="max-h-64 divide-y overflow-y-auto rounded-lg border">
            {failures.map(({ id, message }) => (
              <li key={id} className="flex flex-wrap gap-x-3 px-3 py-1">
                <JobLink id={id} />
                <span className="min-w-0 break-words">{visible(messageOf(message))}</span>
              </li>
            ))}
          </ul>
          {failed > failures.length && <p className="text-muted-foreground">and {count(failed - failures.length)} more</p>}
        </>
      )}
    </div>
  );
}
