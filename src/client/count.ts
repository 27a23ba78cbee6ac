import { type Filter, isInTallies, leavesOut } from "../core/filter.ts";
import type { Store } from "../store/store.ts";
import type { JobCount } from "./client.ts";
import { findNamed, listAll } from "./search.ts";
import { type FieldFilter, type Part, resolveWhere } from "./where.ts";

type Counts = Pick<Store, "find" | "list" | "queues" | "count">;

/** How many jobs match: from the tallies if possible, otherwise counted among as many as a list looks at. */
export async function countJobs(store: Counts, filter: FieldFilter): Promise<JobCount> {
  const parts = await resolveWhere(store, filter);
  if (filter.where === undefined && isInTallies(filter)) return { count: await sumOfTallies(store, parts[0].query), isCapped: false };
  if ((await findNamed(store, parts)) !== null) return { count: 1, isCapped: false };
  let count = 0;
  for (const part of parts) {
    const found = await countPart(store, part);
    count += found.count;
    if (found.isCapped) return { count, isCapped: true };
  }
  return { count, isCapped: false };
}

async function countPart(store: Counts, part: Part<FieldFilter>): Promise<JobCount> {
  if (part.fields === null) return store.count(part.query);
  const { jobs, isCapped } = await listAll(store, [{ ...part, query: { ...part.query, sort: "state" } }]);
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
