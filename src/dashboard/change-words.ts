import type { ManualAction, ManualChange } from "../core/manual-change.ts";
import { visible } from "./safe-text.ts";

const WORDS: Readonly<Record<ManualAction, string>> = {
  retried: "Retried",
  edited: "Edited and retried",
  started: "Started now",
  cancelled: "Cancelled",
};

/** What was done by hand, and by whom: "Retried by ann". */
export function changeWords({ action, by }: ManualChange): string {
  return `${WORDS[action]} ${by === null ? "by hand" : `by ${visible(by)}`}`;
}
