/** ONE JOB: its fields, its history, and actions. */
import { getRouteApi } from "@tanstack/react-router";
import { FileQuestion } from "lucide-react";
import type { ReactElement } from "react";
import { payloadOf, resultOf } from "../../core/json-text.ts";
import type { Job } from "../../core/job.ts";
import { Card } from "../parts/card.tsx";
import { JsonCard } from "../parts/json-card.tsx";
import { Empty, Loaded, messageOf } from "../parts/notices.tsx";
import { useJob, useJobHistory, useSteps } from "../queries.ts";
import { useTitle } from "../title.ts";
import { Attempts } from "./job/attempts.tsx";
import { FlowPlace } from "./job/flow-place.tsx";
import { Explain } from "./job/explain.tsx";
import { JobFacts } from "./job/job-facts.tsx";
import { JobHead } from "./job/job-head.tsx";
import { Logs } from "./job/logs.tsx";
import { Steps } from "./job/steps.tsx";
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
  useTitle("No such job");
  return (
    <Card>
      <Empty icon={FileQuestion} title="There is no such job" isPage>
        {text}
      </Empty>
    </Card>
  );
}

function JobView({ job }: { readonly job: Job }): ReactElement {
  const history = useJobHistory(job.id);
  const { data: steps = [] } = useSteps(job);
  // The title shows the end of the job while you are in another tab.
  useTitle(`${MARKS[job.status] ?? "·"} ${job.type}`);
  return (
    <>
      <JobHead job={job} />
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="min-w-0 space-y-4">
          {WAITING.includes(job.status) && <Explain job={job} />}
          {job.flow !== null && <FlowPlace flow={job.flow} />}
          {job.hasSteps && <Steps job={job} />}
          <Card title="Timeline">
            <Loaded result={history} lines={2}>
              {(known) => <Timeline job={job} history={known} steps={steps} />}
            </Loaded>
          </Card>
          {history.data !== undefined && history.data.attempts.length > 0 && <Attempts history={history.data} job={job} />}
          <JsonCard title="Payload" value={payloadOf(job)} file={`${job.id}-payload.json`} />
          {job.status === "completed" && <JsonCard title="Result" value={resultOf(job)} file={`${job.id}-result.json`} />}
          <Logs job={job} />
        </div>
        <JobFacts job={job} />
      </div>
    </>
  );
}
