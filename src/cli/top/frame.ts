/** A snapshot of `top` as lines that fit the terminal. */
import { queueColumns, type QueueRow } from "../commands/stats.ts";
import { workerColumns } from "../commands/workers.ts";
import { count, counted } from "../../core/counted.ts";
import { age, percentiles, rate } from "../figures.ts";
import { safeLine } from "../../core/safe-line.ts";
import { type Column, layOut, type Layout } from "../table.ts";
import { cutToWidth, padToWidth, textWidth } from "../text-width.ts";
import type { SeenError, Snapshot } from "./snapshot.ts";

/** Where it is shown. */
export interface FramePlace extends Layout {
  /** Lines of the terminal. */
  readonly height: number;
  readonly unicode: boolean;
  /** The store and the setting that named it. */
  readonly store: string;
  /** Printed at the right end of the first line. */
  readonly note: string;
}

const SPARKS = "▁▂▃▄▅▆▇█";
const ASCII_SPARKS = "_.-=+*#@";
const SPARK_WIDTH = 40;
/** Lines other than tables: the head, and an empty line before each table. */
const FIXED_LINES = 8;

const STATUSES = ["pending", "running", "scheduled", "retrying", "blocked", "completed", "dead"] as const;

/** The lines of one frame, none wider than the terminal. */
export function frameOf(snapshot: Snapshot, place: FramePlace): string[] {
  const { stats, workers, errors, at } = snapshot;
  const queues = Object.entries(stats.queues).sort(([a, left], [b, right]) => busyness(right) - busyness(left) || (a < b ? -1 : 1));
  const room = shareRoom(place.height - FIXED_LINES, [queues.length, workers.length, errors.length]);
  return [
    ...headLines(snapshot, place),
    "",
    ...someRows(queueColumns(STATUSES), queues, room[0]!, "queues", place),
    "",
    ...someRows(workerColumns(at), workers, room[1]!, "workers", place),
    "",
    ...someRows(errorColumns(at), errors, room[2]!, "errors", place),
  ];
}

function headLines({ at, stats, workers, rates }: Snapshot, place: FramePlace): string[] {
  const slots = workers.reduce((sum, worker) => sum + worker.slots, 0);
  const busy = workers.reduce((sum, worker) => sum + worker.runningCount, 0);
  const totals = [
    `done ${count(stats.totalProcessed)}`,
    `failed ${count(stats.totalFailed)}`,
    `retried ${count(stats.totalRetried)}`,
    `dead ${count(stats.deadCount)}`,
    `workers ${count(workers.length)}`,
    `busy ${count(busy)} of ${counted(slots, "slot")}`,
  ];
  const clock = new Date(at).toISOString().slice(11, 19);
  return [
    ends(place.paint("millrace top", "bold"), "millrace top", safeLine(`${place.store}  ${clock}  ${place.note}`.trimEnd()), place),
    fitted(totals.join("   "), place),
    fitted(`rate ${padToWidth(rate(rates.at(-1) ?? 0), 9)} ${sparkline(rates, place.unicode)}`, place),
    fitted(`ran ${percentiles(stats.latency)}   waited ${percentiles(stats.wait)}`, place),
  ];
}

/** The left end and the right end of a line. */
function ends(left: string, plainLeft: string, right: string, { width, mark }: FramePlace): string {
  if (width === Infinity) return `${left}  ${right}`;
  const room = width - textWidth(plainLeft) - 2;
  return room < 1 ? left : `${left}  ${padToWidth(cutToWidth(right, room, mark), room, "right")}`;
}

function fitted(line: string, { width, mark }: FramePlace): string {
  return cutToWidth(line.trimEnd(), width, mark);
}

/** The values as small bars, relative to the highest. */
export function sparkline(values: readonly number[], unicode: boolean): string {
  const shown = values.slice(-SPARK_WIDTH);
  const bars = unicode ? SPARKS : ASCII_SPARKS;
  const highest = Math.max(...shown, Number.MIN_VALUE);
  return shown.map((value) => bars[Math.min(bars.length - 1, Math.floor((value / highest) * bars.length))]).join("");
}

function busyness({ counts }: QueueRow[1]): number {
  return counts.pending + counts.retrying + counts.scheduled + counts.running + counts.dead;
}

/** A table of as many rows as fit; its last line counts the others. */
function someRows<Row>(columns: readonly Column<Row>[], rows: readonly Row[], room: number, what: string, place: FramePlace): string[] {
  if (rows.length === 0) return [`no ${what}`];
  const shown = rows.length <= room ? rows : rows.slice(0, Math.max(0, room - 1));
  const rest = rows.length - shown.length;
  return [...layOut(columns, shown, place), ...(rest === 0 ? [] : [`and ${count(rest)} more`])];
}

/** Each table gets what it needs, up to an equal share; unused lines go to the tables after it. */
function shareRoom(lines: number, needed: readonly number[]): number[] {
  let left = Math.max(0, lines - needed.length);
  return needed.map((need, index) => {
    const later = needed.slice(index + 1);
    const share = Math.max(Math.floor(left / (later.length + 1)), left - later.reduce((sum, each) => sum + each, 0), 1);
    const taken = Math.min(need, share);
    left -= taken;
    return taken;
  });
}

function errorColumns(now: number): readonly Column<SeenError>[] {
  return [
    { title: "SEEN", text: ({ count: times }) => `${count(times)}x`, align: "right" },
    { title: "LAST", text: ({ lastAt }) => age(lastAt, now), align: "right" },
    { title: "TYPE", text: ({ type }) => type, shrinks: "middle" },
    { title: "ERROR", text: ({ message }) => message, style: () => "red", shrinks: "end" },
  ];
}
