/** JOBS: every filter is in the URL, and the list does not move while it is read. */
import { getRouteApi } from "@tanstack/react-router";
import { Columns3, Inbox, ListChecks } from "lucide-react";
import type { ReactElement } from "react";
import { BULK_ACTIONS } from "../../core/bulk.ts";
import type { Status } from "../../core/job.ts";
import type { StateOrder } from "../../core/list-order.ts";
import type { ListJobs } from "../api.ts";
import { changeAll, filterFor } from "../bulk.ts";
import { counted } from "../../core/counted.ts";
import { ACTION_ICONS, ACTION_WORDS } from "../job-actions.ts";
import { columnsOf, JOB_COLUMNS } from "../job-list/columns.tsx";
import { Facets } from "../job-list/facets.tsx";
import { JobList, useJobList } from "../job-list/job-list.tsx";
import { useListQuery } from "../job-list/list-query.ts";
import { NothingFound } from "../job-list/nothing-found.tsx";
import { SearchProgress } from "../job-list/search-progress.tsx";
import { orderOf, statusesIn, toFilter } from "../job-search.ts";
import { TypeLink } from "../parts/bits.tsx";
import { Button } from "../parts/button.tsx";
import { PageHead } from "../parts/card.tsx";
import { Menu, MenuCheck, MenuItem } from "../parts/menu.tsx";
import { Empty } from "../parts/notices.tsx";
import { usePreference } from "../preferences.ts";
import { useJobs } from "../queries.ts";
import { useIsOperator } from "../session.ts";
import { FilterBar } from "./jobs/filter-bar.tsx";
import { StatusTabs } from "./jobs/status-tabs.tsx";
import { ViewsMenu } from "./jobs/views-menu.tsx";

const route = getRouteApi("/jobs");

export function Jobs(): ReactElement {
  const search = route.useSearch();
  const [limit] = usePreference("pageSize");
  const [columnIds] = usePreference("columns");
  const isOperator = useIsOperator();
  const query = useListQuery(search);
  // Without the minute: when it changes, the list is still the same.
  const list = useJobList(useJobs(query), JSON.stringify([search, limit]), search.cursor);
  const order = orderOf(search);
  return (
    <>
      <PageHead
        title="Jobs"
        actions={
          <>
            {isOperator && (list.rows?.length ?? 0) > 0 && <BulkActions query={query} statuses={statusesIn(search.status)} />}
            <ViewsMenu page="/jobs" search={search} />
            <ColumnMenu />
          </>
        }
      >
        {search.queue === undefined || search.type === undefined ? undefined : (
          <>
            Over time: <TypeLink queue={search.queue} type={search.type} />
          </>
        )}
      </PageHead>
      <div className="mb-3 space-y-3">
        <StatusTabs search={search} />
        <FilterBar search={search} ended={order === "ended" ? "Ended" : undefined} />
      </div>
      {hasOnlyFailures(search.status) && <Facets filter={toFilter(query)} search={search} jobs={list.rows ?? []} />}
      <JobList
        list={list}
        caption="Jobs"
        columns={columnsOf(columnIds, order)}
        limit={limit}
        empty={Object.keys(search).length > 0 ? <NothingFound goesOn={list.next !== undefined} /> : <NoJobs />}
      >
        {({ length }) => (
          <>
            {counted(length, "job")} on this page{ORDER_WORDS[order ?? "created"]} <SearchProgress query={query} />
          </>
        )}
      </JobList>
    </>
  );
}

/** Whether a list has nothing but dead and failed jobs, which can be counted by their facets. */
function hasOnlyFailures(status: string | undefined): boolean {
  const statuses = statusesIn(status);
  return statuses !== undefined && statuses.every((one) => one === "dead" || one === "failed");
}

const ORDER_WORDS: Readonly<Record<StateOrder | "created", string>> = {
  created: "",
  ended: ", the latest end first",
  pending: ", next in line first",
  due: ", the soonest due first",
};

/** Changes all jobs that match, also beyond this page. Jobs whose status does not allow it stay as they are. */
function BulkActions({ query, statuses }: { readonly query: ListJobs; readonly statuses: readonly Status[] | undefined }): ReactElement {
  const { status: _, ...filter } = toFilter(query);
  return (
    <Menu trigger={<Button icon={ListChecks}>Bulk actions</Button>}>
      {BULK_ACTIONS.map((action) => {
        const able = filterFor(action, filter, statuses);
        return (
          <MenuItem
            key={action}
            icon={ACTION_ICONS[action]}
            danger={action === "delete"}
            disabled={able === null}
            onClick={() => void (able !== null && changeAll(action, able))}
          >
            {ACTION_WORDS[action]} all matches…
          </MenuItem>
        );
      })}
    </Menu>
  );
}

function NoJobs(): ReactElement {
  return (
    <Empty icon={Inbox} title="No jobs">
      Jobs appear here as soon as they are enqueued. Completed jobs are kept for the retention of their queue.
    </Empty>
  );
}

function ColumnMenu(): ReactElement {
  const [chosen, setChosen] = usePreference("columns");
  return (
    <Menu
      trigger={
        <Button look="quiet" icon={Columns3} className="max-sm:hidden">
          Columns
        </Button>
      }
    >
      {JOB_COLUMNS.filter(({ id }) => id !== "id").map(({ id, title }) => (
        <MenuCheck
          key={id}
          checked={chosen.includes(id)}
          onChange={(isOn) => setChosen(isOn ? [...chosen, id] : chosen.filter((each) => each !== id))}
        >
          {title}
        </MenuCheck>
      ))}
    </Menu>
  );
}
