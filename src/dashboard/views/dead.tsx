/** DEAD LETTERS: jobs that failed for good and wait for somebody to decide. */
import { getRouteApi } from "@tanstack/react-router";
import { PartyPopper, RotateCw, Trash2 } from "lucide-react";
import { type ReactElement, useMemo } from "react";
import type { JobSummary } from "../../core/job.ts";
import type { JobFilter } from "../api.ts";
import { changeAll } from "../bulk.ts";
import { counted } from "../../core/counted.ts";
import { count } from "../format.ts";
import { changeJob } from "../job-actions.ts";
import { JOB_COLUMNS, type JobColumn } from "../job-list/columns.tsx";
import { FreshBar } from "../job-list/fresh-bar.tsx";
import { JobTable } from "../job-list/job-table.tsx";
import { Pager } from "../job-list/pager.tsx";
import { usePaging } from "../job-list/paging.ts";
import { SelectionBar } from "../job-list/selection-bar.tsx";
import { useListKeys, useSelection } from "../job-list/selection.ts";
import { useSteadyJobs } from "../job-list/steady-jobs.ts";
import { toFilter, toListQuery } from "../job-search.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Card, PageHead } from "../parts/card.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { Ago, useNow } from "../parts/time.tsx";
import { usePreference } from "../preferences.ts";
import { useDead, useStats } from "../queries.ts";
import { visible } from "../safe-text.ts";
import { session } from "../session.ts";
import { useWatched } from "../watched.ts";
import { ErrorGroups } from "./dead/error-groups.tsx";
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
      <PageHead
        title="Dead letters"
        actions={isOperator && (rows?.length ?? 0) > 0 && <ForAll filter={toFilter(query)} isFiltered={isFiltered} />}
      >
        Jobs that failed for good. They stay until somebody retries or deletes them.
      </PageHead>
      <div className="mb-3">
        <FilterBar search={search} fixed={["status"]} />
      </div>
      <ErrorGroups filter={toFilter(query)} search={search} />
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

/** What is done to all that match, on this page and beyond it. */
function ForAll({ filter, isFiltered }: { readonly filter: JobFilter; readonly isFiltered: boolean }): ReactElement {
  const dead: JobFilter = { ...filter, status: "dead" };
  return (
    <>
      <Button icon={RotateCw} onClick={() => void changeAll("retry", dead)}>
        {isFiltered ? "Retry all that fit" : "Retry all"}
      </Button>
      <Button icon={Trash2} onClick={() => void changeAll("delete", dead)}>
        {isFiltered ? "Purge all that fit" : "Purge all"}
      </Button>
    </>
  );
}
