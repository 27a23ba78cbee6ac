import type { Filter } from "../core/filter.ts";
import type { Store } from "../store/store.ts";
import type { JobCount } from "./client.ts";
import { usersQueues } from "./queues.ts";
import { findNamed } from "./search.ts";

/** How many jobs match: told by tallies where these know it, else counted among as many as a list looks at. */
export async function countJobs(store: Pick<Store, "find" | "queues" | "count">, filter: Filter): Promise<JobCount> {
  if (isInTallies(filter)) return { count: await sumOfTallies(store, filter), isCapped: false };
  return (await findNamed(store, filter)) === null ? store.count(filter) : { count: 1, isCapped: false };
}

/** Tallies know queue and status, and nothing else. */
function isInTallies(filter: Filter): boolean {
  return Object.entries(filter).every(([name, value]) => value === undefined || name === "queue" || name === "status");
}

async function sumOfTallies(store: Pick<Store, "queues">, { queue, status }: Filter): Promise<number> {
  const queues = (await usersQueues(store)).filter(({ name }) => queue === undefined || name === queue);
  const cells = queues.flatMap(({ counts }) => counts).filter((cell) => status === undefined || status.includes(cell.status));
  return cells.reduce((sum, { count }) => sum + count, 0);
}
