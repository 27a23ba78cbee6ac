/** What the page asks the API for. The first part of a key is the topic by which `live` knows what to fetch again. */
import { keepPreviousData, QueryCache, QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import { type Attempt, type Job, type LogLine, MAX_LOG_LINES } from "../core/job.ts";
import {
  client,
  type ErrorGroups,
  type Finding,
  type Explanation,
  type HistoryPoint,
  type JobFilter,
  type JobPage,
  type ListJobs,
  type Queue,
  type Schedule,
  type Stats,
  type Worker,
} from "./api.ts";
import { fillPage } from "./page-search.ts";
import { isPaused } from "./paused.ts";
import { noteRefusal } from "./session.ts";

/** Log lines have no events: they are polled while somebody reads them. */
const FOLLOW_MS = 1000;
const HISTORY_MS = 5000;
const TYPES_MS = 30_000;
const GROUPS_MS = 5000;
const EXPLAIN_MS = 3000;

function everyUnlessPaused(ms: number): () => number | false {
  return () => (isPaused.get() ? false : ms);
}

/** The cache of answers. */
export const queries = new QueryClient({
  queryCache: new QueryCache({ onError: noteRefusal }),
  defaultOptions: {
    queries: {
      // The client retries by itself, and `live` says when to fetch again.
      retry: false,
      networkMode: "always",
      staleTime: 2000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

export function useStats(): UseQueryResult<Stats> {
  return useQuery({ queryKey: ["stats"], queryFn: () => client.stats() });
}

/** The statistics of the last `periods`. Old periods do not change, so they are not fetched with every event. */
export function useHistory(step: "hour" | "minute", periods: number): UseQueryResult<HistoryPoint[]> {
  const ms = step === "hour" ? HOUR_MS : MINUTE_MS;
  return useQuery({
    queryKey: ["history", step, periods],
    queryFn: () => client.history({ step, from: Date.now() - (periods - 1) * ms }),
    refetchInterval: everyUnlessPaused(HISTORY_MS),
    placeholderData: keepPreviousData,
  });
}

export function useQueues(): UseQueryResult<Queue[]> {
  return useQuery({ queryKey: ["queues"], queryFn: () => client.queues() });
}

/** All workers, internal ones included. Pages choose which to show. */
export function useWorkers(): UseQueryResult<Worker[]> {
  return useQuery({ queryKey: ["workers"], queryFn: () => client.workers({ internal: true }) });
}

/** Makes no copy: the texts of payload and result belong to the object that came. */
const AS_IT_CAME = { structuralSharing: false } as const;

export function useSchedules(): UseQueryResult<Schedule[]> {
  return useQuery({ queryKey: ["schedules"], queryFn: () => client.schedules.list(), ...AS_IT_CAME });
}

/** Jobs by filter. While another page is fetched, the previous one stays. */
export function useJobs(query: ListJobs): UseQueryResult<JobPage> {
  return usePage(["jobs", query], (asked) => client.list(asked), query);
}

/** A page of a list, which goes on looking until it is full. */
function usePage(
  queryKey: readonly [string, ListJobs],
  list: (query: ListJobs) => Promise<JobPage>,
  query: ListJobs,
): UseQueryResult<JobPage> {
  return useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      fillPage(list, query, queries.getQueryData<JobPage>(queryKey), signal, (page) => void queries.setQueryData(queryKey, page)),
    placeholderData: keepPreviousData,
  });
}

/** What needs attention. The server decides that; the page only draws it. */
export function useAttention(): UseQueryResult<Finding[]> {
  return useQuery({ queryKey: ["attention"], queryFn: () => client.attention(), placeholderData: keepPreviousData });
}

/** Types of the newest jobs, as suggestions. */
export function useLatestTypes(): UseQueryResult<string[]> {
  return useQuery({
    queryKey: ["types"],
    queryFn: async () => [...new Set((await client.list({ limit: 100 })).jobs.map(({ type }) => type))],
    staleTime: TYPES_MS,
  });
}

/** Dead letters by filter, latest death first. */
export function useDead(query: Omit<ListJobs, "status">): UseQueryResult<JobPage> {
  return usePage(["dead", query], (asked) => client.dead.list(asked), query);
}

/** Dead letters by error. They are counted each time, so they are polled now and then, not fetched with every event. */
export function useErrorGroups(filter: Omit<JobFilter, "status" | "group" | "q">): UseQueryResult<ErrorGroups> {
  return useQuery({
    queryKey: ["groups", filter],
    queryFn: () => client.dead.groups(filter),
    refetchInterval: everyUnlessPaused(GROUPS_MS),
    placeholderData: keepPreviousData,
  });
}

/** One job; null if it does not exist. */
export function useJob(id: string | null): UseQueryResult<Job | null> {
  return useQuery({ queryKey: ["job", id], queryFn: () => client.get(id ?? ""), enabled: id !== null, ...AS_IT_CAME });
}

export function useAttempts(id: string): UseQueryResult<Attempt[]> {
  return useQuery({ queryKey: ["job", id, "attempts"], queryFn: () => client.attempts(id) });
}

/** Why a job is not running. Polled, because it also depends on the queue, the jobs ahead and the workers. */
export function useExplanation(id: string): UseQueryResult<Explanation> {
  return useQuery({
    queryKey: ["job", id, "explain"],
    queryFn: () => client.explain(id),
    refetchInterval: everyUnlessPaused(EXPLAIN_MS),
  });
}

/** The log of a job. Each fetch asks only for new lines. */
export function useLogs(id: string, follows: boolean): UseQueryResult<LogLine[]> {
  const queryKey = ["job", id, "logs"];
  return useQuery({
    queryKey,
    queryFn: async () => {
      const known = queries.getQueryData<LogLine[]>(queryKey) ?? [];
      const more = await client.logs(id, { after: known.at(-1)?.number ?? 0, limit: MAX_LOG_LINES });
      return more.length === 0 ? known : [...known, ...more];
    },
    refetchInterval: follows ? FOLLOW_MS : false,
  });
}

/** The next runs of a stored schedule. */
export function usePreview(name: string, runs: number): UseQueryResult<number[]> {
  return useQuery({ queryKey: ["schedules", "preview", name, runs], queryFn: () => client.schedules.preview(name, runs) });
}
