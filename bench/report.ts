/** One measured line. `ratio` compares it with the bare statements (or a peer) of the same run. */
export interface Figure {
  readonly engine: string;
  readonly what: string;
  readonly value: number;
  readonly unit: "jobs/s" | "ms" | "bytes" | "%";
  readonly beside?: { readonly what: string; readonly value: number };
  /** What the product asks of the ratio to `beside`, and whether it is met. */
  readonly atLeast?: number;
}

export function printTable(figures: readonly Figure[]): void {
  const rows = figures.map((figure) => [
    figure.engine,
    figure.what,
    `${format(figure.value)} ${figure.unit}`,
    figure.beside === undefined ? "" : `${figure.beside.what} ${format(figure.beside.value)}`,
    ratioText(figure),
  ]);
  const header = ["engine", "what", "ours", "beside it, same run", "ratio (asked)"];
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string => cells.map((cell, column) => cell.padEnd(widths[column]!)).join("  ");
  console.log([line(header), widths.map((width) => "─".repeat(width)).join("  "), ...rows.map(line)].join("\n"));
}

export function ratioOf(figure: Figure): number | null {
  return figure.beside === undefined || figure.beside.value === 0 ? null : figure.value / figure.beside.value;
}

function ratioText(figure: Figure): string {
  const ratio = ratioOf(figure);
  if (ratio === null) return "";
  const asked = figure.atLeast === undefined ? "" : ` (${figure.atLeast}${ratio >= figure.atLeast ? "" : ", missed"})`;
  return `${ratio.toFixed(2)}${asked}`;
}

function format(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}
