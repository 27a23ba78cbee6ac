/** LINES OVER TIME, drawn by uPlot. The arrow keys move from point to point, like on a slider. */
import "uplot/dist/uPlot.min.css";
import { type KeyboardEvent, type ReactElement, useEffect, useRef, useState } from "react";
import UPlot from "uplot";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../core/time-units.ts";
import { count, NOTHING } from "../format.ts";

export interface Line {
  readonly name: string;
  /** The name of a colour of the theme, such as `--primary`. */
  readonly colour: string;
  /** Null where nothing was measured. */
  readonly values: readonly (number | null)[];
  readonly filled?: boolean;
}

interface LineChartProps {
  readonly label: string;
  /** Milliseconds since the epoch, rising. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly timeText: (at: number) => string;
  /** Default: whole numbers. */
  readonly valueText?: ((value: number) => string) | undefined;
  /** Values are milliseconds: the axis has steps of whole seconds, minutes, hours. */
  readonly isTime?: boolean;
}

const HEIGHT = 232;

/** Redrawn when the theme changes; otherwise only its data changes. */
export default function LineChart({ label, times, lines, timeText, valueText, isTime = false }: LineChartProps): ReactElement {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const [theme, setTheme] = useState(0);
  const looks = JSON.stringify(lines.map(({ name, colour, filled }) => [name, colour, filled]));

  useEffect(() => {
    const redraw = (): void => setTheme((count) => count + 1);
    addEventListener("millrace:theme", redraw);
    return () => removeEventListener("millrace:theme", redraw);
  }, []);

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const drawn = new UPlot(optionsOf(element, lines, setAt, valueText ?? wholeNumber, isTime), dataOf(times, lines), element);
    chart.current = drawn;
    const watcher = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      drawn.destroy();
    };
    // Draws the current data; the effect below sets later data.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [looks, theme]);

  useEffect(() => chart.current?.setData(dataOf(times, lines)), [times, lines]);

  const move = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const drawn = chart.current;
    if (step === undefined || drawn === null) return;
    event.preventDefault();
    const next = Math.min(times.length - 1, Math.max(0, (at ?? times.length) + step));
    drawn.setCursor({ left: drawn.valToPos((times[next] ?? 0) / 1000, "x"), top: 0 });
  };

  const shown = at === null ? null : (times[at] ?? null);
  const shownValue = (value: number | null | undefined): string => (typeof value !== "number" ? NOTHING : (valueText ?? count)(value));
  const textAt = (index: number): string =>
    `${timeText(times[index] ?? 0)}: ${lines.map(({ name, values }) => `${shownValue(values[index])} ${name}`).join(", ")}`;
  return (
    <div>
      <div
        ref={place}
        role="slider"
        aria-label={`${label}, point by point`}
        aria-valuemin={0}
        aria-valuemax={times.length - 1}
        aria-valuenow={at ?? times.length - 1}
        aria-valuetext={textAt(at ?? times.length - 1)}
        tabIndex={0}
        onKeyDown={move}
        className="h-[232px] w-full"
      />
      <p aria-hidden className="mt-1 flex min-h-5 flex-wrap gap-x-4 text-xs text-muted-foreground">
        {lines.map(({ name, colour, values }) => (
          <span key={name} className="inline-flex items-center gap-1.5">
            <span aria-hidden className="size-2 rounded-full" style={{ background: `var(${colour})` }} />
            {name}
            {at !== null && <span className="font-medium text-foreground">{shownValue(values[at])}</span>}
          </span>
        ))}
        {shown !== null && <span className="ml-auto font-medium text-foreground">{timeText(shown)}</span>}
      </p>
    </div>
  );
}

function dataOf(times: readonly number[], lines: readonly Line[]): UPlot.AlignedData {
  return [times.map((time) => time / 1000), ...lines.map(({ values }) => [...values])];
}

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  onMove: (at: number | null) => void,
  valueText: (value: number) => string,
  isTime: boolean,
): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--muted-foreground"),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: colour("--border"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, max) => [0, Math.max(4, max * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: CLOCK_TIMES },
      {
        ...axis,
        // As wide as its texts: a number that is cut is another number.
        size: (_, texts) => 18 + 6.5 * Math.max(0, ...(texts ?? []).map((text) => text.length)),
        gap: 6,
        values: (_, splits) => splits.map(valueText),
        ...(isTime ? { incrs: TIME_STEPS } : {}),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, colour: token, filled = false }) => ({
        label: name,
        stroke: colour(token),
        width: 1.75,
        points: { show: false, filter: lonePoints, size: 5, fill: colour(token) },
        ...(filled ? { fill: `${colour(token)}1f` } : {}),
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onMove(cursor.idx ?? null)] },
  };
}

const SECOND_MS = 1000;
/** From a tenth of a millisecond to 50 days. */
const TIME_STEPS: number[] = [
  ...[0.1, 1, 10, 100].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 5, 10, 20, 50].map((days) => days * DAY_MS),
];

/** Points without a neighbour: no line shows them. */
function lonePoints({ data }: UPlot, series: number): number[] {
  const values = data[series] ?? [];
  const isThere = (index: number): boolean => typeof values[index] === "number";
  return Array.from(values, (_, index) => index).filter((index) => isThere(index) && !isThere(index - 1) && !isThere(index + 1));
}

const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const two = (value: number): string => String(value).padStart(2, "0");

/** Local times; at midnight, the day as the reader's language writes it. */
const CLOCK_TIMES: NonNullable<UPlot.Axis["values"]> = (_, splits) =>
  splits.map((seconds) => {
    const date = new Date(seconds * 1000);
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
    return isMidnight ? day.format(date) : `${two(date.getHours())}:${two(date.getMinutes())}`;
  });

/** The axis has no names for parts of a job. */
function wholeNumber(value: number): string {
  if (!Number.isInteger(value)) return "";
  return value < 10_000 ? value.toLocaleString("en-US") : new Intl.NumberFormat("en-US", { notation: "compact" }).format(value);
}
