/** How engines store a change by hand: as one JSON text, which no character of a reason can break. */
import type { Manual, ManualChange } from "../core/manual-change.ts";
import { statusOf } from "./numbers.ts";

/** The caller's part of the text, without the brace before it: `changeText` puts the store's part there. */
export function encodeManual({ action, by, reason }: Manual): string {
  return JSON.stringify({ action, by, reason }).slice(1);
}

/** SQL or Lua: joins the text of a change. The names are those of values there; the last has the caller's part. */
export function changeText(join: "||" | "..", at: string, state: string, attempt: string, manual: string): string {
  return [`'{"at":'`, at, `',"state":'`, state, `',"attempt":'`, attempt, `','`, manual].join(` ${join} `);
}

export function readManualChange(text: string): ManualChange {
  const { state, ...change } = JSON.parse(text) as Omit<ManualChange, "from"> & { readonly state: number };
  return { ...change, from: statusOf(state) };
}
