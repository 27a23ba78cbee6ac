import { type Finding, findings } from "../core/attention.ts";
import { WAITING } from "../core/job.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { QueueState, Store } from "../store/store.ts";
import { countMuted } from "./mutes.ts";
import { countStatuses, usersQueues } from "./queues.ts";
import { usersCounters } from "./stats.ts";

/**
 * Everything that needs attention now. Reads tallies, counters, the heads of lanes and the registry of workers. No job is looked at, unless
 * an error group is muted: then its jobs are counted.
 */
export async function readAttention(store: Store): Promise<Finding[]> {
  const [queues, { now, lanes }, workers] = await Promise.all([usersQueues(store), store.oldest(), store.workers()]);
  const midnight = now - (now % DAY_MS);
  const [today, muted] = await Promise.all([
    usersCounters(store, { step: "hour", from: midnight, to: now + 1 }),
    countMuted(store, midnight),
  ]);
  const failedToday = today.rows.reduce((sum, { counts: { failed = 0, dead = 0 } }) => sum + failed + dead, 0);
  return findings({
    now,
    lanes,
    workers,
    failedToday: Math.max(0, failedToday - muted.failedSince),
    muted: muted.dead,
    queues: queues.map(toFacts),
  });
}

function toFacts({ name, paused, settings: { capacity }, counts }: QueueState) {
  const byStatus = countStatuses(counts);
  const waiting = WAITING.reduce((sum, status) => sum + byStatus[status], 0);
  return { name, paused, capacity, waiting, pending: byStatus.pending, dead: byStatus.dead };
}
