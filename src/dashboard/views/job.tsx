/** ONE JOB: its fields, its history, and actions. */
import { getRouteApi } from "@tanstack/react-router";
import { FileQuestion } from "lucide-react";
import { type ReactElement, useEffect } from "react";
import { payloadOf, resultOf } from "../../core/json-text.ts";
import type { Job } from "../../core/job.ts";
import { Card } from "../parts/card.tsx";
import { JsonCard } from "../parts/json-card.tsx";
import { Empty, Loaded, messageOf } from "../parts/notices.tsx";
import { useAttempts, useJob } from "../queries.ts";
import { Attempts } from "./job/attempts.tsx";
import { Explain } from "./job/explain.tsx";
import { JobFacts } from "./job/job-facts.tsx";
import { JobHead } from "./job/job-head.tsx";
import { Logs } from "./job/logs.tsx";
import { Timeline } from "./job/timeline.tsx";

const route = getRouteApi("/jobs/$id");
const MARKS: Partial<Record<Job["status"], string>> = { completed: "✓", dead: "✗", failed: "✗", running: "▶", cancelled: "⊘" };

const WAITING: readonly Job["status"][] = ["pending", "scheduled", "retrying", "blocked"];

export function JobPage(): ReactElement {
  const { id } = route.useParams();
  const result = useJob(id);
  if (result.error !== null && result.data === undefined && "field" in result.error && result.error.field === "id") {
    return <NoJob text={messageOf(result.error)} />;
  }
  return (
    <Loaded result={result} lines={10}>
      {(job) =>
        job === null ? (
          <NoJob text="It was deleted, or pruned after its retention, or never existed." />
        ) : (
          <JobView key={job.id} job={job} />
        )
      }
    </Loaded>
  );
}

function NoJob({ text }: { readonly text: string }): ReactElement {
  return (
    <Card>
      <Empty icon={FileQuestion} title="There is no such job">
        {text}
      </Empty>
    </Card>
  );
}

function JobView({ job }: { readonly job: Job }): ReactElement {
  const attempts = useAttempts(job.id);
  useTitle(`${MARKS[job.status] ?? "·"} ${job.type}`);
  return (
    <>
      <JobHead job={job} />
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="min-w-0 space-y-4">
          {WAITING.includes(job.status) && <Explain job={job} />}
          <Card title="Timeline">
            <Loaded result={attempts} lines={2}>
              {(list) => <Timeline job={job} attempts={list} />}
            </Loaded>
          </Card>
          {attempts.data !== undefined && attempts.data.length > 0 && <Attempts attempts={attempts.data} job={job} />}
          <JsonCard title="Payload" value={payloadOf(job)} file={`${job.id}-payload.json`} />
          {job.status === "completed" && <JsonCard title="Result" value={resultOf(job)} file={`${job.id}-result.json`} />}
          <Logs job={job} />
        </div>
        <JobFacts job={job} />
      </div>
    </>
  );
}

/** The title of the browser tab: it shows the end of the job while you are in another tab. */
function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Millrace`;
    return () => {
      document.title = "Millrace";
    };
  }, [title]);
}
