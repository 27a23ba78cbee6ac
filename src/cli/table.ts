/** Tables, no wider than the terminal. */
import type { styleText } from "node:util";
import { safeLine } from "./safe-text.ts";
import { cutToWidth, padToWidth, textWidth } from "./text-width.ts";

/** A colour or a weight, by the names of `util.styleText`. */
export type Style = Extract<Parameters<typeof styleText>[0], string>;

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly align?: "left" | "right";
  readonly style?: (row: Row) => Style | undefined;
  /** Shrinks if the terminal is too narrow. */
  readonly shrinks?: boolean;
}

/** What a table must fit into. */
export interface Layout {
  readonly width: number;
  /** The end of a text that was cut. */
  readonly mark: string;
  readonly paint: (text: string, style?: Style) => string;
}

const GAP = "  ";
const NARROWEST = 6;

/** The lines of a table. If its narrowest form is too wide, columns are dropped from the right. Colours come last: they have no width. */
export function layOut<Row>(columns: readonly Column<Row>[], rows: readonly Row[], { width, mark, paint }: Layout): string[] {
  const texts = rows.map((row) => columns.map((column) => safeLine(column.text(row))));
  const needed = columns.map((column, index) => Math.max(textWidth(column.title), ...texts.map((line) => textWidth(line[index]!))));
  const widths = fit(columns, needed, width);
  const shown = columns.slice(0, widths.length);
  const cell = (index: number, text: string): string => {
    const cut = cutToWidth(text, widths[index]!, mark);
    return padToWidth(cut, widths[index]!, shown[index]!.align);
  };
  // No spaces at the end of a line, so that it can be copied.
  const line = (cells: readonly string[], styleOf: (index: number) => Style | undefined): string =>
    cells.map((text, index) => paint(index === shown.length - 1 ? text.trimEnd() : text, styleOf(index))).join(GAP);
  const head = line(
    shown.map(({ title }, index) => cell(index, title)),
    () => "bold",
  );
  const body = rows.map((row, at) =>
    line(
      shown.map((_, index) => cell(index, texts[at]![index]!)),
      (index) => shown[index]!.style?.(row),
    ),
  );
  return [head, ...body];
}

/** Shrinks the widest column that may shrink, one step at a time, until all fit; then drops columns from the right. */
function fit<Row>(columns: readonly Column<Row>[], needed: readonly number[], width: number): number[] {
  const widths = [...needed];
  let excess = widths.reduce((sum, each) => sum + each, 0) + GAP.length * (columns.length - 1) - width;
  while (excess > 0) {
    const widest = columns.reduce(
      (best, column, index) => (column.shrinks && widths[index]! > Math.max(NARROWEST, widths[best] ?? 0) ? index : best),
      -1,
    );
    if (widest === -1) break;
    widths[widest]!--;
    excess--;
  }
  while (excess > 0 && widths.length > 1) excess -= widths.pop()! + GAP.length;
  return widths;
}
