import { type Finding, findings } from "../core/attention.ts";
import { isDeliveryQueue } from "../core/delivery.ts";
import { isInternalQueue } from "../core/internal.ts";
import { WAITING } from "../core/job.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { QueueState, Store } from "../store/store.ts";
import { countMuted } from "./mutes.ts";
import { countStatuses } from "./queues.ts";
import { usersCounters } from "./stats.ts";

/**
 * Everything that needs attention now. Reads tallies, counters, the heads of lanes and the registry of workers. No job is looked at, unless
 * an error group is muted: then its jobs are counted.
 */
export async function readAttention(store: Store): Promise<Finding[]> {
  const [queues, { now, lanes }, workers] = await Promise.all([store.queues(), store.oldest(), store.workers()]);
  const midnight = now - (now % DAY_MS);
  const [today, muted] = await Promise.all([
    usersCounters(store, { step: "hour", from: midnight, to: now + 1 }),
    countMuted(store, midnight),
  ]);
  const failedToday = today.rows.reduce((sum, { counts: { failed = 0, dead = 0 } }) => sum + failed + dead, 0);
  const facts = queues.map(toFacts);
  return findings({
    now,
    lanes,
    workers,
    failedToday: Math.max(0, failedToday - muted.failedSince),
    muted: muted.dead,
    queues: facts.filter(({ name }) => !isInternalQueue(name)),
    deadDeliveries: facts.reduce((sum, { name, dead }) => sum + (isDeliveryQueue(name) ? dead : 0), 0),
  });
}

function toFacts({ name, paused, settings: { capacity }, counts }: QueueState) {
  const byStatus = countStatuses(counts);
  const waiting = WAITING.reduce((sum, status) => sum + byStatus[status], 0);
  return { name, paused, capacity, waiting, pending: byStatus.pending, dead: byStatus.dead };
}
