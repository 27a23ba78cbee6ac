/** The steps of a job for people. */
import type { JobStep } from "../client/client.ts";
import { jsonOf, valueOf } from "../core/json-text.ts";
import { distance, NOTHING } from "./figures.ts";
import type { Column, Style } from "./table.ts";
import { cutToWidth } from "./text-width.ts";

/** How much of a value is shown where the output is no terminal; `--json` prints all of it. */
const MAX_VALUE_WIDTH = 200;

const STYLES: Readonly<Record<JobStep["state"], Style>> = { open: "blue", done: "green", failed: "red", timeout: "yellow" };

/** `mark` is the end of a text that was cut. */
export function stepColumns(now: number, mark: string): readonly Column<JobStep>[] {
  return [
    { title: "NAME", text: ({ name }) => name, shrinks: "middle", atLeast: 12 },
    { title: "KIND", text: ({ kind }) => kind, leaveOut: 1 },
    { title: "STATE", text: ({ state }) => state, style: ({ state }) => STYLES[state] },
    { title: "WHEN", text: (step) => whenOf(step, now), align: "right" },
    { title: "VALUE", text: (step) => cutToWidth(describe(step), MAX_VALUE_WIDTH, mark), shrinks: "end", atLeast: 20 },
  ];
}

/** When it ended; of an open one, when it ends by itself, or since when it waits. */
function whenOf({ endedAt, until, startedAt }: JobStep, now: number): string {
  return distance(endedAt ?? until ?? startedAt, now);
}

/** Its value, or what it waits for. */
function describe(step: JobStep): string {
  const { kind, state, error, call, refused } = step;
  if (state === "open") return `${waitsFor(step)}${refused.length === 0 ? "" : `; refused: ${refused.at(-1)!.error}`}`;
  if (state === "timeout") return "no signal came in time";
  if (state === "failed") return `${call?.type ?? "the called job"} is ${error?.status}: ${error?.name}: ${error?.message}`;
  return kind === "sleep" ? NOTHING : jsonOf(valueOf(step));
}

/** What an open step waits for. */
export function waitsFor({ name, kind, until, call }: JobStep): string {
  const end = until === null ? "" : ` until ${new Date(until).toISOString()}`;
  if (kind === "sleep") return `sleeps${end}`;
  if (kind === "call") return call === null ? "waits for a job" : `waits for ${call.type} ${call.id}`;
  return `waits for the signal ${name}${end}`;
}
