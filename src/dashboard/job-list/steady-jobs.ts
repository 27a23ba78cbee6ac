/** A LIST THAT DOES NOT MOVE. Rows keep their places and change in place. New jobs are counted, and shown when the user asks for them. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { Event } from "../../core/event.ts";
import type { JobSummary, Status } from "../../core/job.ts";
import type { JobPage } from "../api.ts";
import { live, refreshes } from "../live.ts";

export interface SteadyJobs {
  /** Undefined until the first answer. */
  readonly rows: readonly JobSummary[] | undefined;
  /** How many new jobs are not shown yet. */
  readonly fresh: number;
}

/** Keeps the rows of a page; `key` says which list and page it is. */
export function useSteadyJobs({ data, dataUpdatedAt, isPlaceholderData }: UseQueryResult<JobPage>, key: string): SteadyJobs {
  const [held, setHeld] = useState<{ readonly key: string; readonly rows: readonly JobSummary[] } | null>(null);
  const takesNext = useRef(false);
  useEffect(
    () =>
      refreshes.subscribe(() => {
        takesNext.current = true;
      }),
    [],
  );

  useEffect(() => {
    // An answer without a change counts, too: the user may have asked for it.
    if (data === undefined || isPlaceholderData || dataUpdatedAt === 0) return;
    const takesAll = takesNext.current;
    takesNext.current = false;
    setHeld((before) => {
      const isAnother = before === null || before.key !== key || before.rows.length === 0 || takesAll;
      return { key, rows: isAnother ? data.jobs : updated(before.rows, data.jobs) };
    });
  }, [data, dataUpdatedAt, isPlaceholderData, key]);

  // Answers lack rows that newer jobs pushed off the page, or that left the filter. Events still update them.
  useEffect(
    () => live.subscribe((events) => setHeld((before) => (before === null ? null : { ...before, rows: changed(before.rows, events) }))),
    [],
  );

  const rows = held !== null && held.key === key ? held.rows : undefined;
  return { rows, fresh: rows === undefined || isPlaceholderData ? 0 : countFresh(rows, data?.jobs ?? []) };
}

/** Rows keep their places. If the page has grown since, because a search found more, the jobs after the last row are added. */
function updated(rows: readonly JobSummary[], answer: readonly JobSummary[]): readonly JobSummary[] {
  const byId = new Map(answer.map((job) => [job.id, job]));
  const last = answer.findIndex(({ id }) => id === rows.at(-1)?.id);
  const more = last === -1 ? [] : answer.slice(last + 1, last + 1 + Math.max(0, answer.length - rows.length));
  return [...rows.map((row) => byId.get(row.id) ?? row), ...more];
}

/** Jobs that come before the rows, in whatever order the list has; if none of the rows is left in the answer, jobs that are newer. */
function countFresh(rows: readonly JobSummary[], answer: readonly JobSummary[]): number {
  const shown = new Set(rows.map(({ id }) => id));
  const first = answer.findIndex(({ id }) => shown.has(id));
  const newest = rows[0]?.createdAt ?? 0;
  return first === -1 ? answer.filter(({ createdAt }) => createdAt >= newest).length : first;
}

const STATUS_AFTER: Partial<Record<Event["event"], Status>> = {
  "job:started": "running",
  "job:completed": "completed",
  "job:failed": "retrying",
  "job:dead": "dead",
  "job:cancelled": "cancelled",
  "job:resumed": "pending",
  "job:retried": "pending",
};

function changed(rows: readonly JobSummary[], events: readonly Event[]): readonly JobSummary[] {
  const after = new Map<string, { readonly status: Status; readonly at: number }>();
  for (const event of events) {
    const status = STATUS_AFTER[event.event];
    if (status !== undefined && "jobId" in event) after.set(event.jobId, { status, at: event.at });
  }
  if (!rows.some(({ id }) => after.has(id))) return rows;
  return rows.map((row) => {
    const news = after.get(row.id);
    return news === undefined || news.at < row.updatedAt ? row : { ...row, status: news.status };
  });
}
