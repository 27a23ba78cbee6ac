/** FILTERS IN THE URL. The query of the URL says what a list shows, and the API gets the same filters. */
import { AUDIT_ACTIONS, type AuditAction } from "../core/audit.ts";
import { FLOW_STATUSES, type FlowStatus } from "../core/flow.ts";
import { ALL_DELIVERIES, ALL_QUEUES, WEBHOOK_TYPE } from "../core/delivery.ts";
import { parseDuration } from "../core/duration.ts";
import { statusesOf } from "../core/filter.ts";
import { isInternalQueue } from "../core/internal.ts";
import { PRIORITY_LEVELS, type Status } from "../core/job.ts";
import { type StateOrder, stateOrderOf } from "../core/list-order.ts";
import { readStatusFilter, statusWords } from "../core/status-filter.ts";
import type { JobFilter, ListJobs } from "./shapes.ts";
import { readWhere } from "./where-text.ts";

/** The filters of a list, as texts. */
export interface JobSearch {
  readonly status?: string;
  readonly type?: string;
  readonly queue?: string;
  /** "true" includes internal jobs. */
  readonly internal?: string;
  readonly priority?: string;
  readonly tag?: string;
  readonly limit_key?: string;
  /** The id of a flow. */
  readonly flow?: string;
  /** Payload fields: see where-text.ts. */
  readonly where?: string;
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
export const FILTER_NAMES = [
  "q",
  "status",
  "type",
  "queue",
  "internal",
  "priority",
  "tag",
  "limit_key",
  "flow",
  "where",
  "group",
  "from",
  "to",
  "ended",
] as const;
export type FilterName = (typeof FILTER_NAMES)[number];

/** Filters that have a shorter name in the search than in the URL. */
const SHORT_NAMES: Partial<Record<FilterName, string>> = { limit_key: "key" };

/** The name of a filter in the search: `key` for `limit_key`. */
export function searchName(name: FilterName): string {
  return SHORT_NAMES[name] ?? name;
}

/** The value of the filter `status` for exactly this one: `failed` alone would also find dead jobs. */
export function statusWord(status: Status): string {
  return statusWords([status])[0] ?? status;
}

/** The statuses that the filter means; undefined for all, or if the API would refuse it. */
export function statusesIn(status: string | undefined): readonly Status[] | undefined {
  try {
    return readStatusFilter(status?.split(","));
  } catch {
    return undefined;
  }
}

/** The jobs of a queue, or of all that a worker serves. A list leaves out internal ones unless it is asked for them. */
export function searchOfQueue(queue: string): JobSearch {
  if (queue === ALL_QUEUES) return {};
  if (queue === ALL_DELIVERIES) return { type: WEBHOOK_TYPE, internal: "true" };
  return isInternalQueue(queue) ? { queue, internal: "true" } : { queue };
}

/** The jobs of a limit key in its queue. */
export function searchOfKey(queue: string, limitKey: string): JobSearch {
  return { ...searchOfQueue(queue), limit_key: limitKey };
}

/** Reads the URL of the list of jobs. */
export function readJobSearch(search: Record<string, unknown>): JobSearch {
  return pick(search, [...FILTER_NAMES, "cursor"]);
}

/** Reads the URL of the dead letters, which have no filter by status. */
export function readDeadSearch(search: Record<string, unknown>): Omit<JobSearch, "status"> {
  return pick(search, [...FILTER_NAMES.filter((name) => name !== "status"), "cursor"]);
}

/** Reads the URL of a list that has pages and no filters. */
export function readCursorSearch(search: Record<string, unknown>): Pick<JobSearch, "cursor"> {
  return pick(search, ["cursor"]);
}

/** Which flows a list shows. */
export interface FlowsSearch {
  readonly status?: FlowStatus | undefined;
  readonly cursor?: string | undefined;
}

/** Reads the URL of the list of flows. */
export function readFlowsSearch(search: Record<string, unknown>): FlowsSearch {
  const { status } = search;
  const known = FLOW_STATUSES.find((each) => each === status);
  return { ...pick(search, ["cursor"]), ...(known === undefined ? {} : { status: known }) };
}

/** Which members of a flow a page shows, and how. */
export interface FlowSearch {
  readonly view?: "graph" | "table" | undefined;
  readonly status?: string | undefined;
  readonly q?: string | undefined;
}

/** Reads the URL of a flow. */
export function readFlowSearch(search: Record<string, unknown>): FlowSearch {
  const { view } = search;
  return { ...pick(search, ["status", "q"]), ...(view === "graph" || view === "table" ? { view } : {}) };
}

/** Reads the URL of the schedules. */
export function readScheduleSearch(search: Record<string, unknown>): { readonly tab?: "delayed"; readonly cursor?: string } {
  const { tab, cursor } = search;
  return { ...(tab === "delayed" ? { tab } : {}), ...(typeof cursor === "string" ? { cursor } : {}) };
}

/** The filters of the audit, as they are in the URL. */
export interface AuditSearch {
  readonly by?: string | undefined;
  readonly action?: AuditAction | undefined;
  readonly queue?: string | undefined;
  readonly jobId?: string | undefined;
  readonly cursor?: string | undefined;
}

/** Reads the URL of the audit. */
export function readAuditSearch(search: Record<string, unknown>): AuditSearch {
  const { by, action, queue, jobId, cursor } = search;
  const given = Object.entries({ by, queue, jobId, cursor }).filter(([, value]) => typeof value === "string" && value !== "");
  const known = AUDIT_ACTIONS.find((each) => each === action);
  return { ...Object.fromEntries(given), ...(known === undefined ? {} : { action: known }) };
}

function pick<Name extends keyof JobSearch>(search: Record<string, unknown>, names: readonly Name[]): Pick<JobSearch, Name> {
  const found = names.flatMap((name) => {
    const value = search[name];
    return typeof value === "string" && value !== "" ? [[name, value]] : [];
  });
  return Object.fromEntries(found) as Pick<JobSearch, Name>;
}

/** How far back a list goes, as users choose it. */
export const SPANS: readonly (readonly [text: string, words: string])[] = [
  ["15m", "last 15 minutes"],
  ["1h", "last hour"],
  ["24h", "last 24 hours"],
  ["7d", "last 7 days"],
];

/** The query for the API. Spans are rounded to the minute, so that a list keeps the same query for that long. */
export function toListQuery(search: JobSearch, limit: number, now: number): ListJobs {
  const { status, internal, priority, limit_key: limitKey, where, from, to, ended, ...rest } = search;
  return {
    ...rest,
    // By when they ended, are due or are next in line, if the statuses have such an order.
    ...(status === undefined && ended === undefined ? {} : { sort: "state" as const }),
    ...(internal === "true" ? { internal: true } : {}),
    ...(status === undefined ? {} : { status: status.split(",") }),
    ...(priority === undefined ? {} : { priority: readPriority(priority) }),
    ...(limitKey === undefined ? {} : { limitKey }),
    // What cannot be read finds nothing; the API says why.
    ...(where === undefined ? {} : { where: readWhere(where) ?? { [where]: "" } }),
    ...(from === undefined ? {} : { from: readMoment(from, now) }),
    ...(to === undefined ? {} : { to: readMoment(to, now) }),
    ...(ended === undefined ? {} : { endedFrom: readMoment(ended, now) }),
    limit,
  };
}

/** How the list of a search is sorted; null for newest created first. */
export function orderOf({ status, ended }: JobSearch): StateOrder | null {
  // Whichever time it is, only ended jobs have an end.
  return stateOrderOf(statusesOf({ status: statusesIn(status), endedFrom: ended === undefined ? undefined : 0 }));
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
  const spanMs = parseDuration(text);
  return spanMs === null ? text : now - (now % 60_000) - spanMs;
}
