/** FILTERS IN THE URL. The query of the URL says what a list shows, and the API gets the same filters. */
import { PRIORITY_LEVELS, type Status, STATUSES } from "../core/job.ts";
import { type StateOrder, stateOrderOf } from "../core/list-order.ts";
import type { JobFilter, ListJobs } from "./shapes.ts";

/** The filters of a list, as texts. */
export interface JobSearch {
  readonly status?: string;
  readonly type?: string;
  readonly queue?: string;
  /** "true" includes internal jobs. */
  readonly internal?: string;
  readonly priority?: string;
  readonly tag?: string;
  /** Text to find in the job. */
  readonly q?: string;
  /** An error group. */
  readonly group?: string;
  /** A time, or a span back from now such as `1h`. */
  readonly from?: string;
  readonly to?: string;
  /** Ended since: a time, or a span back from now. */
  readonly ended?: string;
  readonly cursor?: string;
}

/** The filters that users set; the cursor is only a position. */
export const FILTER_NAMES = ["q", "status", "type", "queue", "internal", "priority", "tag", "group", "from", "to", "ended"] as const;
export type FilterName = (typeof FILTER_NAMES)[number];

/** Reads the URL of the list of jobs. */
export function readJobSearch(search: Record<string, unknown>): JobSearch {
  return pick(search, [...FILTER_NAMES, "cursor"]);
}

/** Reads the URL of the dead letters, which have no filter by status. */
export function readDeadSearch(search: Record<string, unknown>): Omit<JobSearch, "status"> {
  return pick(search, [...FILTER_NAMES.filter((name) => name !== "status"), "cursor"]);
}

/** Reads the URL of the schedules. */
export function readScheduleSearch(search: Record<string, unknown>): { readonly tab?: "delayed"; readonly cursor?: string } {
  const { tab, cursor } = search;
  return { ...(tab === "delayed" ? { tab } : {}), ...(typeof cursor === "string" ? { cursor } : {}) };
}

function pick<Name extends keyof JobSearch>(search: Record<string, unknown>, names: readonly Name[]): Pick<JobSearch, Name> {
  const found = names.flatMap((name) => {
    const value = search[name];
    return typeof value === "string" && value !== "" ? [[name, value]] : [];
  });
  return Object.fromEntries(found) as Pick<JobSearch, Name>;
}

/** How far back a list goes, as users choose it. */
export const SPANS: readonly (readonly [text: string, words: string, ms: number])[] = [
  ["15m", "last 15 minutes", 15 * 60_000],
  ["1h", "last hour", 3_600_000],
  ["24h", "last 24 hours", 86_400_000],
  ["7d", "last 7 days", 7 * 86_400_000],
];

/** The query for the API. Spans are rounded to the minute, so that a list keeps the same query for that long. */
export function toListQuery(search: JobSearch, limit: number, now: number): ListJobs {
  const { status, internal, priority, from, to, ended, ...rest } = search;
  return {
    ...rest,
    // By when they ended, are due or are next in line, if the statuses have such an order.
    ...(status === undefined && ended === undefined ? {} : { sort: "state" as const }),
    ...(internal === "true" ? { internal: true } : {}),
    ...(status === undefined ? {} : { status: status.split(",") }),
    ...(priority === undefined ? {} : { priority: readPriority(priority) }),
    ...(from === undefined ? {} : { from: readMoment(from, now) }),
    ...(to === undefined ? {} : { to: readMoment(to, now) }),
    ...(ended === undefined ? {} : { endedFrom: readMoment(ended, now) }),
    limit,
  };
}

/** How the list of a search is sorted; null for newest created first. */
export function orderOf({ status, ended }: JobSearch): StateOrder | null {
  if (status === undefined) return ended === undefined ? null : "ended";
  const names = status.split(",");
  return names.every((name): name is Status => (STATUSES as readonly string[]).includes(name)) ? stateOrderOf(names) : null;
}

/** The query without its page. */
export function toFilter(query: ListJobs): JobFilter {
  const { limit: _, cursor: __, sort: ___, ...filter } = query;
  return filter;
}

/** The name of a level, or a number, which the API checks. */
function readPriority(text: string): NonNullable<ListJobs["priority"]> {
  return Object.hasOwn(PRIORITY_LEVELS, text) ? (text as keyof typeof PRIORITY_LEVELS) : Number(text);
}

function readMoment(text: string, now: number): string | number {
  const span = SPANS.find(([name]) => name === text);
  return span === undefined ? text : now - (now % 60_000) - span[2];
}
