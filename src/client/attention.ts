import { type Finding, findings } from "../core/attention.ts";
import { WAITING } from "../core/job.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { QueueState, Store } from "../store/store.ts";
import { countStatuses, usersQueues } from "./queues.ts";
import { usersCounters } from "./stats.ts";

/** Everything that needs attention now. Reads tallies, counters, the heads of lanes and the registry of workers: no job is looked at. */
export async function readAttention(store: Store): Promise<Finding[]> {
  const [queues, { now, lanes }, workers] = await Promise.all([usersQueues(store), store.oldest(), store.workers()]);
  const today = await usersCounters(store, { step: "hour", from: now - (now % DAY_MS), to: now + 1 });
  const failedToday = today.rows.reduce((sum, { counts: { failed = 0, dead = 0 } }) => sum + failed + dead, 0);
  return findings({ now, lanes, workers, failedToday, queues: queues.map(toFacts) });
}

function toFacts({ name, paused, settings: { capacity }, counts }: QueueState) {
  const byStatus = countStatuses(counts);
  const waiting = WAITING.reduce((sum, status) => sum + byStatus[status], 0);
  return { name, paused, capacity, waiting, pending: byStatus.pending, dead: byStatus.dead };
}
