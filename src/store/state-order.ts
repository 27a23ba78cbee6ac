/** Places in the order of a state (see core/list-order.ts), and the cursors that carry them. */
import { MillraceError } from "../core/errors.ts";
import { type StateOrder, stateOrderOf } from "../core/list-order.ts";
import { statusesOf } from "../core/filter.ts";
import type { ListQuery } from "./store.ts";

/** `at` is the end, the rank, or the due time of a job, by the order. */
export interface Place {
  readonly at: number;
  readonly seq: number;
}

/** The order that a query asks for; null for newest created first. */
export function orderOf(query: Pick<ListQuery, "sort" | "status" | "endedFrom" | "endedTo">): StateOrder | null {
  return query.sort === "state" ? stateOrderOf(statusesOf(query)) : null;
}

/** Whether the first of two places comes before the second. Ended jobs and newest created ones come latest first. */
export function comesBefore(order: StateOrder | null, a: Place, b: Place): boolean {
  const isEarlier = a.at < b.at || (a.at === b.at && a.seq < b.seq);
  if (order === "pending" || order === "due") return isEarlier;
  return !isEarlier && (a.at !== b.at || a.seq !== b.seq);
}

const LETTER: Readonly<Record<StateOrder, string>> = { ended: "E", pending: "P", due: "D" };

/** A cursor has the letter of its engine and of its order. Cursors of newest created first have small letters only. */
export function encodePlace(engine: string, order: StateOrder, { at, seq }: Place): string {
  return `${engine}${LETTER[order]}${at.toString(36)}.${seq.toString(36)}`;
}

/** Throws `invalid_cursor`, also for a cursor of another order. */
export function decodePlace(engine: string, order: StateOrder, cursor: string): Place {
  const [, start, at = "", seq = ""] = /^([a-z][A-Z])(-?[0-9a-z]{1,11})\.(-?[0-9a-z]{1,11})$/.exec(cursor) ?? [];
  const place = { at: Number.parseInt(at, 36), seq: Number.parseInt(seq, 36) };
  const isSound = start === engine + LETTER[order] && Number.isSafeInteger(place.at) && Number.isSafeInteger(place.seq);
  if (!isSound || encodePlace(engine, order, place) !== cursor) throw invalidCursor();
  return place;
}

export function invalidCursor(): MillraceError {
  return new MillraceError("invalid_cursor", "cursor must be one that this list returned", { field: "cursor" });
}
