/** JOBS: every filter is a link, and the list stands still while it is read. */
import { getRouteApi } from "@tanstack/react-router";
import { Ban, Columns3, Inbox, ListChecks, RotateCw, Trash2 } from "lucide-react";
import { type ReactElement, useMemo } from "react";
import { BULK_ACTIONS } from "../../core/bulk.ts";
import type { ListJobs } from "../api.ts";
import { changeAll, statusesFor } from "../bulk.ts";
import { counted } from "../../core/counted.ts";
import { ACTION_WORDS } from "../job-actions.ts";
import { columnsOf, JOB_COLUMNS } from "../job-list/columns.tsx";
import { FreshBar } from "../job-list/fresh-bar.tsx";
import { JobTable } from "../job-list/job-table.tsx";
import { Pager } from "../job-list/pager.tsx";
import { usePaging } from "../job-list/paging.ts";
import { SelectionBar } from "../job-list/selection-bar.tsx";
import { useListKeys, useSelection } from "../job-list/selection.ts";
import { useSteadyJobs } from "../job-list/steady-jobs.ts";
import { toFilter, toListQuery } from "../job-search.ts";
import { Button } from "../parts/button.tsx";
import { Card, PageHead } from "../parts/card.tsx";
import { Menu, MenuCheck, MenuItem } from "../parts/menu.tsx";
import { Empty, Loaded } from "../parts/notices.tsx";
import { useNow } from "../parts/time.tsx";
import { usePreference } from "../preferences.ts";
import { useJobs } from "../queries.ts";
import { session } from "../session.ts";
import { useWatched } from "../watched.ts";
import { FilterBar } from "./jobs/filter-bar.tsx";
import { StatusTabs } from "./jobs/status-tabs.tsx";

const route = getRouteApi("/jobs");

/** Every job that fits the filters. */
export function Jobs(): ReactElement {
  const search = route.useSearch();
  const [limit] = usePreference("pageSize");
  const [columnIds] = usePreference("columns");
  const isOperator = useWatched(session).role === "operator";
  const minute = Math.floor(useNow() / 60_000) * 60_000;
  const query = useMemo(() => toListQuery(search, limit, minute), [search, limit, minute]);
  const result = useJobs(query);
  // The minute goes on while one reads: that is no other list.
  const { rows, fresh } = useSteadyJobs(result, JSON.stringify([search, limit]));
  const selection = useSelection(rows ?? []);
  const { older, newer, newest } = usePaging(search.cursor, result.data?.cursor);
  useListKeys({ rows: rows ?? [], selection, onOlder: older, onNewer: newer });
  return (
    <>
      <PageHead
        title="Jobs"
        actions={
          <>
            {isOperator && (rows?.length ?? 0) > 0 && <AllThatMatch query={query} />}
            <ColumnMenu />
          </>
        }
      />
      <div className="mb-3 space-y-3">
        <StatusTabs search={search} />
        <FilterBar search={search} />
      </div>
      <Card flush>
        <Loaded result={{ ...result, data: rows }} lines={12}>
          {(shown) => (
            <>
              {search.cursor === undefined && <FreshBar fresh={fresh} limit={limit} />}
              {shown.length === 0 ? (
                <NothingFound isFiltered={Object.keys(search).length > 0} goesOn={older !== undefined} />
              ) : (
                <JobTable caption="Jobs" rows={shown} columns={columnsOf(columnIds)} selection={isOperator ? selection : null} />
              )}
              <SelectionBar selection={selection} />
              <Pager onNewest={newest} onNewer={newer} onOlder={older}>
                {counted(shown.length, "job")} on this page
                {shown.length < limit && older !== undefined && ". 10,000 were looked at: there may be more further back"}
              </Pager>
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}

const BULK_ICONS = { retry: RotateCw, cancel: Ban, delete: Trash2 } as const;

/** What can be done to all that match, also beyond this page. Jobs in whose status it cannot be done are left as they are. */
function AllThatMatch({ query }: { readonly query: ListJobs }): ReactElement {
  const { status, ...filter } = toFilter(query);
  return (
    <Menu trigger={<Button icon={ListChecks}>All that match</Button>}>
      {BULK_ACTIONS.map((action) => {
        const able = statusesFor(action, status as string[] | undefined);
        return (
          <MenuItem
            key={action}
            icon={BULK_ICONS[action]}
            danger={action === "delete"}
            disabled={able === null}
            onClick={() => void changeAll(action, status === undefined ? filter : { ...filter, status: able ?? [] })}
          >
            {ACTION_WORDS[action]} all that match…
          </MenuItem>
        );
      })}
    </Menu>
  );
}

function NothingFound({ isFiltered, goesOn }: { readonly isFiltered: boolean; readonly goesOn: boolean }): ReactElement {
  if (!isFiltered) {
    return (
      <Empty icon={Inbox} title="No jobs are stored">
        Jobs show up here as soon as they are enqueued. Completed ones are kept for as long as their queue says.
      </Empty>
    );
  }
  return (
    <Empty icon={Inbox} title="No job fits these filters">
      {goesOn ? "10,000 jobs were looked at. Go on with Older to look further back." : "Take a filter away, or look at another time."}
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
