/** What the page asks the API for. The first part of a key is the topic by which `live` knows what to fetch again. */
import { keepPreviousData, QueryCache, QueryClient, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { LATE_BEAT_MS } from "../core/attention.ts";
import { groupWords } from "../core/error-group.ts";
import { servesQueue } from "../core/explain.ts";
import { HOUR_MS, MINUTE_MS } from "../core/time-units.ts";
import type { HandledType } from "../core/handled-type.ts";
import { type Job, type LogLine, MAX_LOG_LINES } from "../core/job.ts";
import type { AuditPage, AuditQuery } from "../core/audit.ts";
import type { JobAttempt, ManualChange } from "../core/manual-change.ts";
import {
  type BulkPage,
  client,
  type ErrorGroups,
  type FacetCounts,
  type Finding,
  type FormerWorker,
  type Explanation,
  type HistoryPoint,
  type KeyLimitsPage,
  type TypeFigures,
  type JobFilter,
  type JobPage,
  type JobStep,
  type ListJobs,
  type Queue,
  type QueueDetails,
  type QueueLimitUse,
  type Schedule,
  type Stats,
  type Worker,
} from "./api.ts";
import { fillPage } from "./page-search.ts";
import { isPaused } from "./paused.ts";
import { serverNow } from "./server-time.ts";
import { noteRefusal } from "./session.ts";

/** Log lines have no events: they are polled while somebody reads them. */
const FOLLOW_MS = 1000;
const HISTORY_MS = 5000;
const TIMES_MS = 30_000;
const TYPES_MS = 30_000;
const GROUPS_MS = 5000;
const AUDIT_MS = 5000;
const EXPLAIN_MS = 3000;
/** A running operation has no events, and somebody watches its progress. */
const OPERATIONS_MS = 1000;

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

/**
 * The statistics of the last `periods`, of all queues, of one, or of one type. Old periods do not change, so they are not fetched with every
 * event. One queue has run and wait times too: these are many numbers, so that hours of them are fetched only now and then.
 */
export function useHistory(step: Step, periods: number, queue?: string, type?: string): UseQueryResult<HistoryPoint[]> {
  const everyMs = queue !== undefined && step === "hour" ? TIMES_MS : HISTORY_MS;
  return useQuery({
    queryKey: ["history", step, periods, queue, type],
    queryFn: () => client.history({ step, from: firstOf(step, periods), queue, type, times: queue !== undefined }),
    refetchInterval: everyUnlessPaused(everyMs),
    meta: { everyMs },
    placeholderData: keepPreviousData,
  });
}

/** What each type of a queue did in the last `periods`. */
export function useQueueTypes(queue: string, step: Step, periods: number): UseQueryResult<TypeFigures[]> {
  const everyMs = step === "hour" ? TIMES_MS : HISTORY_MS;
  return useQuery({
    queryKey: ["history", "types", step, periods, queue],
    queryFn: () => client.queueTypes(queue, { step, from: firstOf(step, periods) }),
    refetchInterval: everyUnlessPaused(everyMs),
    meta: { everyMs },
    placeholderData: keepPreviousData,
  });
}

/**
 * Whether a queue has a type: a job of it is stored, a live worker handles it by its name, or it was counted in the last `hours`. One that is there
 * is not asked for again.
 */
export function useHasType(queue: string, type: string, hours: number): UseQueryResult<boolean> {
  return useQuery({
    queryKey: ["has type", queue, type],
    queryFn: async () => {
      const { jobs, cursor } = await client.list({ queue, type, limit: 1 });
      // A list that goes on was not read to its end.
      if (jobs.length > 0 || cursor !== null) return true;
      const handled = await client.types();
      if (handled.some((each) => each.type === type && servesQueue(each, queue))) return true;
      return (await client.queueTypes(queue, { step: "hour", from: firstOf("hour", hours) })).some((each) => each.type === type);
    },
    refetchInterval: ({ state: { data } }) => data !== true && everyUnlessPaused(HISTORY_MS)(),
    staleTime: ({ state: { data } }) => (data === true ? Infinity : 0),
  });
}

type Step = "hour" | "minute";

/** A time in the first of the last `periods`. */
function firstOf(step: Step, periods: number): number {
  return serverNow() - (periods - 1) * (step === "hour" ? HOUR_MS : MINUTE_MS);
}

/** Queues by name; with `internal`, also our own. */
export function useQueues(internal = false): UseQueryResult<Queue[]> {
  return useQuery({ queryKey: ["queues", internal], queryFn: () => client.queues({ internal }) });
}

/** One queue with its types that wait; null if it does not exist. */
export function useQueue(name: string): UseQueryResult<QueueDetails | null> {
  return useQuery({ queryKey: ["queues", name], queryFn: () => client.queue(name) });
}

const LIMIT_USE = "limits";

/** How much of its limits a queue uses now; null if it does not exist. */
export function useLimitUse(queue: string): UseQueryResult<QueueLimitUse | null> {
  return useQuery({ queryKey: ["queues", queue, LIMIT_USE], queryFn: () => client.limits.use(queue) });
}

/** Whether an answer is one of `useLimitUse`. */
export function isLimitUse([topic, , of]: readonly unknown[]): boolean {
  return topic === "queues" && of === LIMIT_USE;
}

/** Keys with limits of their own. Not a key of `queues`: they change by hand, not by events. */
export function useKeyLimits(queue: string, limit: number, cursor: string | undefined): UseQueryResult<KeyLimitsPage> {
  return useQuery({
    queryKey: ["limits", queue, limit, cursor],
    queryFn: () => client.limits.list(queue, { limit, cursor }),
    placeholderData: keepPreviousData,
  });
}

/** A worker, and whether it was silent when it was asked for. Later its heartbeat here is older than the one in the store. */
export interface SeenWorker extends Worker {
  readonly isSilent: boolean;
}

/** All workers, internal ones included. Pages choose which to show. */
export function useWorkers(): UseQueryResult<SeenWorker[]> {
  return useQuery({
    queryKey: ["workers"],
    queryFn: async () => {
      const workers = await client.workers({ internal: true });
      const now = serverNow();
      return workers.map((worker) => ({ ...worker, isSilent: now - worker.heartbeatAt > LATE_BEAT_MS }));
    },
  });
}

/** Types that workers handle, with the schemas that they publish. */
export function useHandledTypes(): UseQueryResult<HandledType[]> {
  return useQuery({ queryKey: ["workers", "types"], queryFn: () => client.types() });
}

/** Workers that stopped or were lost in the last day; with `internal`, also our own. */
export function useFormerWorkers(internal: boolean): UseQueryResult<FormerWorker[]> {
  return useQuery({ queryKey: ["workers", "former", internal], queryFn: () => client.formerWorkers({ internal }) });
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
export function useErrorGroups(filter: Omit<JobFilter, "status">): UseQueryResult<ErrorGroups> {
  return useQuery({
    queryKey: ["groups", filter],
    queryFn: () => client.dead.groups(filter),
    refetchInterval: everyUnlessPaused(GROUPS_MS),
    placeholderData: keepPreviousData,
    // An old answer would be held back as soon as the pointer is on it.
    gcTime: 0,
  });
}

/** What the error of a group says; the id of the group until it is known, or if no dead letter has it. */
export function useGroupWords(group: string | undefined): string {
  const { data } = useQuery({
    // Not a key of `groups`: without a group it would be the one of the whole list, which is never final.
    queryKey: ["groupWords", group],
    queryFn: () => client.dead.groups({ group }),
    enabled: group !== undefined,
    staleTime: Infinity,
  });
  const [found] = data?.groups ?? [];
  return found === undefined ? (group ?? "") : groupWords(found);
}

/** Dead and failed jobs by the value of a facet. Counted each time, as the groups of errors are. */
export function useFacetCounts(field: string, filter: JobFilter): UseQueryResult<FacetCounts> {
  return useQuery({
    queryKey: ["groups", "facets", field, filter],
    queryFn: () => client.facets(field, filter),
    refetchInterval: everyUnlessPaused(GROUPS_MS),
    placeholderData: keepPreviousData,
  });
}

/** Bulk operations of everybody, newest first. */
export function useOperations(page: NonNullable<Parameters<typeof client.bulk.list>[0]>): UseQueryResult<BulkPage> {
  return useQuery({
    queryKey: ["bulk", page],
    queryFn: () => client.bulk.list(page),
    refetchInterval: ({ state: { data } }) =>
      !isPaused.get() && data?.operations.some(({ status }) => status === "running") === true && OPERATIONS_MS,
    placeholderData: keepPreviousData,
  });
}

/** One job; null if it does not exist. */
export function useJob(id: string | null): UseQueryResult<Job | null> {
  return useQuery({ queryKey: ["job", id], queryFn: () => client.get(id ?? ""), enabled: id !== null, ...AS_IT_CAME });
}

/** Steps of a running job are polled, as long as there are not more than this. */
const MAX_FOLLOWED_STEPS = 100;

/** The steps of a job. A step that a running handler keeps is no event; the start and the end of a wait are. */
export function useSteps({ id, hasSteps, status }: Pick<Job, "id" | "hasSteps" | "status">): UseQueryResult<JobStep[]> {
  return useQuery({
    queryKey: ["job", id, "steps"],
    queryFn: () => client.steps(id),
    enabled: hasSteps,
    refetchInterval: ({ state: { data = [] } }) =>
      status === "running" && data.length <= MAX_FOLLOWED_STEPS && everyUnlessPaused(FOLLOW_MS)(),
    ...AS_IT_CAME,
  });
}

/** Every attempt of a job, and who changed it by hand. */
export interface JobHistory {
  readonly attempts: readonly JobAttempt[];
  readonly changes: readonly ManualChange[];
}

export function useJobHistory(id: string): UseQueryResult<JobHistory> {
  return useQuery({
    queryKey: ["job", id, "history"],
    queryFn: async () => {
      const [attempts, changes] = await Promise.all([client.attempts(id), client.changes(id)]);
      return { attempts, changes };
    },
  });
}

/** Who changed what. Polled: no event says that an entry was written. */
export function useAudit(query: AuditQuery): UseQueryResult<AuditPage> {
  return useQuery({
    queryKey: ["audit", query],
    queryFn: () => client.audit(query),
    refetchInterval: everyUnlessPaused(AUDIT_MS),
    placeholderData: keepPreviousData,
  });
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
