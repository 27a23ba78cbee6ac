import type { ReactElement } from "react";
import type { Flow } from "../../api.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { Ago } from "../../parts/time.tsx";
import { FlowLink, FlowTime, FlowTags, FlowProgress } from "../../flows/flow-parts.tsx";

const COLUMNS: readonly Column<Flow>[] = [
  { id: "flow", title: "Flow", cell: (flow) => <FlowLink flow={flow} opensRow />, className: "max-w-96", place: "title" },
  { id: "status", title: "Status", cell: ({ status }) => <StatusBadge status={status} />, place: "corner" },
  { id: "progress", title: "Progress", cell: (flow) => <FlowProgress flow={flow} />, className: "min-w-48" },
  {
    id: "tags",
    title: "Tags",
    cell: ({ tags }) => <FlowTags tags={tags} />,
    className: "max-w-64",
    isEmpty: ({ tags }) => tags.length === 0,
    yields: 1,
  },
  { id: "created", title: "Created", cell: ({ createdAt }) => <Ago at={createdAt} />, end: true, yields: 3 },
  { id: "took", title: "Took", cell: (flow) => <FlowTime flow={flow} />, end: true, yields: 2 },
];

/** Flows, newest first. */
export function FlowTable({ flows }: { readonly flows: readonly Flow[] }): ReactElement {
  return <DataTable caption="Flows" rows={flows} columns={COLUMNS} keyOf={({ id }) => id} rowProps={({ id }) => ({ "data-flow": id })} />;
}
