/** The indexes of the states, read in order. A line is a part of an index that is sorted by itself; lines are merged while they are read. */
import { leavesOut, statusesOf } from "../../core/filter.ts";
import type { StateOrder } from "../../core/list-order.ts";
import { STATE } from "../numbers.ts";
import { comesBefore, type Place } from "../state-order.ts";
import type { ListQuery } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { leftOutBy } from "./conditions.ts";
import type { Connection } from "./connection.ts";
import { nextDue, nextEnded, nextInLane } from "./list-statements.ts";
import { TALLY_OF_STATE } from "./statements.ts";

/** A place in an index. Scheduled and retrying jobs of all queues share one: `isOther`: its job has the other status, or is left out. */
export interface IndexPlace extends Place {
  readonly isOther: boolean;
}

interface Line {
  readonly text: (limit: number) => string;
  readonly values: readonly number[];
  places: IndexPlace[];
  /** How many of these were given. */
  given: number;
  isRead: boolean;
}

/** The places of all jobs in the wanted statuses, in order, from after a place on. */
export function* placesInOrder(
  on: Connection,
  catalog: Catalog,
  query: ListQuery,
  order: StateOrder,
  after: Place | null,
): Generator<IndexPlace> {
  let lines = linesOf(on, catalog, query, order);
  const states = statusesOf(query)!.map((status): number => STATE[status]);
  const leftOut = new Set<number | undefined>(leftOutBy(catalog, query));
  // Few sizes, because each is a statement of its own.
  const atOnce = lines.length > 30 ? 16 : lines.length > 3 ? 64 : 256;
  const start = startOf(query, order, after);
  const end = order === "ended" ? (query.endedFrom ?? null) : null;
  const headOf = (line: Line): IndexPlace | undefined => {
    if (line.given === line.places.length && !line.isRead) {
      const { at, seq } = line.places.at(-1) ?? start;
      const rows = on.all(line.text(atOnce), ...line.values, at, seq, end) as [number, number, number, number?][];
      line.places = rows.map(([at, seq, state, queue]) => ({ at, seq, isOther: !states.includes(state) || leftOut.has(queue) }));
      line.given = 0;
      line.isRead = rows.length < atOnce;
    }
    return line.places[line.given];
  };
  while (lines.length > 0) {
    let first: Line | null = null;
    for (const line of lines) {
      const head = headOf(line);
      if (head !== undefined && (first === null || comesBefore(order, head, headOf(first)!))) first = line;
    }
    if (first === null) return;
    yield first.places[first.given++]!;
    if (headOf(first) === undefined) lines = lines.filter((line) => line !== first);
  }
}

function linesOf(on: Connection, catalog: Catalog, query: ListQuery, order: StateOrder): Line[] {
  const line = (text: Line["text"], ...values: number[]): Line => ({ text, values, places: [], given: 0, isRead: false });
  const queues = catalog.allQueues().filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  if (order === "pending") {
    const types = query.type === undefined ? "*" : [query.type];
    return queues.flatMap(({ id }) => catalog.lanes(id, types)).map((lane) => line(nextInLane, lane));
  }
  const states = new Set(statusesOf(query)!.map((status) => STATE[status]));
  const places = queues.flatMap(({ id }) => [...states].map((state) => [id, state] as const));
  const filled = places.filter(([queue, state]) => on.number(TALLY_OF_STATE, queue, state)! > 0);
  if (order === "ended") return filled.map((place) => line(nextEnded, ...place));
  // Without a job of a wanted status, the others of the index are not read in vain.
  return filled.length === 0 ? [] : [line(nextDue)];
}

/** Where the list begins: after the given place, and at the end of the wanted time. */
function startOf({ endedTo = Infinity }: ListQuery, order: StateOrder, after: Place | null): Place {
  if (order !== "ended") return after ?? { at: -Number.MAX_SAFE_INTEGER, seq: 0 };
  const end = { at: Math.min(endedTo, Number.MAX_SAFE_INTEGER), seq: 0 };
  return after === null || comesBefore(order, after, end) ? end : after;
}
