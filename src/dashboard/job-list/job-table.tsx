/** JOBS IN A LIST: a row opens its job, and rows can be selected. */
import { useNavigate } from "@tanstack/react-router";
import type { ComponentType, MouseEvent, ReactElement } from "react";
import type { JobSummary } from "../../core/job.ts";
import { DataTable } from "../parts/data-table.tsx";
import type { JobColumn } from "./columns.tsx";
import type { Selection } from "./selection.ts";

interface JobTableProps {
  readonly caption: string;
  readonly rows: readonly JobSummary[];
  readonly columns: readonly JobColumn[];
  /** Null if nothing can be selected. */
  readonly selection: Selection | null;
  /** Buttons at the end of each row. */
  readonly actions?: ComponentType<{ readonly row: JobSummary }> | undefined;
}

export function JobTable({ caption, rows, columns, selection, actions }: JobTableProps): ReactElement {
  const open = useOpen();
  const lead = selection === null ? undefined : { head: <AllCheck selection={selection} rows={rows} />, cell: checkOf(selection) };
  return (
    <DataTable
      caption={caption}
      rows={rows}
      columns={columns}
      keyOf={({ id }) => id}
      lead={lead}
      actions={actions}
      rowProps={({ id }) => ({
        "data-job": id,
        onClick: (event) => open(event, id),
        className: `cursor-default has-[a[data-open]:focus-visible]:bg-accent ${selection?.ids.has(id) === true ? "bg-primary/8" : ""}`,
      })}
    />
  );
}

/** A click on a row opens its job, unless it hits a control in the row, or text is selected. */
function useOpen(): (event: MouseEvent, id: string) => void {
  const navigate = useNavigate();
  return (event, id) => {
    const isForAnother = (event.target as Element).closest("a, button, input, label") !== null;
    if (isForAnother || getSelection()?.isCollapsed === false) return;
    void navigate({ to: "/jobs/$id", params: { id } });
  };
}

function AllCheck({ selection, rows }: { readonly selection: Selection; readonly rows: readonly JobSummary[] }): ReactElement {
  const isAll = rows.length > 0 && selection.jobs.length === rows.length;
  return (
    <label className="grid size-6 place-items-center">
      <span className="sr-only">Select all on this page</span>
      <input
        type="checkbox"
        checked={isAll}
        ref={(box) => {
          if (box !== null) box.indeterminate = !isAll && selection.jobs.length > 0;
        }}
        onChange={() => selection.toggleAll()}
      />
    </label>
  );
}

function checkOf(selection: Selection): (job: JobSummary) => ReactElement {
  return ({ id, type }) => (
    <label className="grid size-6 place-items-center">
      <span className="sr-only">
        Select {type} {id}
      </span>
      <input
        type="checkbox"
        checked={selection.ids.has(id)}
        onChange={(event) => selection.toggle(id, (event.nativeEvent as Partial<PointerEvent>).shiftKey === true)}
      />
    </label>
  );
}
