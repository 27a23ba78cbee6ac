import { type Facets, hasFacets } from "./facets.ts";
import { INTERNAL_MARK, isInternalQueue } from "./internal.ts";
import { isTerminal, type JobSummaryRecord, type Status, TERMINAL } from "./job.ts";
import { type Search, searchFor } from "./search.ts";

/** The largest page of a list, and its size by default. */
export const MAX_PAGE = 1000;
export const DEFAULT_PAGE = 100;
/** A list looks at no more jobs than this before it answers, whatever it has found. */
export const MAX_CANDIDATES = 10_000;
/** The longest cursor of a list. */
export const MAX_CURSOR_LENGTH = 1000;

/** The fields of a filter that are times. */
export const TIME_FIELDS = ["from", "to", "endedFrom", "endedTo"] as const;

/** Selects jobs. Absent fields do not matter. */
export interface Filter {
  /** Any of these statuses; absent means all. */
  readonly status?: readonly Status[] | undefined;
  readonly type?: string | undefined;
  readonly queue?: string | undefined;
  /** Include internal jobs: see internal.ts. */
  readonly internal?: boolean | undefined;
  /** Leave out jobs of these queues, too. Only our own code asks for this: client/where.ts. */
  readonly exceptQueues?: ReadonlySet<string> | undefined;
  readonly priority?: { readonly min: number; readonly max: number } | undefined;
  readonly tag?: string | undefined;
  /** Jobs with this limit key, in any queue. */
  readonly limitKey?: string | undefined;
  /** Jobs with all of these facets. Lists in the order of creation walk the index of one of them in each wanted queue. */
  readonly facets?: Facets | undefined;
  /** Only clients know payload fields that no queue declares: client/where.ts. */
  readonly where?: undefined;
  /** Jobs with an error of this group: see error-group.ts. */
  readonly group?: string | undefined;
  /** A text that occurs in the job: see search.ts. */
  readonly q?: string | undefined;
  /** Created at or after `from`, and before `to`. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  /** Ended at or after `endedFrom`, and before `endedTo`. A job that has not ended does not match. */
  readonly endedFrom?: number | undefined;
  readonly endedTo?: number | undefined;
}

/** The statuses that can match, because only ended jobs have an end; undefined for all. */
export function statusesOf({ status, endedFrom, endedTo }: Pick<Filter, "status" | "endedFrom" | "endedTo">): Filter["status"] {
  if (endedFrom === undefined && endedTo === undefined) return status;
  return status?.filter(isTerminal) ?? TERMINAL;
}

/** Whether a job ended in the wanted time. A retry by hand clears the end, so only ended jobs have one. */
export function endedInTime(
  { endedFrom, endedTo }: Pick<Filter, "endedFrom" | "endedTo">,
  { completedAt }: Pick<JobSummaryRecord, "completedAt">,
): boolean {
  if (endedFrom === undefined && endedTo === undefined) return true;
  return completedAt !== null && completedAt >= (endedFrom ?? completedAt) && completedAt < (endedTo ?? Infinity);
}

/** Whether a filter excludes all jobs of a queue: because they are internal, or by its name. */
export function leavesOut({ internal, exceptQueues }: LeftOut, queue: string): boolean {
  return (internal !== true && isInternalQueue(queue)) || exceptQueues?.has(queue) === true;
}

type LeftOut = Pick<Filter, "internal" | "exceptQueues">;

/** The queues that a filter excludes, for engines to send. INTERNAL_MARK alone stands for all internal ones. */
export function leftOutOf({ internal, exceptQueues = new Set() }: LeftOut): string[] {
  return [...(internal === true ? [] : [INTERNAL_MARK]), ...exceptQueues];
}

/** Whether the tallies can answer a filter: they know only queue and status. */
export function isInTallies(filter: object): boolean {
  return Object.entries(filter).every(
    ([name, value]) => value === undefined || name === "queue" || name === "status" || name === "internal",
  );
}

/** Whether a job matches. `isInPayload` searches its payload; it is called only if the result depends on it. */
export type Matcher = (job: JobSummaryRecord, isInPayload: (search: Search) => boolean) => boolean;

/** Makes the test of a filter. Cheap conditions come first. */
export function matcherOf(filter: Filter): Matcher {
  const { status, type, queue, priority, tag, limitKey, facets, group, q, from, to } = filter;
  const search = q === undefined ? null : searchFor(q);
  return (job, isInPayload) =>
    (status === undefined || status.includes(job.status)) &&
    (type === undefined || job.type === type) &&
    (queue === undefined || job.queue === queue) &&
    !leavesOut(filter, job.queue) &&
    (priority === undefined || (job.priority >= priority.min && job.priority <= priority.max)) &&
    (tag === undefined || job.tags.includes(tag)) &&
    (limitKey === undefined || job.limitKey === limitKey) &&
    (facets === undefined || hasFacets(job.facets, facets)) &&
    (group === undefined || job.error?.group === group) &&
    (from === undefined || job.createdAt >= from) &&
    (to === undefined || job.createdAt < to) &&
    endedInTime(filter, job) &&
    (search === null || search.isInSummary(job) || isInPayload(search));
}
