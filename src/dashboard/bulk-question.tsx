/** WHAT A BULK OPERATION WOULD CHANGE: the filter in words, what happens, how many are running, and some of the jobs. */
import { type ReactElement, useState } from "react";
import type { BulkAction } from "../core/bulk.ts";
import { count, counted } from "../core/counted.ts";
import type { JobSummary } from "../core/job.ts";
import type { BulkPreview } from "./api.ts";
import { SelectField } from "./parts/field.tsx";
import { SampleJobs } from "./parts/sample-jobs.tsx";
import { visible } from "./safe-text.ts";

const EFFECTS: Readonly<Record<BulkAction, string>> = {
  retry: "Their retries count from 0 again. If the cause is not fixed, they will fail again.",
  cancel: "Waiting jobs will not run.",
  delete: "Their payloads, results, errors and logs are deleted, too. This cannot be undone.",
};

/** Over which time the jobs of a retry can come due. */
const SPREADS = [
  ["10m", "Spread over 10 minutes"],
  ["1h", "Spread over 1 hour"],
] as const;
export type Spread = (typeof SPREADS)[number][0];

interface BulkQuestionProps {
  /** The filter in words. */
  readonly words: string;
  readonly preview: BulkPreview;
  /** Those of them that are running; null if none can be. */
  readonly running: BulkPreview | null;
  readonly sample: readonly JobSummary[];
  /** A retry was spread over this time; undefined: they are pending at once. */
  readonly onSpread: (spread: Spread | undefined) => void;
}

export function BulkQuestion({ words, preview, running, sample, onSpread }: BulkQuestionProps): ReactElement {
  return (
    <div className="space-y-3">
      <p className="font-medium break-words">
        {preview.limit !== null && `The newest ${count(preview.limit)} of these: `}
        {visible(words)}
      </p>
      <p>
        {EFFECTS[preview.action]} {running !== null && runningText(running)}
      </p>
      {preview.action === "retry" && <SpreadChoice onSpread={onSpread} />}
      <SampleJobs jobs={sample} />
    </div>
  );
}

function SpreadChoice({ onSpread }: Pick<BulkQuestionProps, "onSpread">): ReactElement {
  const [chosen, setChosen] = useState("");
  return (
    <SelectField
      label="When they run"
      value={chosen}
      options={[["", "As soon as a worker is free"], ...SPREADS]}
      onChange={(value) => {
        setChosen(value);
        onSpread(SPREADS.find(([spread]) => spread === value)?.[0]);
      }}
    />
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
