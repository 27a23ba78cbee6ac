/** Tables, no wider than the terminal. */
import type { styleText } from "node:util";
import { safeLine } from "../core/safe-line.ts";
import { cutInMiddle, cutToWidth, padToWidth, textWidth, wrapToWidth } from "./text-width.ts";

/** A colour or a weight, by the names of `util.styleText`. */
export type Style = Extract<Parameters<typeof styleText>[0], string>;

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly text: (row: Row) => string;
  readonly align?: "left" | "right";
  readonly style?: (row: Row) => Style | undefined;
  /** Shrinks if the terminal is too narrow, and is cut there: a sentence at its end, a name in its middle, because names differ at both ends. */
  readonly shrinks?: "end" | "middle";
  /** How far it shrinks. Default 6. */
  readonly atLeast?: number;
  /** Left out if the terminal is too narrow; the highest number first. Without a number, it is left out last. */
  readonly leaveOut?: number;
  /** The last column may continue on the next lines instead of being cut. */
  readonly wraps?: boolean;
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

/** A column, the texts of its rows, and the columns of the terminal that it takes. */
interface Sized<Row> {
  readonly column: Column<Row>;
  readonly texts: readonly string[];
  readonly width: number;
}

/** The lines of a table. Colours come last: they have no width. */
export function layOut<Row>(columns: readonly Column<Row>[], rows: readonly Row[], { width, mark, paint }: Layout): string[] {
  const shown = fit(
    columns.map((column) => sized(column, rows)),
    width,
  );
  const cell = (index: number, text: string): string => {
    const { column, width: room } = shown[index]!;
    const cut = column.shrinks === "middle" ? cutInMiddle : cutToWidth;
    return padToWidth(cut(text, room, mark), room, column.align);
  };
  // No spaces at the end of a line, so that it can be copied.
  const line = (cells: readonly string[], styleOf: (index: number) => Style | undefined): string =>
    cells.map((text, index) => paint(index === shown.length - 1 ? text.trimEnd() : text, styleOf(index))).join(GAP);
  const head = line(
    shown.map(({ column }, index) => cell(index, column.title)),
    () => "bold",
  );
  const body = rows.flatMap((row, at) => {
    const last = shown.length - 1;
    const [first, ...more] = wrapped(shown[last], at);
    const texts = shown.map(({ texts }, index) => (index === last ? (first ?? texts[at]!) : texts[at]!));
    const below = " ".repeat(shown.slice(0, -1).reduce((sum, each) => sum + each.width + GAP.length, 0));
    return [
      line(
        texts.map((text, index) => cell(index, text)),
        (index) => shown[index]!.column.style?.(row),
      ),
      ...more.map((text) => below + text),
    ];
  });
  return [head, ...body];
}

function sized<Row>(column: Column<Row>, rows: readonly Row[]): Sized<Row> {
  const texts = rows.map((row) => safeLine(column.text(row)));
  // Not by the arguments of one call: a list may have more rows than a call can take.
  return { column, texts, width: texts.reduce((widest, text) => Math.max(widest, textWidth(text)), textWidth(column.title)) };
}

function wrapped<Row>(last: Sized<Row> | undefined, at: number): string[] {
  return last?.column.wraps ? wrapToWidth(last.texts[at]!, last.width) : [];
}

/**
 * What fits: leaves out columns that may be left out, then shrinks the widest column that may shrink, one step at a time, and leaves out
 * columns from the right if that is not enough.
 */
function fit<Row>(all: readonly Sized<Row>[], width: number): Sized<Row>[] {
  let shown = [...all];
  const excessOf = (widthOf: (each: Sized<Row>) => number): number =>
    shown.reduce((sum, each) => sum + widthOf(each), 0) + GAP.length * (shown.length - 1) - width;
  while (excessOf(narrowest) > 0) {
    const least = shown.reduce<Sized<Row> | null>((best, each) => (rankOf(each) > (best === null ? 0 : rankOf(best)) ? each : best), null);
    if (least === null) break;
    shown = shown.filter((each) => each !== least);
  }
  while (excessOf(narrowest) > 0 && shown.length > 1) shown.pop();
  for (let excess = excessOf(({ width: own }) => own); excess > 0; excess--) {
    const widest = shown.filter((each) => each.width > narrowest(each)).sort((a, b) => b.width - a.width)[0];
    if (widest === undefined) break;
    shown = shown.map((each) => (each === widest ? { ...each, width: each.width - 1 } : each));
  }
  return shown;
}

function rankOf<Row>({ column }: Sized<Row>): number {
  return column.leaveOut ?? 0;
}

/** The narrowest form of a column. */
function narrowest<Row>({ column, width }: Sized<Row>): number {
  return column.shrinks === undefined && !column.wraps ? width : Math.min(width, Math.max(column.atLeast ?? NARROWEST, 0));
}
