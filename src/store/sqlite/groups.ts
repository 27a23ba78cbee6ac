import { ErrorTally, type FoundGroup, named } from "../../core/error-tally.ts";
import type { JobError } from "../../core/job.ts";
import { leavesOut } from "../../core/filter.ts";
import { STATE } from "../numbers.ts";
import { type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { readError } from "../stored-error.ts";
import { hexToId, idToBlob } from "./codec.ts";
import type { Connection } from "./connection.ts";
import { COUNT_ENDED_WITHIN, COUNT_ERRORS, ERROR_OF, TALLY_OF_STATE } from "./statements.ts";
import type { View } from "./transaction.ts";

/** Groups dead letters by error. They are found by queue and end; if there are too many, only the latest of each queue. */
export function groupErrors({ on, catalog, now }: View, query: GroupQuery): { groups: FoundGroup[]; isCapped: boolean } {
  const places = placesOf(on, catalog, query);
  const isTooMuch = places.reduce((sum, { count }) => sum + count, 0) > MAX_CANDIDATES && countWithin(on, query, places) > MAX_CANDIDATES;
  const share = isTooMuch ? Math.floor(MAX_CANDIDATES / places.length) : MAX_CANDIDATES;
  const tally = new ErrorTally();
  for (const { queue, state } of places) countErrors(on, catalog, query, [queue, state, share], now, tally);
  const { groups, isMore } = tally.top(query.limit);
  const errorOf = (id: string): JobError | null => readError((on.get(ERROR_OF, idToBlob(id))?.[0] ?? null) as string | null);
  return { groups: named(groups, errorOf), isCapped: isTooMuch || isMore };
}

interface Place {
  readonly queue: number;
  readonly state: number;
  readonly count: number;
}

/** The queues and states that have such jobs, by the tallies: at most as many as jobs may be looked at. */
function placesOf(on: Connection, catalog: Catalog, query: GroupQuery): Place[] {
  const queues = catalog.allQueues().filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  return queues
    .flatMap(({ id }) => query.status.map((status) => ({ queue: id, state: STATE[status] })))
    .map((place) => ({ ...place, count: on.number(TALLY_OF_STATE, place.queue, place.state)! }))
    .filter(({ count }) => count > 0)
    .slice(0, MAX_CANDIDATES);
}

/** How many jobs ended in the wanted time, counted up to one more than may be looked at. */
function countWithin(on: Connection, { endedFrom, endedTo }: GroupQuery, places: readonly Place[]): number {
  const most = MAX_CANDIDATES + 1;
  const countOf = ({ queue, state }: Place, left: number): number =>
    on.number(COUNT_ENDED_WITHIN, queue, state, endedFrom ?? null, endedTo ?? null, left)!;
  return places.reduce((sum, place) => (sum < most ? sum + countOf(place, most - sum) : sum), 0);
}

type Row = [group: string, lane: number, hours: number, count: number, first: number, last: number, firstJob: string, sample: string];

function countErrors(on: Connection, catalog: Catalog, query: GroupQuery, place: readonly number[], now: number, tally: ErrorTally): void {
  const { min = null, max = null } = query.priority ?? {};
  const rows = on.all(
    COUNT_ERRORS,
    ...place,
    query.from ?? null,
    query.to ?? null,
    min,
    max,
    query.tag ?? null,
    query.endedFrom ?? null,
    query.endedTo ?? null,
    now,
  ) as Row[];
  for (const [group, lane, hoursAgo, count, firstSeenAt, lastSeenAt, first, sample] of rows) {
    const { type } = catalog.namesOf(lane);
    if (query.type !== undefined && type !== query.type) continue;
    tally.add({ group, type, hoursAgo, count, firstSeenAt, lastSeenAt, firstJobId: hexToId(first), sampleJobId: hexToId(sample) });
  }
}
