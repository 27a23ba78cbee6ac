/** For jobs/s more is better, for the others less. */
export type Unit = "jobs/s" | "ms" | "µs" | "bytes";

/** All rounds of one contender. */
export interface Measured {
  readonly best: number;
  readonly median: number;
  readonly rounds: readonly number[];
}

/** What ours is compared with, or why it cannot be. */
export type Beside = ({ readonly name: string } & Measured) | { readonly name: string; readonly failure: string };

/** One line of the report: ours and one other, from the same run. */
export interface Figure {
  readonly engine: string;
  readonly what: string;
  readonly unit: Unit;
  readonly ours: Measured;
  readonly beside?: Beside | undefined;
  /** The required ratio of the two. */
  readonly atLeast?: number | undefined;
  readonly atMost?: number | undefined;
}

/** The ratio of the best rounds. Null if there is nothing to compare with. */
function ratioOf({ ours, beside }: Figure): number | null {
  return beside === undefined || "failure" in beside || beside.best === 0 ? null : ours.best / beside.best;
}

function isMissed({ atLeast, atMost }: Figure, ratio: number): boolean {
  return (atLeast !== undefined && ratio < atLeast) || (atMost !== undefined && ratio > atMost);
}

/** For programs: every figure with its ratio, and whether it meets the required ratio (null: none is required, or it is unknown). */
export function figuresForJson(figures: readonly Figure[]): object[] {
  return figures.map((figure) => {
    const ratio = ratioOf(figure);
    const isAsked = figure.atLeast !== undefined || figure.atMost !== undefined;
    return { ...figure, ratio, met: isAsked && ratio !== null ? !isMissed(figure, ratio) : null };
  });
}

const HEADER = ["engine", "what", "ours", "compared with", "ratio (required)"];

/** For people. A cell that repeats the one above it is empty. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure, index) => {
    const above = figures[index - 1];
    const isEngine = above?.engine !== figure.engine;
    const isSubject = isEngine || above.what !== figure.what;
    return [
      isEngine ? figure.engine : "",
      isSubject ? figure.what : "",
      isSubject ? `${format(figure.ours.best)} ${figure.unit}` : "",
      besideText(figure),
      ratioText(figure),
    ];
  });
  const widths = HEADER.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return [line(HEADER), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

function besideText({ beside }: Figure): string {
  if (beside === undefined) return "";
  return "failure" in beside ? `${beside.name}: ${beside.failure}` : `${beside.name} ${format(beside.best)}`;
}

function ratioText(figure: Figure): string {
  const { atLeast, atMost } = figure;
  const asked = [atLeast === undefined ? [] : `at least ${atLeast}`, atMost === undefined ? [] : `at most ${atMost}`].flat().join(", ");
  const ratio = ratioOf(figure);
  if (ratio === null) return asked === "" ? "" : `unknown (${asked})`;
  const verdict = isMissed(figure, ratio) ? `${asked}, missed` : asked;
  return `${ratio.toFixed(2)}${verdict === "" ? "" : ` (${verdict})`}`;
}

function format(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
