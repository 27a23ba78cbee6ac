import { type Filter, isInTallies, leavesOut } from "../core/filter.ts";
import type { Store } from "../store/store.ts";
import type { JobCount } from "./client.ts";
import { findNamed } from "./search.ts";

/** How many jobs match: from the tallies if possible, otherwise counted among as many as a list looks at. */
export async function countJobs(store: Pick<Store, "find" | "queues" | "count">, filter: Filter): Promise<JobCount> {
  if (isInTallies(filter)) return { count: await sumOfTallies(store, filter), isCapped: false };
  return (await findNamed(store, filter)) === null ? store.count(filter) : { count: 1, isCapped: false };
}

/** How many jobs match a filter that the tallies can answer, except those of one queue. */
export async function sumOfTallies(store: Pick<Store, "queues">, filter: Filter, except?: string): Promise<number> {
  const { queue, status } = filter;
  const isMeant = (name: string): boolean => (queue === undefined || name === queue) && name !== except && !leavesOut(filter, name);
  const queues = (await store.queues()).filter(({ name }) => isMeant(name));
  const cells = queues.flatMap(({ counts }) => counts).filter((cell) => status === undefined || status.includes(cell.status));
  return cells.reduce((sum, { count }) => sum + count, 0);
}
