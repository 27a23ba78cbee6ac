import { isDeliveryQueue } from "../core/delivery.ts";
import { type Status, STATUSES, WAITING } from "../core/job.ts";
import { readQueue } from "../core/job-options.ts";
import { readQueueOptions } from "../core/queue-input.ts";
import { STRICT_HEAD_START_MS } from "../core/rank.ts";
import type { Clock } from "../lib/clock.ts";
import { MAX_BATCH, type QueueState, type Store } from "../store/store.ts";
import type { Announcer } from "./announcer.ts";
import type { LevelCounts, QueueInfo, StatusCounts } from "./client.ts";

export interface QueueParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly announcer: Announcer;
}

/** Every queue by name, with its settings and counts. */
export async function listQueues(store: Store): Promise<QueueInfo[]> {
  const queues = await usersQueues(store);
  return queues.map(toQueueInfo).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Without those that deliveries wait in: nobody made them, and nothing can be set there. */
export async function usersQueues(store: Pick<Store, "queues">): Promise<QueueState[]> {
  return (await store.queues()).filter(({ name }) => !isDeliveryQueue(name));
}

/** Changes the named settings. With a new head start it stays until the waiting jobs have their new rank; upkeep ends what a crash left. */
export async function configureQueue({ store }: QueueParts, queue: string, settings: unknown): Promise<void> {
  readQueue(queue);
  const change = readQueueOptions(settings);
  await store.configure(queue, change);
  if (change.headStartMs === undefined) return;
  while (await store.rerank(queue, MAX_BATCH));
}

/** Pauses or resumes a queue, and announces it. */
export async function setPaused({ store, clock, announcer }: QueueParts, queue: string, paused: boolean): Promise<void> {
  readQueue(queue);
  await store.configure(queue, { paused });
  if (announcer.wanted()) announcer.publish([{ event: paused ? "queue:paused" : "queue:resumed", at: clock.now(), queue }]);
}

/** Counts by status, over all levels. */
export function countStatuses(counts: QueueState["counts"]): StatusCounts {
  const sums = Object.fromEntries(STATUSES.map((status) => [status, 0])) as Record<Status, number>;
  for (const { status, count } of counts) sums[status] += count;
  return sums;
}

/** Waiting jobs by level. */
export function countLevels(counts: QueueState["counts"]): LevelCounts {
  const sums = { critical: 0, high: 0, default: 0, low: 0 };
  for (const { status, level, count } of counts) if (WAITING.includes(status)) sums[level] += count;
  return sums;
}

function toQueueInfo({ name, paused, counts, settings }: QueueState): QueueInfo {
  const { ageMs, count, keepAtLeastMs } = settings.retention;
  return {
    name,
    paused,
    counts: countStatuses(counts),
    waiting: countLevels(counts),
    capacity: settings.capacity,
    headStart: settings.headStartMs === STRICT_HEAD_START_MS ? null : settings.headStartMs,
    deadLetters: settings.deadLetters,
    retention: { age: ageMs, count, keepAtLeast: keepAtLeastMs },
  };
}
