/** DEAD LETTERS: jobs that failed for good. */
import { getRouteApi } from "@tanstack/react-router";
import { PartyPopper, RotateCw, Trash2 } from "lucide-react";
import type { ReactElement } from "react";
import type { JobSummary } from "../../core/job.ts";
import type { JobFilter } from "../api.ts";
import { changeAll } from "../bulk.ts";
import { counted } from "../../core/counted.ts";
import { count } from "../format.ts";
import { changeJob } from "../job-actions.ts";
import { JOB_COLUMNS, type JobColumn } from "../job-list/columns.tsx";
import { Facets } from "../job-list/facets.tsx";
import { JobList, useJobList } from "../job-list/job-list.tsx";
import { useListQuery } from "../job-list/list-query.ts";
import { NothingFound } from "../job-list/nothing-found.tsx";
import { SearchProgress } from "../job-list/search-progress.tsx";
import { toFilter } from "../job-search.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { PageHead } from "../parts/card.tsx";
import { Empty } from "../parts/notices.tsx";
import { Ago } from "../parts/time.tsx";
import { usePreference } from "../preferences.ts";
import { useDead, useStats } from "../queries.ts";
import { visible } from "../safe-text.ts";
import { useIsOperator } from "../session.ts";
import { ErrorGroups } from "./dead/error-groups.tsx";
import { FilterBar } from "./jobs/filter-bar.tsx";
import { ViewsMenu } from "./jobs/views-menu.tsx";

const route = getRouteApi("/dead");

const COLUMNS: readonly JobColumn[] = [
  ...JOB_COLUMNS.filter(({ id }) => ["id", "type", "queue"].includes(id)),
  {
    id: "error",
    title: "Error",
    cell: ({ error }) => (
      <span className="flex min-w-0 flex-col">
        <span className="font-medium text-dead">{visible(error?.name ?? "unknown")}</span>
        <span className="line-clamp-2 text-muted-foreground">{visible((error?.message ?? "").slice(0, 300))}</span>
      </span>
    ),
    className: "max-w-md min-w-56 break-words",
  },
  ...JOB_COLUMNS.filter(({ id }) => id === "attempt"),
  { id: "ended", title: "Died", cell: ({ completedAt, updatedAt }) => <Ago at={completedAt ?? updatedAt} />, end: true },
];

export function Dead(): ReactElement {
  const search = route.useSearch();
  const [limit] = usePreference("pageSize");
  const isOperator = useIsOperator();
  const query = useListQuery(search);
  const list = useJobList(useDead(query), JSON.stringify([search, limit]), search.cursor);
  const { data: stats } = useStats();
  const { cursor: _, ...filters } = search;
  const isFiltered = Object.keys(filters).length > 0;
  const total = isFiltered ? null : (stats?.deadCount ?? null);
  return (
    <>
      <PageHead
        title="Dead letters"
        actions={
          <>
            {isOperator && (list.rows?.length ?? 0) > 0 && <BulkActions filter={toFilter(query)} isFiltered={isFiltered} />}
            <ViewsMenu page="/dead" search={search} />
          </>
        }
      >
        Jobs that failed for good. They stay until somebody retries or deletes them.
      </PageHead>
      <div className="mb-3">
        <FilterBar search={search} fixed={["status"]} ended="Died" />
      </div>
      <Facets filter={{ ...toFilter(query), status: "dead" }} search={search} jobs={list.rows ?? []} />
      {/* Other filters, other groups: they are not held back, even under the pointer. */}
      <ErrorGroups key={JSON.stringify(filters)} filter={toFilter(query)} search={search} />
      <JobList
        list={list}
        caption="Dead letters"
        columns={COLUMNS}
        limit={limit}
        actions={RowActions}
        empty={
          isFiltered ? (
            <NothingFound goesOn={list.next !== undefined} />
          ) : (
            <Empty icon={PartyPopper} title="No dead letters">
              Jobs that fail for good will appear here.
            </Empty>
          )
        }
      >
        {(shown) => (
          <>
            <span>{summaryOf(shown, total)}</span>, the latest death first <SearchProgress query={query} status="dead" />
          </>
        )}
      </JobList>
    </>
  );
}

/** Rows stay while they are read, so some may be dead no longer: there are never more of them than there are dead letters. */
function summaryOf(shown: readonly JobSummary[], total: number | null): string {
  const dead = shown.filter(({ status }) => status === "dead").length;
  if (total === null) return `${counted(dead, "dead letter")} on this page`;
  return dead < total ? `${count(dead)} of ${counted(total, "dead letter")}` : counted(total, "dead letter");
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

/** Changes all jobs that match, also beyond this page. */
function BulkActions({ filter, isFiltered }: { readonly filter: JobFilter; readonly isFiltered: boolean }): ReactElement {
  const dead: JobFilter = { ...filter, status: "dead" };
  return (
    <>
      <Button icon={RotateCw} onClick={() => void changeAll("retry", dead)}>
        {isFiltered ? "Retry all matches" : "Retry all"}
      </Button>
      <Button icon={Trash2} onClick={() => void changeAll("delete", dead)}>
        {isFiltered ? "Delete all matches" : "Delete all"}
      </Button>
    </>
  );
}
