/** WHAT NEEDS ATTENTION: what somebody on call must see first, the worst at the top. Pure: statistics in, findings out. */
import { serves } from "../core/explain.ts";
import { isInternalWorker } from "../core/internal.ts";
import type { JobSummary } from "../core/job.ts";
import type { Queue, Stats, Worker } from "./shapes.ts";
import { counted } from "../core/counted.ts";
import { span } from "./format.ts";
import type { JobSearch } from "./job-search.ts";

/** Something that is wrong, or may be. */
export interface Finding {
  readonly key: string;
  readonly severity: "bad" | "warning";
  readonly text: string;
  /** What it means, or what to do. */
  readonly hint: string;
  /** Where to see more. */
  readonly to: "/jobs" | "/dead" | "/queues" | "/workers";
  readonly search?: JobSearch;
}

export interface Situation {
  readonly stats: Stats;
  readonly queues: readonly Queue[];
  /** All workers, internal ones included. */
  readonly workers: readonly Worker[];
  /** Some of the newest pending jobs. */
  readonly pending: readonly JobSummary[];
  readonly now: number;
}

/** A worker sends a heartbeat every 5 s. */
export const LATE_BEAT_MS = 15_000;
const NEARLY_FULL = 0.9;
/** A job that waits for longer than this is worth a look. */
export const OLD_MS = 5 * 60_000;

export function findings(situation: Situation): Finding[] {
  const found = [
    ...deadLetters(situation),
    ...nobodyWorks(situation),
    ...typesWithoutWorker(situation).map(toFinding),
    ...fullQueues(situation),
    ...oldBacklogs(situation),
    ...lateWorkers(situation),
    ...abandonedHandlers(situation),
    ...pausedQueues(situation),
  ];
  return found.sort((a, b) => Number(a.severity !== "bad") - Number(b.severity !== "bad"));
}

function deadLetters({ stats }: Situation): Finding[] {
  if (stats.deadCount === 0) return [];
  const { failed } = stats.today;
  return [
    {
      key: "dead",
      severity: failed > 0 ? "bad" : "warning",
      text: `${counted(stats.deadCount, "dead letter waits", "dead letters wait")} for a decision`,
      hint: failed > 0 ? `${counted(failed, "job")} failed for good since midnight UTC` : "none failed since midnight UTC",
      to: "/dead",
    },
  ];
}

/** Workers that users started, without those that servers run. */
export function usersWorkers(workers: readonly Worker[]): Worker[] {
  return workers.filter((worker) => !isInternalWorker(worker));
}

function nobodyWorks({ stats, workers, pending }: Situation): Finding[] {
  if (usersWorkers(workers).length > 0 || stats.counts.pending === 0) return [];
  // Internal workers may handle all of these jobs.
  if (pending.length > 0 && pending.every((job) => workers.some((worker) => serves(worker, job)))) return [];
  return [
    {
      key: "no workers",
      severity: "bad",
      text: `No worker is running, and ${counted(stats.counts.pending, "job waits", "jobs wait")}`,
      hint: "start one: millrace worker --handlers ./jobs.ts",
      to: "/workers",
    },
  ];
}

/** A type with waiting jobs in a queue where no worker handles it. */
export interface UnhandledType {
  readonly type: string;
  readonly queue: string;
  readonly jobs: number;
}

/** Types that no worker handles, as far as the given jobs show. A very common silent failure. */
export function typesWithoutWorker({ workers, pending }: Pick<Situation, "workers" | "pending">): UnhandledType[] {
  if (usersWorkers(workers).length === 0) return [];
  const unhandled = new Map<string, UnhandledType>();
  for (const { type, queue } of pending) {
    if (workers.some((worker) => serves(worker, { type, queue }))) continue;
    const key = `${queue} ${type}`;
    unhandled.set(key, { type, queue, jobs: (unhandled.get(key)?.jobs ?? 0) + 1 });
  }
  return [...unhandled.values()].sort((a, b) => b.jobs - a.jobs);
}

function toFinding({ type, queue, jobs }: UnhandledType): Finding {
  return {
    key: `unhandled ${queue} ${type}`,
    severity: "bad",
    text: `No live worker handles ${type} in ${queue}`,
    hint: `at least ${counted(jobs, "job waits", "jobs wait")} for one`,
    to: "/jobs",
    search: { status: "pending", type, queue },
  };
}

function fullQueues({ queues }: Situation): Finding[] {
  return queues.flatMap(({ name, capacity, counts }): Finding[] => {
    const waiting = counts.pending + counts.scheduled + counts.retrying;
    if (capacity === null || waiting < capacity * NEARLY_FULL) return [];
    const isFull = waiting >= capacity;
    return [
      {
        key: `full ${name}`,
        severity: isFull ? "bad" : "warning",
        text: isFull ? `${name} is full: new jobs are refused` : `${name} is nearly full`,
        hint: `${counted(waiting, "job waits", "jobs wait")}; the capacity is ${capacity}`,
        to: "/queues",
      },
    ];
  });
}

/** Paused queues have a finding of their own. */
function oldBacklogs({ queues }: Situation): Finding[] {
  return queues.flatMap(({ name, oldestWaitingMs, counts, paused }): Finding[] => {
    if (paused || oldestWaitingMs === null || oldestWaitingMs < OLD_MS) return [];
    return [
      {
        key: `old ${name}`,
        severity: "warning",
        text: `${name} is behind: its oldest job has waited for ${span(oldestWaitingMs)}`,
        hint: `${counted(counts.pending, "job waits", "jobs wait")} in it`,
        to: "/jobs",
        search: { status: "pending", queue: name },
      },
    ];
  });
}

function lateWorkers({ workers, now }: Situation): Finding[] {
  const late = usersWorkers(workers).filter(({ heartbeatAt }) => now - heartbeatAt > LATE_BEAT_MS);
  const [first] = late;
  if (first === undefined) return [];
  const text = late.length === 1 ? `Worker ${first.id} on ${first.host} is silent` : `${late.length} workers are silent`;
  const hint = `last heartbeat ${span(now - first.heartbeatAt)} ago; other workers get its jobs when their leases run out`;
  return [{ key: "late", severity: "warning", text, hint, to: "/workers" }];
}

function abandonedHandlers({ workers }: Situation): Finding[] {
  const abandoned = usersWorkers(workers).reduce((sum, worker) => sum + worker.abandoned, 0);
  if (abandoned === 0) return [];
  return [
    {
      key: "abandoned",
      severity: "warning",
      text: counted(abandoned, "handler ignored its abort and still runs", "handlers ignored their abort and still run"),
      hint: "a handler should end when its signal aborts",
      to: "/workers",
    },
  ];
}

function pausedQueues({ queues }: Situation): Finding[] {
  return queues
    .filter(({ paused }) => paused)
    .map(({ name, counts }) => ({
      key: `paused ${name}`,
      severity: "warning",
      text: `${name} is paused`,
      hint: counts.pending === 0 ? "no job waits in it" : `${counted(counts.pending, "job waits", "jobs wait")} in it`,
      to: "/queues",
    }));
}
