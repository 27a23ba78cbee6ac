import { type ReactElement, useState } from "react";
import { HistoryCard } from "../../history/history-card.tsx";
import { JOB_FIGURES } from "../../history/job-figures.ts";
import { RangeChoice } from "../../history/range-choice.tsx";
import { JOBS_PER, type Range, RANGES } from "../../history/ranges.ts";
import { useHistory } from "../../queries.ts";

/** How many jobs were enqueued, completed, and failed for good, over time. */
export function Throughput(): ReactElement {
  const [range, setRange] = useState<Range>("24 h");
  const { step, periods } = RANGES[range];
  const history = useHistory(step, periods);
  return (
    <HistoryCard
      title={JOBS_PER[step]}
      caption="Jobs over time, the latest first"
      figures={JOB_FIGURES}
      result={history}
      aside={<RangeChoice range={range} onChange={setRange} />}
    />
  );
}
