/** DEAD LETTERS: jobs that failed for good and wait for somebody to decide. */
import { getRouteApi } from "@tanstack/react-router";
import { PartyPopper, RotateCw, Trash2 } from "lucide-react";
import { type ReactElement, useMemo } from "react";
import type { JobSummary } from "../../core/job.ts";
import { act } from "../act.ts";
import { client, type ListJobs } from "../api.ts";
import { ask } from "../ask.ts";
import { count, counted } from "../format.ts";
import { changeJob } from "../job-actions.ts";
import { JOB_COLUMNS, type JobColumn } from "../job-list/columns.tsx";
import { FreshBar } from "../job-list/fresh-bar.tsx";
import { JobTable } from "../job-list/job-table.tsx";
import { Pager } from "../job-list/pager.tsx";
import { usePaging } from "../job-list/paging.ts";
import { SelectionBar } from "../job-list/selection-bar.tsx";
import { useListKeys, useSelection } from "../job-list/selection.ts";
import { useSteadyJobs } from "../job-list/steady-jobs.ts";
import { toListQuery } from "../job-search.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Card, PageHead } from "../parts/card.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { Ago, useNow } from "../parts/time.tsx";
import { usePreference } from "../preferences.ts";
import { useDead, useStats } from "../queries.ts";
import { visible } from "../safe-text.ts";
import { session } from "../session.ts";
import { useWatched } from "../watched.ts";
import { FilterBar } from "./jobs/filter-bar.tsx";

const route = getRouteApi("/dead");

const COLUMNS: readonly JobColumn[] = [
  ...JOB_COLUMNS.filter(({ id }) => ["id", "type", "queue"].includes(id)),
  {
    id: "error",
    title: "Error",
    cell: ({ error }) => (
      <span className="flex min-w-0 flex-col py-1.5">
        <span className="font-medium text-dead">{visible(error?.name ?? "unknown")}</span>
        <span className="line-clamp-2 text-muted-foreground">{visible((error?.message ?? "").slice(0, 300))}</span>
      </span>
    ),
    className: "max-w-md min-w-56 break-words",
  },
  ...JOB_COLUMNS.filter(({ id }) => id === "attempt"),
  { id: "ended", title: "Died", cell: ({ completedAt, updatedAt }) => <Ago at={completedAt ?? updatedAt} />, end: true },
];

/** The dead letters that fit the filters. */
export function Dead(): ReactElement {
  const search = route.useSearch();
  const [limit] = usePreference("pageSize");
  const isOperator = useWatched(session).role === "operator";
  const minute = Math.floor(useNow() / 60_000) * 60_000;
  const query = useMemo(() => toListQuery(search, limit, minute), [search, limit, minute]);
  const result = useDead(query);
  const { rows, fresh } = useSteadyJobs(result, JSON.stringify([search, limit]));
  const selection = useSelection(rows ?? []);
  const { older, newer, newest } = usePaging(search.cursor, result.data?.cursor);
  const { data: stats } = useStats();
  useListKeys({ rows: rows ?? [], selection, onOlder: older, onNewer: newer });
  const { cursor: _, ...filters } = search;
  const isFiltered = Object.keys(filters).length > 0;
  const total = isFiltered ? null : (stats?.deadCount ?? null);
  return (
    <>
      <PageHead title="Dead letters" actions={isOperator && (rows?.length ?? 0) > 0 && <ForAll query={query} total={total} />}>
        Jobs that failed for good. They stay until somebody retries or deletes them.
      </PageHead>
      <div className="mb-3">
        <FilterBar search={search} fixed={["status"]} />
      </div>
      <Card flush>
        <Loaded result={{ ...result, data: rows }} lines={12}>
          {(shown) => (
            <>
              {search.cursor === undefined && <FreshBar fresh={fresh} limit={limit} />}
              {shown.length === 0 ? (
                <Empty icon={PartyPopper} title={isFiltered ? "No dead letter fits these filters" : "No dead letters"}>
                  {isFiltered ? "Take a filter away, or look at another time." : "Every job that ended did so as it should."}
                </Empty>
              ) : (
                <JobTable
                  caption="Dead letters"
                  rows={shown}
                  columns={COLUMNS}
                  selection={isOperator ? selection : null}
                  actions={isOperator ? RowActions : undefined}
                />
              )}
              <SelectionBar selection={selection} />
              <Pager onNewest={newest} onNewer={newer} onOlder={older}>
                {total === null
                  ? `${counted(shown.length, "dead letter")} on this page`
                  : `${count(shown.length)} of ${counted(total, "dead letter")}`}
              </Pager>
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}

function RowActions({ row: job }: { readonly row: JobSummary }): ReactElement {
  return (
    <span className="flex justify-end gap-1">
      <Button icon={RotateCw} onClick={() => void changeJob("retry", job)}>
        Retry
      </Button>
      <IconButton icon={Trash2} label={`Delete ${job.type} ${job.id}`} className="size-8" onClick={() => void changeJob("delete", job)} />
    </span>
  );
}

interface ForAllProps {
  readonly query: ListJobs;
  /** How many there are; null where that is not known. */
  readonly total: number | null;
}

/** What is done to all that match, on this page and beyond it. */
function ForAll({ query, total }: ForAllProps): ReactElement {
  const { limit: _, cursor: __, ...filter } = query;
  const which = total === null ? "all that fit the filters" : `all ${count(total)}`;
  const retry = async (): Promise<void> => {
    const body =
      "Each gets a new life: its retries start again, and it waits for a worker at once. If the reason is still there, they will die again.";
    if (!(await ask({ title: `Retry ${which}?`, body, yes: "Retry them" }))) return;
    await act(
      () => client.dead.retry(filter),
      (retried) => `${counted(retried, "job")} will be run again`,
    );
  };
  const purge = async (): Promise<void> => {
    const body = "They go with their payloads, errors and logs. This cannot be undone.";
    if (
      !(await ask({ title: `Delete ${which}?`, body, yes: "Delete them", danger: true, typed: total === null ? "delete" : String(total) }))
    )
      return;
    await act(
      () => client.dead.purge(filter),
      (purged) => `${counted(purged, "job")} ${purged === 1 ? "is" : "are"} deleted`,
    );
  };
  return (
    <>
      <Button icon={RotateCw} onClick={() => void retry()}>
        {total === null ? "Retry all that fit" : "Retry all"}
      </Button>
      <Button icon={Trash2} onClick={() => void purge()}>
        {total === null ? "Purge all that fit" : "Purge all"}
      </Button>
    </>
  );
}
