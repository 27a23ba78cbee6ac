/** A LIST OF JOBS, with its pages, selection and shortcuts. New jobs are offered, so that rows do not move while somebody reads them. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { ArrowUp } from "lucide-react";
import { type ComponentType, type ReactElement, type ReactNode, useEffect } from "react";
import { counted } from "../../core/counted.ts";
import type { JobSummary } from "../../core/job.ts";
import type { JobPage } from "../api.ts";
import { live } from "../live.ts";
import { Card } from "../parts/card.tsx";
import { Loaded } from "../parts/notices.tsx";
import { useIsOperator } from "../session.ts";
import type { JobColumn } from "./columns.tsx";
import { JobTable } from "./job-table.tsx";
import { LIST_PAGES, rememberList } from "./last-list.ts";
import { Pager } from "./pager.tsx";
import { type Paging, usePaging } from "./paging.ts";
import { SelectionBar } from "./selection-bar.tsx";
import { type Selection, useListKeys, useSelection } from "./selection.ts";
import { type SteadyJobs, useSteadyJobs } from "./steady-jobs.ts";

interface JobListState extends SteadyJobs, Paging {
  readonly result: UseQueryResult<JobPage>;
  readonly selection: Selection;
}

/** The state of the list at the current URL; `key` says which list and page it is. */
export function useJobList(result: UseQueryResult<JobPage>, key: string, cursor: string | undefined): JobListState {
  const { rows, fresh } = useSteadyJobs(result, key);
  const selection = useSelection(rows ?? []);
  const paging = usePaging(cursor, result.data?.cursor);
  useListKeys({ rows: rows ?? [], selection, onNext: paging.next, onPrevious: paging.previous });
  return { result, rows, fresh: cursor === undefined ? fresh : 0, selection, ...paging };
}

interface JobListProps {
  readonly list: JobListState;
  readonly caption: string;
  readonly columns: readonly JobColumn[];
  /** Rows per page. */
  readonly limit: number;
  /** Buttons at the end of each row, for operators. */
  readonly actions?: ComponentType<{ readonly row: JobSummary }>;
  /** Shown if there are no jobs. */
  readonly empty: ReactNode;
  /** The line below the rows. */
  readonly children: (shown: readonly JobSummary[]) => ReactNode;
}

export function JobList({ list, caption, columns, limit, actions, empty, children }: JobListProps): ReactElement {
  const isOperator = useIsOperator();
  const { result, rows, fresh, selection, first, previous, next } = list;
  useRememberedList(rows);
  return (
    <Card flush>
      <Loaded result={{ ...result, data: rows }} lines={12}>
        {(shown) => (
          <>
            <FreshBar fresh={fresh} limit={limit} />
            {shown.length === 0 ? (
              empty
            ) : (
              <JobTable
                caption={caption}
                rows={shown}
                columns={columns}
                selection={isOperator ? selection : null}
                actions={isOperator ? actions : undefined}
              />
            )}
            <SelectionBar selection={selection} />
            <Pager onFirst={first} onPrevious={previous} onNext={next}>
              {children(shown)}
            </Pager>
          </>
        )}
      </Loaded>
    </Card>
  );
}

/** A job that is opened from here knows its neighbours. */
function useRememberedList(rows: readonly JobSummary[] | undefined): void {
  const { pathname, search } = useLocation();
  const page = (Object.keys(LIST_PAGES) as (keyof typeof LIST_PAGES)[]).find((each) => each === pathname);
  const ids = rows?.map(({ id }) => id).join(" ");
  useEffect(() => {
    if (page === undefined || ids === undefined) return;
    rememberList({ page, search, ids: ids === "" ? [] : ids.split(" ") });
  }, [page, search, ids]);
}

function FreshBar({ fresh, limit }: { readonly fresh: number; readonly limit: number }): ReactElement {
  return (
    <div role="status">
      {fresh > 0 && (
        <button
          type="button"
          onClick={() => void live.refresh()}
          className="flex w-full items-center justify-center gap-1.5 border-b bg-primary/10 py-1.5 font-medium text-primary hover:bg-primary/15"
        >
          <ArrowUp aria-hidden className="size-3.5" />
          Show {fresh >= limit ? `${fresh} or more new jobs` : counted(fresh, "new job")}
        </button>
      )}
    </div>
  );
}
