/** WHAT NEEDS ATTENTION: what somebody on call must see first, the worst at the top. Pure: statistics in, findings out. */
import { count as grouped, counted } from "./counted.ts";
import { formatSpan } from "./duration.ts";
import { handledElsewhere, isServed } from "./explain.ts";
import { isInternalWorker } from "./internal.ts";
import { BEAT_MS } from "./work-limits.ts";
import type { WorkerEntry } from "./worker-entry.ts";

/** Every code that a finding can have. The list is closed. */
export const FINDING_CODES = [
  "dead_jobs",
  "dead_deliveries",
  "failed_flows",
  "no_workers",
  "no_worker",
  "queue_full",
  "queue_nearly_full",
  "queue_behind",
  "queue_paused",
  "worker_silent",
  "handlers_abandoned",
] as const;

/** How bad a finding is: `bad` loses work or time now, `warning` may. */
export const SEVERITIES = ["bad", "warning"] as const;

/** Something that is wrong, or may be. */
export interface Finding {
  readonly code: (typeof FINDING_CODES)[number];
  readonly severity: (typeof SEVERITIES)[number];
  readonly message: string;
  /** What it means, or what to do. */
  readonly hint: string;
  /** The queue that it is about, if it is about one. */
  readonly queue: string | null;
  /** The type of job that it is about, if it is about one. */
  readonly type: string | null;
  /** How many jobs, flows, types, workers or handlers it is about. */
  readonly count: number;
}

export interface Situation {
  readonly now: number;
  /** Of the users' queues. */
  readonly queues: readonly {
    readonly name: string;
    readonly paused: boolean;
    readonly capacity: number | null;
    /** Jobs that wait: pending, scheduled and retrying. */
    readonly waiting: number;
    readonly pending: number;
    readonly dead: number;
  }[];
  /** Webhook deliveries whose retries are used up. They are internal, but a user waits for them. */
  readonly deadDeliveries: number;
  /** Flows that ended, and not all of their members completed. They are kept until somebody acts. */
  readonly failedFlows: number;
  /** How many jobs ended dead or failed since midnight UTC, without those of muted errors. */
  readonly failedToday: number;
  /** How many dead jobs have a muted error. */
  readonly muted: number;
  /** Queues whose jobs wait for a limit that is reached. They are not behind: more workers would not help. */
  readonly limited: ReadonlySet<string>;
  /** Each queue and type with pending jobs, and when the longest due of them was due. */
  readonly lanes: readonly { readonly queue: string; readonly type: string; readonly runAt: number }[];
  /** Live workers, our own too. */
  readonly workers: readonly (WorkerEntry & { readonly heartbeatAt: number })[];
}

/** Two heartbeats in a row did not come. With the third, its entry expires, and the worker is gone. */
export const LATE_BEAT_MS = 2 * BEAT_MS;
const NEARLY_FULL = 0.9;
/** A pending job that has been due for longer than this is worth a look. */
export const OLD_MS = 5 * 60_000;
/** How many types without a worker are listed one by one. The others share a finding. */
const MOST_TYPES = 50;

/** Everything that needs attention, the worst first. */
export function findings(situation: Situation): Finding[] {
  const found = [
    ...deadJobs(situation),
    ...deadDeliveries(situation),
    ...failedFlows(situation),
    ...typesWithoutWorker(situation),
    ...fullQueues(situation),
    ...queuesBehind(situation),
    ...silentWorkers(situation),
    ...abandonedHandlers(situation),
    ...pausedQueues(situation),
  ];
  return found.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

function finding(
  code: Finding["code"],
  severity: Finding["severity"],
  message: string,
  hint: string,
  about: Partial<Pick<Finding, "queue" | "type" | "count">>,
): Finding {
  return { code, severity, message, hint, queue: null, type: null, count: 1, ...about };
}

function deadJobs({ queues, failedToday, muted }: Situation): Finding[] {
  const count = queues.reduce((sum, { dead }) => sum + dead, -muted);
  if (count <= 0) return [];
  const message = `${counted(count, "dead job needs", "dead jobs need")} review`;
  const others = muted === 0 ? "" : `; ${grouped(muted)} more ${muted === 1 ? "has" : "have"} a muted error`;
  if (failedToday === 0) return [finding("dead_jobs", "warning", message, `none failed since midnight UTC${others}`, { count })];
  const hint = `${counted(failedToday, "job")} failed for good since midnight UTC${others}`;
  return [finding("dead_jobs", "bad", message, hint, { count })];
}

function deadDeliveries({ deadDeliveries: count }: Situation): Finding[] {
  if (count === 0) return [];
  const hint = "all retries failed. When the receiver works again: millrace retry-dead --internal --type millrace:webhook";
  return [finding("dead_deliveries", "warning", `${counted(count, "webhook was", "webhooks were")} not delivered`, hint, { count })];
}

function failedFlows({ failedFlows: count }: Situation): Finding[] {
  if (count === 0) return [];
  const [their, them] = count === 1 ? ["its", "it"] : ["their", "them"];
  const hint = `not all of ${their} members completed; retry or delete ${them}`;
  return [finding("failed_flows", "warning", counted(count, "flow failed", "flows failed"), hint, { count })];
}

/** Workers that users started, without those that servers run. */
export function usersWorkers<Worker extends Pick<WorkerEntry, "queues" | "types">>(workers: readonly Worker[]): Worker[] {
  return workers.filter((worker) => !isInternalWorker(worker));
}

/** By the rule of `explain`, so that both say the same of a job. Paused queues have a finding of their own, and internal ones are not the users'. */
function typesWithoutWorker({ now, queues, lanes, workers }: Situation): Finding[] {
  const open = new Set(queues.filter(({ paused }) => !paused).map(({ name }) => name));
  const unserved = lanes.filter((lane) => open.has(lane.queue) && !isServed(lane, workers));
  if (unserved.length > 0 && usersWorkers(workers).length === 0) {
    // Types, not jobs: tallies know a queue, but not its types, and servers may take some of these jobs (`http:request`).
    const count = new Set(unserved.map(({ type }) => type)).size;
    const message = `No worker is running, and jobs of ${counted(count, "type")} are pending`;
    return [finding("no_workers", "bad", message, "start one: millrace worker --handlers ./jobs.ts", { count })];
  }
  const listed = unserved
    .toSorted((a, b) => a.runAt - b.runAt)
    .slice(0, MOST_TYPES)
    .map(({ queue, type, runAt }) => {
      const waited = `its oldest job has waited for ${formatSpan(Math.max(0, now - runAt))}`;
      const elsewhere = handledElsewhere({ queue, type }, workers);
      const hint = elsewhere === null ? waited : `${elsewhere}; ${waited}`;
      return finding("no_worker", "bad", `No live worker handles ${type} in ${queue}`, hint, { queue, type });
    });
  const count = unserved.length - listed.length;
  if (count === 0) return listed;
  const hint = "those that have waited longest are listed";
  return [...listed, finding("no_worker", "bad", `No live worker handles ${counted(count, "more type")}`, hint, { count })];
}

function fullQueues({ queues }: Situation): Finding[] {
  return queues.flatMap(({ name: queue, capacity, waiting: count }): Finding[] => {
    if (capacity === null || count < capacity * NEARLY_FULL) return [];
    const hint = `${counted(count, "job waits", "jobs wait")}; the capacity is ${grouped(capacity)}`;
    return count >= capacity
      ? [finding("queue_full", "bad", `${queue} is full: new jobs are refused`, hint, { queue, count })]
      : [finding("queue_nearly_full", "warning", `${queue} is nearly full`, hint, { queue, count })];
  });
}

/** When the longest due job that a worker takes was due, in each queue where that is too long ago. */
export function oldPending({ now, lanes, workers }: Pick<Situation, "now" | "lanes" | "workers">): ReadonlyMap<string, number> {
  const oldest = new Map<string, number>();
  for (const lane of lanes) {
    const { queue, runAt } = lane;
    if (now - runAt >= OLD_MS && runAt < (oldest.get(queue) ?? Infinity) && isServed(lane, workers)) oldest.set(queue, runAt);
  }
  return oldest;
}

/** Paused queues, and types without a worker, have findings of their own. */
function queuesBehind(situation: Situation): Finding[] {
  const { now, queues, limited } = situation;
  const oldest = oldPending(situation);
  return queues.flatMap(({ name: queue, paused, pending: count }): Finding[] => {
    const runAt = oldest.get(queue);
    if (paused || runAt === undefined || limited.has(queue)) return [];
    const waitedMs = now - runAt;
    const message = `${queue} is behind: its oldest job has waited for ${formatSpan(waitedMs)}`;
    return [finding("queue_behind", "warning", message, `${counted(count, "job is", "jobs are")} pending in it`, { queue, count })];
  });
}

function silentWorkers({ workers, now }: Situation): Finding[] {
  const late = usersWorkers(workers).filter(({ heartbeatAt }) => now - heartbeatAt > LATE_BEAT_MS);
  const [first] = late;
  if (first === undefined) return [];
  const message = late.length === 1 ? `Worker ${first.id} on ${first.host} is silent` : `${late.length} workers are silent`;
  const hint = `last heartbeat ${formatSpan(now - first.heartbeatAt)} ago; other workers get its jobs when their leases run out`;
  return [finding("worker_silent", "warning", message, hint, { count: late.length })];
}

function abandonedHandlers({ workers }: Situation): Finding[] {
  const count = usersWorkers(workers).reduce((sum, { abandoned }) => sum + abandoned, 0);
  if (count === 0) return [];
  const message = counted(count, "handler ignored its abort and still runs", "handlers ignored their abort and still run");
  return [finding("handlers_abandoned", "warning", message, "a handler should end when its signal aborts", { count })];
}

function pausedQueues({ queues }: Situation): Finding[] {
  return queues
    .filter(({ paused }) => paused)
    .map(({ name: queue, pending: count }) => {
      const hint = count === 0 ? "no job is pending in it" : `${counted(count, "job is", "jobs are")} pending in it`;
      return finding("queue_paused", "warning", `${queue} is paused`, hint, { queue, count });
    });
}
