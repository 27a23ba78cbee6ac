/** FIGURES OVER TIME: a chart, and the same as a table. */
import { ChartLine, Table2 } from "lucide-react";
import { lazy, type ReactElement, type ReactNode, Suspense, useMemo, useState } from "react";
import type { HistoryPoint } from "../api.ts";
import { count, localTime, NOTHING } from "../format.ts";
import { IconButton } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import type { Line } from "../parts/line-chart.tsx";
import { Loaded, Skeleton } from "../parts/notices.tsx";
import { ROW, Table, Td, Th } from "../parts/table.tsx";

const LineChart = lazy(() => import("../parts/line-chart.tsx"));

/** A line of the chart and a column of the table. */
export interface Figure<Point = HistoryPoint> extends Omit<Line, "values"> {
  /** Null if nothing was measured. */
  readonly of: (point: Point) => number | null;
  /** Only in the table. */
  readonly isExtra?: boolean;
}

/** The figures of one period. */
interface AnyPoint {
  readonly at: number;
}

interface HistoryCardProps<Point> {
  readonly title: string;
  /** The name of the table. */
  readonly caption: string;
  readonly figures: readonly Figure<Point>[];
  readonly result: { readonly data: readonly Point[] | undefined; readonly error: unknown; readonly refetch: () => unknown };
  readonly valueText?: (value: number) => string;
  /** Values are milliseconds. */
  readonly isTime?: boolean;
  /** Before the switch, such as a choice of the range. */
  readonly aside?: ReactNode;
}

export function HistoryCard<Point extends AnyPoint>({
  title,
  caption,
  figures,
  result,
  valueText,
  isTime = false,
  aside,
}: HistoryCardProps<Point>): ReactElement {
  const [isTable, setTable] = useState(false);
  return (
    <Card
      title={title}
      className="h-full"
      flush
      aside={
        <div className="flex items-center gap-1">
          {aside}
          <IconButton
            icon={isTable ? ChartLine : Table2}
            label={isTable ? "Show as a chart" : "Show as a table"}
            onClick={() => setTable(!isTable)}
          />
        </div>
      }
    >
      <Loaded result={result} lines={6}>
        {(points) =>
          isTable ? (
            <PointTable caption={caption} figures={figures} points={points} valueText={valueText} />
          ) : (
            <PointChart title={title} figures={figures} points={points} valueText={valueText} isTime={isTime} />
          )
        }
      </Loaded>
    </Card>
  );
}

type PointsProps<Point> = Pick<HistoryCardProps<Point>, "figures"> & {
  readonly points: readonly Point[];
  readonly valueText: HistoryCardProps<Point>["valueText"] | undefined;
};

function PointChart<Point extends AnyPoint>({
  title,
  figures,
  points,
  valueText,
  isTime,
}: PointsProps<Point> & { readonly title: string; readonly isTime: boolean }): ReactElement {
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  const lines = useMemo<Line[]>(
    () => figures.filter(({ isExtra }) => isExtra !== true).map(({ of, ...line }) => ({ ...line, values: points.map(of) })),
    [points, figures],
  );
  return (
    <div className="px-3 pt-2 pb-3">
      <Suspense fallback={<Skeleton lines={7} />}>
        <LineChart label={title} times={times} lines={lines} timeText={localTime} valueText={valueText} isTime={isTime} />
      </Suspense>
      <p className="text-xs text-muted-foreground">The latest point is still being counted.</p>
    </div>
  );
}

function PointTable<Point extends AnyPoint>({
  caption,
  figures,
  points,
  valueText,
}: PointsProps<Point> & { readonly caption: string }): ReactElement {
  return (
    <div className="max-h-72 overflow-y-auto">
      <Table caption={caption}>
        <thead className="sticky top-0 bg-card">
          <tr>
            <Th>From</Th>
            {figures.map(({ name }) => (
              <Th key={name} end>
                {name.charAt(0).toUpperCase() + name.slice(1)}
              </Th>
            ))}
          </tr>
        </thead>
        <tbody>
          {points.toReversed().map((point) => (
            <tr key={point.at} className={ROW}>
              <Td>{localTime(point.at)}</Td>
              {figures.map(({ name, of }) => {
                const value = of(point);
                return (
                  <Td key={name} end>
                    {value === null ? NOTHING : (valueText ?? count)(value)}
                  </Td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </Table>
    </div>
  );
}
