import { type Finding, findings, oldPending } from "../core/attention.ts";
import { isDeliveryQueue } from "../core/delivery.ts";
import { FLOW_QUEUE } from "../core/flow.ts";
import { isInternalQueue } from "../core/internal.ts";
import { WAITING } from "../core/job.ts";
import { obstaclesOf } from "../core/limit-obstacles.ts";
import { decodeLimits } from "../core/limits.ts";
import { DAY_MS } from "../core/time-units.ts";
import type { QueueState, Store } from "../store/store.ts";
import { countMuted } from "./mutes.ts";
import { countStatuses } from "./queues.ts";
import { usersCounters } from "./stats.ts";

/**
 * Everything that needs attention now. Reads tallies, counters, the heads of lanes and the registry of workers. No job is looked at, unless
 * an error group is muted: then its jobs are counted; or a queue with limits has old pending jobs: then the first in line is read.
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
  const limited = await limitedQueues(store, queues, oldPending({ now, lanes, workers }));
  return findings({
    now,
    lanes,
    workers,
    limited,
    failedToday: Math.max(0, failedToday - muted.failedSince),
    muted: muted.dead,
    queues: facts.filter(({ name }) => !isInternalQueue(name)),
    deadDeliveries: facts.reduce((sum, { name, dead }) => sum + (isDeliveryQueue(name) ? dead : 0), 0),
    failedFlows: facts.find(({ name }) => name === FLOW_QUEUE)?.failed ?? 0,
  });
}

/** How many queues are asked whether they wait for a limit: usually few are late at once. */
const MOST_ASKED = 20;

/** Of the queues with old pending jobs and limits, those whose first job in line waits for one. */
async function limitedQueues(
  store: Pick<Store, "limitUse" | "list">,
  queues: readonly QueueState[],
  old: ReadonlyMap<string, number>,
): Promise<ReadonlySet<string>> {
  const asked = queues.filter(({ name, settings }) => settings.limits !== null && old.has(name)).slice(0, MOST_ASKED);
  const limited = await Promise.all(asked.map(({ name, settings }) => isLimited(store, name, settings.limits)));
  return new Set(asked.filter((_, index) => limited[index]).map(({ name }) => name));
}

async function isLimited(store: Pick<Store, "limitUse" | "list">, queue: string, limits: string | null): Promise<boolean> {
  const { jobs } = await store.list({ queue, status: ["pending"], sort: "state", limit: 1 });
  const [first] = jobs;
  if (first === undefined) return false;
  const used = await store.limitUse(queue, first.limitKey === null ? [] : [first.limitKey]);
  return used !== null && obstaclesOf(decodeLimits(limits), used, used.keys[0] ?? null, first.cost).length > 0;
}

function toFacts({ name, paused, settings: { capacity }, counts }: QueueState) {
  const byStatus = countStatuses(counts);
  const waiting = WAITING.reduce((sum, status) => sum + byStatus[status], 0);
  return { name, paused, capacity, waiting, pending: byStatus.pending, failed: byStatus.failed, dead: byStatus.dead };
}
