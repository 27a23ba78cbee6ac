import type { ReactElement } from "react";
import type { JobSummary } from "../../core/job.ts";
import { shortId } from "../format.ts";
import { visible } from "../safe-text.ts";

type SampleJob = Pick<JobSummary, "id" | "type" | "error">;

/** A text about many jobs, and some of them. */
export function TextAndSample({ text, jobs }: { readonly text: string; readonly jobs: readonly SampleJob[] }): ReactElement {
  return (
    <div className="space-y-3">
      <p>{text}</p>
      <SampleJobs jobs={jobs} />
    </div>
  );
}

/** Some jobs of many: id, type, and why each one failed. */
export function SampleJobs({ jobs }: { readonly jobs: readonly SampleJob[] }): ReactElement | null {
  if (jobs.length === 0) return null;
  return (
    <section aria-label="Sample" className="rounded-lg border bg-background px-3 py-2">
      <h3 className="mb-1 text-xs font-medium text-muted-foreground">For example</h3>
      <ul className="space-y-1">
        {jobs.map(({ id, type, error }) => (
          <li key={id} className="min-w-0">
            <span className="block break-words">
              <span className="font-medium">{type}</span>{" "}
              <span title={id} className="font-mono text-xs text-muted-foreground">
                {shortId(id)}
              </span>
            </span>
            {error !== null && (
              <span className="line-clamp-2 break-words text-dead">{visible(`${error.name}: ${error.message}`.slice(0, 200))}</span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
