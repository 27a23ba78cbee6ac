/** THE TABLE IN THE TERMINAL: every figure beside everybody, best and median of the rounds. */
import { type Figure, type Measured, ratioTo, type Result, roughly } from "./figure.ts";
import { barOf, barText, isReached } from "./required.ts";

const COLUMNS = ["ours (median)", "beside", "(median)", "ratio (median)", "required"];

/** A table for each scenario of each engine. */
export function reportOf(figures: readonly Figure[]): string {
  const tables = Map.groupBy(figures, ({ engine, scenario }) => `${engine}: ${scenario}`);
  return [...tables].map(([title, figures]) => tableOf(title, figures.flatMap(rowsOf))).join("\n\n");
}

function tableOf(title: string, rows: readonly string[][]): string {
  const header = [title, ...COLUMNS];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  return [line(header), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

/** A line for our own figure with its bar, and one for each beside it; the first of those shares the line if we have no bar of our own. */
function rowsOf(figure: Figure): string[][] {
  const { what, of, unit, ours, others } = figure;
  const own = [of === null ? what : `${what}, ${of}`, `${bothOf(ours)} ${unit}`];
  const bar = barOf(figure, null);
  const alone = bar === null ? [] : [["", "", "", withVerdict(barText(bar), isReached(bar, ours.best))]];
  const lines = [...alone, ...others.map((other) => besideCells(figure, other))];
  const [first = ["", "", "", ""], ...rest] = lines;
  return [[...own, ...first], ...rest.map((cells) => ["", "", ...cells])];
}

function besideCells(figure: Figure, other: Result): string[] {
  const bar = barOf(figure, other);
  if ("failure" in other) return [other.name, other.failure, "", bar === null ? "" : `${barText(bar)}: unknown`];
  const ratios = [ratioTo(figure.ours, other, "best"), ratioTo(figure.ours, other, "median")];
  const [best, median] = ratios.map((ratio) => (ratio === null ? "" : ratio.toFixed(2)));
  const required = bar === null ? "" : withVerdict(barText(bar), isReached(bar, figure.ours.best, other.best));
  return [other.name, bothOf(other), `${best} (${median})`, required];
}

function withVerdict(text: string, reached: boolean): string {
  return reached ? text : `${text}: missed`;
}

function bothOf({ best, median }: Measured): string {
  return `${roughly(best)} (${roughly(median)})`;
}
