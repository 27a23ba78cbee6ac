import { ErrorTally, named } from "../../core/error-tally.ts";
import { FacetTally } from "../../core/facet-tally.ts";
import type { JobError } from "../../core/job.ts";
import { leavesOut } from "../../core/filter.ts";
import { STATE } from "../numbers.ts";
import { type FacetQuery, type FacetValues, type FoundGroups, type GroupQuery, MAX_CANDIDATES } from "../store.ts";
import type { Catalog } from "./catalog.ts";
import { readError } from "../stored-error.ts";
import { hexToId, idToBlob, type Row } from "./codec.ts";
import { conditionsOf, facetPath } from "./conditions.ts";
import type { Connection } from "./connection.ts";
import { COUNT_ENDED_WITHIN, countErrors, countFacetValues, ERROR_OF } from "./list-statements.ts";
import { TALLY_OF_STATE } from "./statements.ts";
import type { View } from "./transaction.ts";

type GroupRow = [group: string, lane: number, hours: number, count: number, first: number, last: number, firstJob: string, sample: string];

export function groupErrors(view: View, query: GroupQuery): FoundGroups {
  const { tally, isCapped } = tallyErrors(view, query);
  const { groups, hasMore } = tally.top(query.limit);
  const errorOf = (id: string): JobError | null => readError((view.on.get(ERROR_OF, idToBlob(id))?.[0] ?? null) as string | null);
  return { groups: named(groups, errorOf), isCapped, hasMore };
}

export function errorCounts(view: View, query: Omit<GroupQuery, "limit">): Map<string, number> {
  return tallyErrors(view, query).tally.counts();
}

function tallyErrors(view: View, query: Omit<GroupQuery, "limit">): { tally: ErrorTally; isCapped: boolean } {
  const { catalog, now } = view;
  const { rows, isCapped } = countLatest(view, query, countErrors, now);
  const tally = new ErrorTally();
  for (const [group, lane, hoursAgo, count, firstSeenAt, lastSeenAt, first, sample] of rows as GroupRow[]) {
    const { type } = catalog.namesOf(lane);
    tally.add({ group, type, hoursAgo, count, firstSeenAt, lastSeenAt, firstJobId: hexToId(first), sampleJobId: hexToId(sample) });
  }
  return { tally, isCapped };
}

export function facetValues(view: View, query: FacetQuery): FacetValues {
  const { rows, isCapped } = countLatest(view, query, countFacetValues, facetPath(query.field));
  const tally = new FacetTally();
  for (const [value, count] of rows as [string | null, number][]) tally.add(value, count);
  return { ...tally.top(query.limit), isCapped };
}

type EndedJobs = Omit<FacetQuery, "field" | "limit">;

/** Counts dead letters with a statement. They are found by queue and end; if there are too many, only the latest of each queue. */
function countLatest(
  { on, catalog }: View,
  query: EndedJobs,
  statement: (where: string) => string,
  given: string | number,
): { rows: Row[]; isCapped: boolean } {
  const { type, priority, limitKey, facets, group, from, to, tag, endedFrom, endedTo } = query;
  const places = placesOf(on, catalog, query);
  const isCapped = places.reduce((sum, { count }) => sum + count, 0) > MAX_CANDIDATES && countWithin(on, query, places) > MAX_CANDIDATES;
  const share = isCapped ? Math.floor(MAX_CANDIDATES / places.length) : MAX_CANDIDATES;
  const where = conditionsOf(catalog, { type, priority, limitKey, facets, group }, []);
  const values = [from, to, tag, endedFrom, endedTo, given, ...where.values].map((value) => value ?? null);
  const text = statement(where.text);
  return { rows: places.flatMap(({ queue, state }) => on.all(text, queue, state, share, ...values)), isCapped };
}

interface Place {
  readonly queue: number;
  readonly state: number;
  readonly count: number;
}

/** The queues and states that have such jobs, by the tallies: at most as many as jobs may be looked at. */
function placesOf(on: Connection, catalog: Catalog, query: EndedJobs): Place[] {
  const queues = catalog.allQueues().filter(({ name }) => (query.queue === undefined || name === query.queue) && !leavesOut(query, name));
  return queues
    .flatMap(({ id }) => query.status.map((status) => ({ queue: id, state: STATE[status] })))
    .map((place) => ({ ...place, count: on.number(TALLY_OF_STATE, place.queue, place.state)! }))
    .filter(({ count }) => count > 0)
    .slice(0, MAX_CANDIDATES);
}

/** How many jobs ended in the wanted time, counted up to one more than may be looked at. */
function countWithin(on: Connection, { endedFrom, endedTo }: EndedJobs, places: readonly Place[]): number {
  const most = MAX_CANDIDATES + 1;
  const countOf = ({ queue, state }: Place, left: number): number =>
    on.number(COUNT_ENDED_WITHIN, queue, state, endedFrom ?? null, endedTo ?? null, left)!;
  return places.reduce((sum, place) => (sum < most ? sum + countOf(place, most - sum) : sum), 0);
}
