import type { ReactElement } from "react";
import { shortDecimal, took } from "../../format.ts";
import { FAILURE_FIGURES, JOB_FIGURES, timeFigures } from "../../history/job-figures.ts";
import { HistoryCard } from "../../history/history-card.tsx";
import { RangeChoice } from "../../history/range-choice.tsx";
import { JOBS_PER, type Range, RANGES } from "../../history/ranges.ts";
import { useHistory } from "../../queries.ts";

const RUN_TIMES = timeFigures("run");
const WAIT_TIMES = timeFigures("wait");

interface OverTimeProps {
  readonly queue: string;
  /** Absent: the whole queue. */
  readonly type?: string;
  readonly range: Range;
  readonly onRange: (range: Range) => void;
}

/** Throughput, failure rate, wait and run times of a queue or of one type. */
export function OverTime({ queue, type, range, onRange }: OverTimeProps): ReactElement {
  const { step, periods } = RANGES[range];
  const history = useHistory(step, periods, queue, type);
  return (
    <section aria-label="Over time" className="space-y-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-base font-semibold">Over time</h2>
        <RangeChoice range={range} onChange={onRange} />
      </div>
      <div className="grid gap-4 xl:grid-cols-2">
        <HistoryCard title={JOBS_PER[step]} caption="Jobs over time, the latest first" figures={JOB_FIGURES} result={history} />
        <HistoryCard
          title="Failure rate"
          caption="Failure rate over time, the latest first"
          figures={FAILURE_FIGURES}
          result={history}
          valueText={(value) => `${shortDecimal(value)} %`}
        />
        <HistoryCard
          title="Wait time"
          caption="Wait time over time, the latest first"
          figures={WAIT_TIMES}
          result={history}
          valueText={took}
          isTime
        />
        <HistoryCard
          title="Run time"
          caption="Run time over time, the latest first"
          figures={RUN_TIMES}
          result={history}
          valueText={took}
          isTime
        />
      </div>
    </section>
  );
}
