/**
 * A PAGE THAT FILLS ITSELF. One call of a list looks at a bounded number of jobs, so it may find few of them, or none, and still have a
 * cursor. The page goes on from there by itself until it is full, shows what it has found meanwhile, and can be stopped.
 */
import { DEFAULT_PAGE, MAX_CANDIDATES } from "../core/filter.ts";
import type { JobPage, ListJobs } from "./shapes.ts";
import { Watched } from "./watched.ts";

/** How far a page has looked, beyond its first call. */
export interface PageSearch {
  /** Which page it is: the query in JSON. */
  readonly key: string;
  /** About how many jobs it has looked at: a call looks at no more than so many. */
  readonly looked: number;
  readonly isOver: boolean;
  readonly stop: () => void;
}

export const pageSearch = new Watched<PageSearch | null>(null);

type List = (query: ListJobs) => Promise<JobPage>;

/**
 * Lists a page and goes on until it is full; `show` gets what it has found so far. `before` is what the page shows already: a search that
 * something interrupted goes on from there, and one that is over is only looked at again.
 */
export async function fillPage(
  list: List,
  query: ListJobs,
  before: JobPage | undefined,
  signal: AbortSignal,
  show: (page: JobPage) => void,
): Promise<JobPage> {
  const { limit = DEFAULT_PAGE } = query;
  const key = JSON.stringify(query);
  const earlier = before === undefined || pageSearch.get()?.key !== key ? null : pageSearch.get();
  if (before !== undefined && earlier?.isOver === true) return refreshPage(list, query, limit, before);
  let isStopped = false;
  let page = before === undefined || earlier === null ? await list(query) : before;
  let looked = earlier?.looked ?? MAX_CANDIDATES;
  const say = (isOver: boolean): void => pageSearch.set({ key, looked, isOver, stop: () => void (isStopped = true) });
  const goesOn = (): boolean => page.cursor !== null && page.jobs.length < limit && !isStopped;
  if (!goesOn()) return page;
  while (goesOn()) {
    signal.throwIfAborted();
    say(false);
    show(page);
    const more = await list({ ...query, limit: limit - page.jobs.length, cursor: page.cursor });
    page = { jobs: [...page.jobs, ...more.jobs], cursor: more.cursor };
    looked += MAX_CANDIDATES;
  }
  signal.throwIfAborted();
  say(true);
  return page;
}

/** One call finds the newest state of the first jobs, and those that were found later stay. */
async function refreshPage(list: List, query: ListJobs, limit: number, before: JobPage): Promise<JobPage> {
  const page = await list(query);
  if (page.cursor === null || page.jobs.length >= limit) return page;
  const found = new Set(page.jobs.map(({ id }) => id));
  return { jobs: [...page.jobs, ...before.jobs.filter(({ id }) => !found.has(id))], cursor: before.cursor };
}
