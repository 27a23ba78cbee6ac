/** THE LIST THAT A JOB WAS OPENED FROM: where it is, and its jobs in order. Kept for this tab, so that a reload of the job still knows its neighbours. */
import { Watched } from "../watched.ts";

/** The pages that have a list of jobs, and what they are called. */
export const LIST_PAGES = { "/jobs": "Jobs", "/dead": "Dead letters", "/schedules": "Delayed jobs" } as const;

export interface LastList {
  readonly page: keyof typeof LIST_PAGES;
  /** The filters and the position, as in the URL. */
  readonly search: Readonly<Record<string, string>>;
  readonly ids: readonly string[];
}

const KEY = "millrace:list";

export const lastList = new Watched<LastList | null>(readStored());

export function rememberList(list: LastList): void {
  lastList.set(list);
  try {
    sessionStorage.setItem(KEY, JSON.stringify(list));
  } catch {
    // A browser that stores nothing knows the list until the next reload.
  }
}

/** What is stored may be from another version. */
function readStored(): LastList | null {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as LastList | null;
    return found !== null && Object.hasOwn(LIST_PAGES, found.page) && Array.isArray(found.ids) ? found : null;
  } catch {
    return null;
  }
}
