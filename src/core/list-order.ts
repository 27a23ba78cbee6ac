/**
 * THE ORDER OF A LIST. `created`: newest created first. `state`: the order of the index that the wanted statuses share, so that a page is
 * full at once, unless that index has many jobs of another status. Statuses that share none are listed as `created`.
 */
import { invalid } from "./errors.ts";
import { isTerminal, type Status } from "./job.ts";

export const SORTS = ["created", "state"] as const;
/** How a list is sorted. */
export type Sort = (typeof SORTS)[number];

/** `ended`: latest end first; `pending`: next in line first; `due`: soonest due first. */
export type StateOrder = "ended" | "pending" | "due";

/** The order of the index that all these statuses share; null if there is none. */
export function stateOrderOf(statuses: readonly Status[] | undefined): StateOrder | null {
  if (statuses === undefined || statuses.length === 0) return null;
  if (statuses.every(isTerminal)) return "ended";
  if (statuses.every((status) => status === "pending")) return "pending";
  return statuses.every(waitsForTime) ? "due" : null;
}

/** Whether a job in this status waits for its time. */
function waitsForTime(status: Status): boolean {
  return status === "scheduled" || status === "retrying";
}

/** Reads a sort; undefined if it is absent. Throws `invalid_input`. */
export function readSort(input: unknown): Sort | undefined {
  if (input === undefined || input === null) return undefined;
  if ((SORTS as readonly unknown[]).includes(input)) return input as Sort;
  throw invalid("sort", `one of ${SORTS.join(", ")}`, input);
}
