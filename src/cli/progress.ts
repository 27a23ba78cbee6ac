/** A progress bar on stderr, only on a terminal. */
import { setTimeout } from "node:timers/promises";
import { count } from "../core/counted.ts";
import type { Output } from "./output.ts";
import type { Screen } from "./terminal.ts";

const BAR_WIDTH = 30;
const EVERY_MS = 200;
const CLEAR_LINE = "\r\u001b[K";

/** Progress; `total` is null if it is unknown. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
}

/** Shows the progress of the work until it ends. If reading the progress fails, nothing is shown: the work itself will report the error. */
export async function withProgress<Answer>(
  { output, screen, what }: { readonly output: Output; readonly screen: Screen; readonly what: string },
  work: Promise<Answer>,
  readProgress: () => Promise<Progress>,
): Promise<Answer> {
  if (!output.showsProgress()) return work;
  const ended = Promise.allSettled([work]).then(() => "ended");
  for (;;) {
    const progress = await Promise.race([ended, readProgress().catch(() => null)]);
    if (progress === "ended") break;
    if (typeof progress === "object" && progress !== null) screen.write(`${CLEAR_LINE}${progressLine(what, progress, output.unicode)}`);
    await Promise.race([ended, setTimeout(EVERY_MS, undefined, { ref: false })]);
  }
  screen.write(CLEAR_LINE);
  return work;
}

/** `retrying ██████░░░░ 60 % 1,200 of 2,000` */
export function progressLine(what: string, { done, total }: Progress, unicode: boolean): string {
  if (total === null || total === 0) return done === 0 ? what : `${what} ${count(done)}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * BAR_WIDTH);
  const [full, empty] = unicode ? ["█", "░"] : ["#", "."];
  return `${what} ${full.repeat(filled)}${empty.repeat(BAR_WIDTH - filled)} ${Math.floor(share * 100)} % ${count(done)} of ${count(total)}`;
}
