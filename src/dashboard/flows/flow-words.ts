/** A FLOW IN WORDS: what it is called, and how far it is. Pure. */
import { count, counted } from "../../core/counted.ts";
import { shortId } from "../format.ts";
import { visible } from "../safe-text.ts";
import type { Flow } from "../shapes.ts";

/** Its key, or the end of its id: "flow import-42", "flow …93a1c07e". */
export function nameOf({ id, key }: Pick<Flow, "id" | "key">): string {
  return `flow ${key === null ? `…${shortId(id)}` : visible(key)}`;
}

/** "12 of 40 completed, 2 failed, 1 cancelled". */
export function progressWords({ members, completed, failed, cancelled }: Flow): string {
  const others = [failed > 0 ? `${count(failed)} failed` : "", cancelled > 0 ? `${count(cancelled)} cancelled` : ""];
  return [`${count(completed)} of ${counted(members, "member")} completed`, ...others.filter((words) => words !== "")].join(", ");
}
