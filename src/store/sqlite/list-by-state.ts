/** The indexes of the states, read in order. */
import { leavesOut, statusesOf } from "../../core/filter.ts";
import type { StateOrder } from "../../core/list-order.ts";
import { STATE } from "../numbers.ts";
import { comesBefore, type Place } from "../state-order.ts";
import type { ListQuery } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { leftOutBy } from "./conditions.ts";
import type { Connection } from "./connection.ts";
import { nextDue, nextEnded, nextInLane } from "./list-statements.ts";
import { type Line, mergedLines } from "./merged-lines.ts";
import { TALLY_OF_STATE } from "./statements.ts";

/** A place in an index. Scheduled and retrying jobs of all queues share one: `isOther`: its job has the other status, or is left out. */
export interface IndexPlace extends Place {
  readonly isOther: boolean;
}

/** The places of all jobs in the wanted statuses, in order, from after a place on. */
export function placesInOrder(
  on: Connection,
  catalog: Catalog,
  query: ListQuery,
  order: StateOrder,
  after: Place | null,
): Generator<IndexPlace> {
  const states = statusesOf(query)!.map((status): number => STATE[status]);
  const leftOut = new Set<number | undefined>(leftOutBy(catalog, query));
  const end = order === "ended" ? (query.endedFrom ?? null) : null;
  const line =
    (text: (limit: number) => string, ...values: number[]): Line<IndexPlace> =>
    ({ at, seq }, limit) => {
      const rows = on.all(text(limit), ...values, at, seq, end) as [number, number, number, number?][];
      return rows.map(([at, seq, state, queue]) => ({ at, seq, isOther: !states.includes(state) || leftOut.has(queue) }));
    };
  const places = placesOf(on, catalog, query, order).map(([text, ...values]) => line(text, ...values));
  return mergedLines(places, order, startOf(query, order, after));
}

type Statement = readonly [text: (limit: number) => string, ...values: number[]];

/** What reads each line. */
function placesOf(on: Connection, catalog: Catalog, query: ListQuery, order: StateOrder): Statement[] {
  const queues = catalog.allQueues().filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  if (order === "pending") {
    const types = query.type === undefined ? "*" : [query.type];
    return queues.flatMap(({ id }) => catalog.lanesOfAll(id, types)).map((lane) => [nextInLane, lane]);
  }
  const states = new Set(statusesOf(query)!.map((status) => STATE[status]));
  const places = queues.flatMap(({ id }) => [...states].map((state) => [id, state] as const));
  const filled = places.filter(([queue, state]) => on.number(TALLY_OF_STATE, queue, state)! > 0);
  if (order === "ended") return filled.map((place) => [nextEnded, ...place]);
  // Without a job of a wanted status, the others of the index are not read in vain.
  return filled.length === 0 ? [] : [[nextDue]];
}

/** Where the list begins: after the given place, and at the end of the wanted time. */
function startOf({ endedTo = Infinity }: ListQuery, order: StateOrder, after: Place | null): Place {
  if (order !== "ended") return after ?? { at: -Number.MAX_SAFE_INTEGER, seq: 0 };
  const end = { at: Math.min(endedTo, Number.MAX_SAFE_INTEGER), seq: 0 };
  return after === null || comesBefore(order, after, end) ? end : after;
}
