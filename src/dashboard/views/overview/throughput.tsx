import { ChartLine, Table2 } from "lucide-react";
import { lazy, type ReactElement, Suspense, useMemo, useState } from "react";
import type { HistoryPoint } from "../../api.ts";
import { count, localTime } from "../../format.ts";
import { IconButton } from "../../parts/button.tsx";
import { Card } from "../../parts/card.tsx";
import type { Line } from "../../parts/line-chart.tsx";
import { Loaded, Skeleton } from "../../parts/notices.tsx";
import { ROW, Table, Td, Th } from "../../parts/table.tsx";
import { useHistory } from "../../queries.ts";

const LineChart = lazy(() => import("../../parts/line-chart.tsx"));

const RANGES = {
  "1 h": { step: "minute", periods: 60, title: "Jobs per minute" },
  "24 h": { step: "hour", periods: 24, title: "Jobs per hour" },
  "7 d": { step: "hour", periods: 168, title: "Jobs per hour" },
} as const;
type Range = keyof typeof RANGES;

/** How many jobs were enqueued, completed, and failed for good, over time. */
export function Throughput(): ReactElement {
  const [range, setRange] = useState<Range>("24 h");
  const [isTable, setTable] = useState(false);
  const { step, periods, title } = RANGES[range];
  const history = useHistory(step, periods);
  return (
    <Card
      title={title}
      className="h-full"
      flush
      aside={
        <div className="flex items-center gap-1">
          <div role="group" aria-label="Time range" className="flex gap-0.5 rounded-md bg-muted p-0.5">
            {(Object.keys(RANGES) as Range[]).map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={range === name}
                onClick={() => setRange(name)}
                className="h-6 rounded px-2 text-xs text-muted-foreground aria-pressed:bg-accent aria-pressed:text-foreground"
              >
                {name}
              </button>
            ))}
          </div>
          <IconButton
            icon={isTable ? ChartLine : Table2}
            label={isTable ? "Show as a chart" : "Show as a table"}
            onClick={() => setTable(!isTable)}
          />
        </div>
      }
    >
      <Loaded result={history} lines={6}>
        {(points) => (isTable ? <PointTable points={points} /> : <PointChart title={title} points={points} />)}
      </Loaded>
    </Card>
  );
}

function PointChart({ title, points }: { readonly title: string; readonly points: readonly HistoryPoint[] }): ReactElement {
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const lines = useMemo<Line[]>(
    () => [
      { name: "enqueued", colour: "--low", values: points.map(({ enqueued }) => enqueued) },
      { name: "completed", colour: "--primary", filled: true, values: points.map(({ completed }) => completed) },
      { name: "failed for good", colour: "--dead", filled: true, values: points.map(({ failed }) => failed) },
    ],
    [points],
  );
  return (
    <div className="px-3 pt-2 pb-3">
      <Suspense fallback={<Skeleton lines={7} />}>
        <LineChart label={title} times={times} lines={lines} timeText={localTime} />
      </Suspense>
      <p className="text-xs text-muted-foreground">The latest point is still being counted.</p>
    </div>
  );
}

function PointTable({ points }: { readonly points: readonly HistoryPoint[] }): ReactElement {
  return (
    <div className="max-h-72 overflow-y-auto">
      <Table caption="Jobs over time, the latest first">
        <thead className="sticky top-0 bg-card">
          <tr>
            <Th>From</Th>
            <Th end>Enqueued</Th>
            <Th end>Completed</Th>
            <Th end>Failed for good</Th>
            <Th end>Retried attempts</Th>
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map((point) => (
            <tr key={point.at} className={ROW}>
              <Td>{localTime(point.at)}</Td>
              <Td end>{count(point.enqueued)}</Td>
              <Td end>{count(point.completed)}</Td>
              <Td end>{count(point.failed)}</Td>
              <Td end>{count(point.retried)}</Td>
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}
