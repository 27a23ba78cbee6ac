import type { WorkerEntry } from "../../src/core/worker-entry.ts";
import { type Census, countIn, countWhere, inQueue, WAITING } from "./census.ts";
import type { Contents, Filled } from "./contents.ts";

/** What needs attention, as "code queue type: count", by plain code over all jobs and workers. */
export function expectedFindings({ all, users }: Census, { settings }: Contents, { workers, internalWorkers }: Filled): string[] {
  const found: string[] = [];
  const add = (code: string, count: number, about = ""): void => void (count > 0 && found.push(`${code}${about}: ${count}`));
  add("dead_jobs", countIn(users, "dead"));
  add(
    "dead_deliveries",
    countWhere(all, ({ type, status }) => type === "millrace:webhook" && status === "dead"),
  );
  const takes = ({ queues, types, state, slots, abandoned }: WorkerEntry, queue: string, type: string): boolean =>
    (queues.includes("*") || queues.includes(queue)) &&
    (types === "*" || types.includes(type)) &&
    state !== "stopping" &&
    abandoned < slots;
  const lanes = new Map(users.filter(({ status }) => status === "pending").map((job) => [`${job.queue} ${job.type}`, job]));
  const unserved = [...lanes.values()].filter(
    ({ queue, type }) =>
      !settings[queue as keyof typeof settings].paused && ![...workers, ...internalWorkers].some((worker) => takes(worker, queue, type)),
  );
  if (workers.length === 0) add("no_workers", new Set(unserved.map(({ type }) => type)).size);
  else for (const { queue, type } of unserved) add("no_worker", 1, ` ${queue} ${type}`);
  for (const [queue, { paused, capacity }] of Object.entries(settings)) {
    const jobs = inQueue(users, queue);
    const waiting = countIn(jobs, ...WAITING);
    if (capacity !== null && waiting >= capacity) add("queue_full", waiting, ` ${queue}`);
    else if (capacity !== null && waiting >= 0.9 * capacity) add("queue_nearly_full", waiting, ` ${queue}`);
    if (paused) found.push(`queue_paused ${queue}: ${countIn(jobs, "pending")}`);
  }
  add("handlers_abandoned", workers.reduce((sum, { abandoned }) => sum + abandoned, 0)); // oxfmt-ignore
  return found.sort();
}
