import { isInternalQueue } from "./internal.ts";
import type { JobSummaryRecord, Status } from "./job.ts";
import { type Search, searchFor } from "./search.ts";

/** The most jobs that one page of a list has, and how many it has when nothing is said. */
export const MAX_PAGE = 1000;
export const DEFAULT_PAGE = 100;
/** The longest cursor that a list gives out. */
export const MAX_CURSOR_LENGTH = 1000;

/** Which jobs are meant; what is not named does not matter. */
export interface Filter {
  /** Any of these; absent is any at all. */
  readonly status?: readonly Status[] | undefined;
  readonly type?: string | undefined;
  readonly queue?: string | undefined;
  /** Jobs of our own queues, too; else they are left out: see internal.ts. */
  readonly internal?: boolean | undefined;
  readonly priority?: { readonly min: number; readonly max: number } | undefined;
  readonly tag?: string | undefined;
  /** With an error of this group: see error-group.ts. */
  readonly group?: string | undefined;
  /** A text that stands in the job: see search.ts. */
  readonly q?: string | undefined;
  /** Created at or after, and before. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Whether a filter leaves out all jobs of a queue, because they are our own. */
export function leavesOut({ internal }: Pick<Filter, "internal">, queue: string): boolean {
  return internal !== true && isInternalQueue(queue);
}

/** Whether tallies can tell how many jobs a filter means: they know queue and status, and nothing else. */
export function isInTallies(filter: object): boolean {
  return Object.entries(filter).every(
    ([name, value]) => value === undefined || name === "queue" || name === "status" || name === "internal",
  );
}

/** Whether a job is meant. `isInPayload` tells whether what is searched for stands in its payload; it is asked only if that matters. */
export type Matcher = (job: JobSummaryRecord, isInPayload: (search: Search) => boolean) => boolean;

/** Makes the test of a filter. What is cheap to know is looked at first. */
export function matcherOf(filter: Filter): Matcher {
  const { status, type, queue, priority, tag, group, q, from, to } = filter;
  const search = q === undefined ? null : searchFor(q);
  return (job, isInPayload) =>
    (status === undefined || status.includes(job.status)) &&
    (type === undefined || job.type === type) &&
    (queue === undefined || job.queue === queue) &&
    !leavesOut(filter, job.queue) &&
    (priority === undefined || (job.priority >= priority.min && job.priority <= priority.max)) &&
    (tag === undefined || job.tags.includes(tag)) &&
    (group === undefined || job.error?.group === group) &&
    (from === undefined || job.createdAt >= from) &&
    (to === undefined || job.createdAt < to) &&
    (search === null || search.isInSummary(job) || isInPayload(search));
}
