import { explain, type Explanation, MOST_AHEAD, typesBeside } from "../core/explain.ts";
import { isTerminal } from "../core/job.ts";
import type { Store } from "../store/store.ts";
import { jobNotFound, readId } from "./refusals.ts";

type Looks = Pick<Store, "find" | "workers" | "queues" | "schedules" | "ahead">;

/** Reads the job and, depending on its status, what it waits for. The reads are not one snapshot. */
export async function explainJob(store: Looks, id: string): Promise<Explanation> {
  const [job] = await store.find([readId(id)]);
  if (job === undefined || job === null) throw jobNotFound(id);
  const facts = { job, now: 0, paused: false, workers: [], ahead: 0 };
  if (isTerminal(job.status)) return { reasons: explain(facts) };
  const [workers, queues, { now }] = await Promise.all([store.workers(), store.queues(), store.schedules([])]);
  const paused = queues.some(({ name, paused }) => name === job.queue && paused);
  const ahead = job.status === "pending" ? await store.ahead(id, typesBeside(job, workers), MOST_AHEAD) : null;
  // If it left its lane meanwhile, nothing was before it.
  return { reasons: explain({ ...facts, now, paused, workers, ahead: ahead ?? 0 }) };
}
