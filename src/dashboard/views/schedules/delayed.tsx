import { Ban, Hourglass, Play } from "lucide-react";
import type { ReactElement } from "react";
import type { JobSummary } from "../../../core/job.ts";
import { counted } from "../../../core/counted.ts";
import { changeJob } from "../../job-actions.ts";
import { columnsOf } from "../../job-list/columns.tsx";
import { FreshBar } from "../../job-list/fresh-bar.tsx";
import { JobTable } from "../../job-list/job-table.tsx";
import { Pager } from "../../job-list/pager.tsx";
import { usePaging } from "../../job-list/paging.ts";
import { SelectionBar } from "../../job-list/selection-bar.tsx";
import { useListKeys, useSelection } from "../../job-list/selection.ts";
import { useSteadyJobs } from "../../job-list/steady-jobs.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import { Empty, Loaded } from "../../parts/notices.tsx";
import { usePreference } from "../../preferences.ts";
import { useJobs } from "../../queries.ts";
import { session } from "../../session.ts";
import { useWatched } from "../../watched.ts";

const COLUMNS = columnsOf(["id", "type", "queue", "priority", "status", "scheduled", "created", "tags"]);

/** Jobs that wait for their time. */
export function Delayed({ cursor }: { readonly cursor: string | undefined }): ReactElement {
  const [limit] = usePreference("pageSize");
  const isOperator = useWatched(session).role === "operator";
  const result = useJobs({ status: "scheduled", limit, ...(cursor === undefined ? {} : { cursor }) });
  const { rows, fresh } = useSteadyJobs(result, JSON.stringify([cursor, limit]));
  const selection = useSelection(rows ?? []);
  const { older, newer, newest } = usePaging(cursor, result.data?.cursor);
  useListKeys({ rows: rows ?? [], selection, onOlder: older, onNewer: newer });
  return (
    <Card flush>
      <Loaded result={{ ...result, data: rows }} lines={8}>
        {(shown) => (
          <>
            {cursor === undefined && <FreshBar fresh={fresh} limit={limit} />}
            {shown.length === 0 ? (
              <Empty icon={Hourglass} title="No job waits for its time">
                A job with a delay or a time is listed here until it is due.
              </Empty>
            ) : (
              <JobTable
                caption="Delayed jobs"
                rows={shown}
                columns={COLUMNS}
                selection={isOperator ? selection : null}
                actions={isOperator ? RowActions : undefined}
              />
            )}
            <SelectionBar selection={selection} />
            <Pager onNewest={newest} onNewer={newer} onOlder={older}>
              {counted(shown.length, "job")} on this page, the newest first
            </Pager>
          </>
        )}
      </Loaded>
    </Card>
  );
}

function RowActions({ row: job }: { readonly row: JobSummary }): ReactElement | null {
  if (job.status !== "scheduled") return null;
  return (
    <span className="flex justify-end gap-1">
      <Button icon={Play} onClick={() => void changeJob("start", job)}>
        Start now
      </Button>
      <IconButton icon={Ban} label={`Cancel ${job.type} ${job.id}`} className="size-8" onClick={() => void changeJob("cancel", job)} />
    </span>
  );
}
