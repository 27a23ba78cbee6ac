import { type Filter, isInTallies, leavesOut, MAX_CANDIDATES, MAX_PAGE } from "../core/filter.ts";
import type { Store } from "../store/store.ts";
import type { JobCount } from "./client.ts";
import { findNamed, listAll } from "./search.ts";
import { type FieldFilter, resolveWhere } from "./where.ts";

/** How many jobs match: from the tallies if possible, otherwise counted among as many as a list looks at. */
export async function countJobs(store: Pick<Store, "find" | "list" | "queues" | "count">, filter: FieldFilter): Promise<JobCount> {
  const resolved = await resolveWhere(store, filter);
  const { query, fields } = resolved;
  if (isInTallies(query) && fields === null) return { count: await sumOfTallies(store, query), isCapped: false };
  if ((await findNamed(store, resolved)) !== null) return { count: 1, isCapped: false };
  if (fields === null) return store.count(query);
  const { jobs, isCapped } = await listAll(store, { ...filter, sort: "state", limit: MAX_PAGE }, MAX_CANDIDATES, MAX_PAGE);
  return { count: jobs.length, isCapped };
}

/** How many jobs match a filter that the tallies can answer, except those of one queue. */
export async function sumOfTallies(store: Pick<Store, "queues">, filter: Filter, except?: string): Promise<number> {
  const { queue, status } = filter;
  const isMeant = (name: string): boolean => (queue === undefined || name === queue) && name !== except && !leavesOut(filter, name);
  const queues = (await store.queues()).filter(({ name }) => isMeant(name));
  const cells = queues.flatMap(({ counts }) => counts).filter((cell) => status === undefined || status.includes(cell.status));
  return cells.reduce((sum, { count }) => sum + count, 0);
}
