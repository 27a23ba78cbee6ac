/** WHAT A BULK OPERATION WOULD CHANGE: the filter in words, what happens, how many are running, and some of the jobs. */
import type { ReactElement } from "react";
import type { BulkAction } from "../core/bulk.ts";
import { count, counted } from "../core/counted.ts";
import type { JobSummary } from "../core/job.ts";
import type { BulkPreview } from "./api.ts";
import { SampleJobs } from "./parts/sample-jobs.tsx";
import { visible } from "./safe-text.ts";

const EFFECTS: Readonly<Record<BulkAction, string>> = {
  retry: "They are pending at once, and their retries count from 0 again. If the cause is not fixed, they will fail again.",
  cancel: "Waiting jobs will not run.",
  delete: "Their payloads, results, errors and logs are deleted, too. This cannot be undone.",
};

interface BulkQuestionProps {
  /** The filter in words. */
  readonly words: string;
  readonly preview: BulkPreview;
  /** Those of them that are running; null if none can be. */
  readonly running: BulkPreview | null;
  readonly sample: readonly JobSummary[];
}

export function BulkQuestion({ words, preview, running, sample }: BulkQuestionProps): ReactElement {
  return (
    <div className="space-y-3">
      <p className="font-medium break-words">{visible(words)}</p>
      <p>
        {EFFECTS[preview.action]} {running !== null && runningText(running)}
      </p>
      <SampleJobs jobs={sample} />
    </div>
  );
}

/** How many jobs match: exactly, or at least. */
export function matchedText({ matched, matchedIsCapped }: BulkPreview): string {
  return `${matchedIsCapped ? "at least " : ""}${counted(matched, "job")}`;
}

function runningText(running: BulkPreview): string {
  if (running.matched === 0 && !running.matchedIsCapped) return "None of them is running.";
  const many = running.matchedIsCapped
    ? `At least ${count(running.matched)} of them are`
    : counted(running.matched, "of them is", "of them are");
  return `${many} running: the handlers are told to stop; what they have done so far is not undone.`;
}
