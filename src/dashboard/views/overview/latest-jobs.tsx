import { Link } from "@tanstack/react-router";
import { ArrowRight, Inbox, Pin } from "lucide-react";
import type { ReactElement } from "react";
import { useHeld } from "../../held.ts";
import { columnsOf } from "../../job-list/columns.tsx";
import { JobTable } from "../../job-list/job-table.tsx";
import { Card } from "../../parts/card.tsx";
import { Empty, Loaded } from "../../parts/notices.tsx";
import { useJobs } from "../../queries.ts";

const SHOWN = 10;
const COLUMNS = columnsOf(["type", "queue", "status", "created", "duration"]);

/** The newest jobs. They do not move while the pointer is on them. */
export function LatestJobs(): ReactElement {
  const jobs = useJobs({ limit: SHOWN });
  const { shown, isHeld, hold } = useHeld(jobs.data);
  return (
    <div {...hold}>
      <Card
        title="Latest jobs"
        flush
        aside={
          <span className="flex items-center gap-3">
            {isHeld && (
              <span className="flex items-center gap-1 text-xs text-muted-foreground">
                <Pin aria-hidden className="size-3" /> paused while you read
              </span>
            )}
            <Link to="/jobs" className="inline-flex min-h-6 items-center gap-1 text-primary underline-offset-2 hover:underline">
              All jobs <ArrowRight aria-hidden className="size-3.5" />
            </Link>
          </span>
        }
      >
        <Loaded result={{ ...jobs, data: shown }}>
          {({ jobs: latest }) =>
            latest.length === 0 ? (
              <Empty icon={Inbox} title="No jobs" />
            ) : (
              <JobTable caption="The latest jobs" rows={latest} columns={COLUMNS} selection={null} />
            )
          }
        </Loaded>
      </Card>
    </div>
  );
}
