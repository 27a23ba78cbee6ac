import { Link } from "@tanstack/react-router";
import { ArrowRight, Inbox, Pin } from "lucide-react";
import type { ReactElement } from "react";
import type { JobSummary } from "../../../core/job.ts";
import { useHeld } from "../../held.ts";
import { JobLink, QueueLink } from "../../parts/bits.tsx";
import { Card } from "../../parts/card.tsx";
import { Empty, Loaded } from "../../parts/notices.tsx";
import { StatusBadge } from "../../parts/status-badge.tsx";
import { ROW, Table, Td, Th } from "../../parts/table.tsx";
import { Ago, Duration } from "../../parts/time.tsx";
import { useJobs } from "../../queries.ts";

const SHOWN = 10;

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
          {({ jobs: latest }) => (latest.length === 0 ? <Empty icon={Inbox} title="No jobs" /> : <LatestTable jobs={latest} />)}
        </Loaded>
      </Card>
    </div>
  );
}

function LatestTable({ jobs }: { readonly jobs: readonly JobSummary[] }): ReactElement {
  return (
    <Table caption="The latest jobs">
      <thead>
        <tr>
          <Th>Id</Th>
          <Th>Type</Th>
          <Th>Queue</Th>
          <Th>Status</Th>
          <Th end>Created</Th>
          <Th end>Duration</Th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id} className={ROW}>
            <Td>
              <JobLink id={job.id} />
            </Td>
            <Td className="max-w-80 truncate font-medium">{job.type}</Td>
            <Td className="max-w-40 truncate">
              <QueueLink name={job.queue} />
            </Td>
            <Td>
              <StatusBadge status={job.status} />
            </Td>
            <Td end>
              <Ago at={job.createdAt} />
            </Td>
            <Td end>{job.status === "running" ? <Duration ms={null} since={job.startedAt} /> : <Duration ms={job.durationMs} />}</Td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
