import { Ban, Hourglass, Play } from "lucide-react";
import type { ReactElement } from "react";
import type { JobSummary } from "../../../core/job.ts";
import { counted } from "../../../core/counted.ts";
import { changeJob } from "../../job-actions.ts";
import { columnsOf } from "../../job-list/columns.tsx";
import { JobList, useJobList } from "../../job-list/job-list.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { Empty } from "../../parts/notices.tsx";
import { usePreference } from "../../preferences.ts";
import { useJobs } from "../../queries.ts";

const COLUMNS = columnsOf(["id", "type", "queue", "priority", "status", "scheduled", "created", "tags"]);

/** Jobs that wait until they are due. */
export function Delayed({ cursor }: { readonly cursor: string | undefined }): ReactElement {
  const [limit] = usePreference("pageSize");
  const result = useJobs({ status: "scheduled", sort: "state", limit, ...(cursor === undefined ? {} : { cursor }) });
  return (
    <JobList
      list={useJobList(result, JSON.stringify([cursor, limit]), cursor)}
      caption="Delayed jobs"
      columns={COLUMNS}
      limit={limit}
      actions={RowActions}
      empty={
        <Empty icon={Hourglass} title="No delayed jobs">
          A job with a delay or a time is listed here until it is due.
        </Empty>
      }
    >
      {({ length }) => `${counted(length, "job")} on this page, the soonest due first`}
    </JobList>
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
