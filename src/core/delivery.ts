/**
 * A job with a webhook is followed by a delivery when it ends: a job of its own, which comes into being in the same commit as that end, so
 * that neither can be without the other. Who sends it is not decided here.
 *
 * Deliveries wait in a queue of their own beside that of the job. Its name is none that a user can give, so capacity, pause and retention of
 * the user's queue are not theirs and they are not counted among the user's jobs; and it has the partition of the queue beside it, so that
 * on Redis one script can write both.
 */
import { INTERNAL_MARK, INTERNAL_TYPES } from "./internal.ts";
import type { JobRecord, NewJob, Status } from "./job.ts";

export const WEBHOOK_TYPE = `${INTERNAL_TYPES}webhook` as const;

const SUFFIX = `${INTERNAL_MARK}webhooks`;

/** What a worker says that serves all queues of the users, and all of their delivery queues. */
export const ALL_QUEUES = "*";
export const ALL_DELIVERIES = `*${SUFFIX}`;

/** Many and far apart: the other side may be down for a day. The curve reaches its longest pause, 5 min, after the sixth. */
const RETRIES = 100;
const FIRST_PAUSE_MS = 10_000;
const TIMEOUT_MS = 30_000;

export function isDeliveryQueue(queue: string): boolean {
  return queue.endsWith(SUFFIX);
}

/** The queue of which this is the delivery queue, or itself. */
export function queueBeside(queue: string): string {
  return isDeliveryQueue(queue) ? queue.slice(0, -SUFFIX.length) : queue;
}

/** The delivery that follows when an attempt under this fence brings the job here; null when none does. */
export function deliveryOf(job: Pick<JobRecord, "id" | "queue" | "webhookUrl">, fence: number, to: Status): NewJob | null {
  if (job.webhookUrl === null || isDeliveryQueue(job.queue)) return null;
  if (to !== "completed" && to !== "failed" && to !== "dead") return null;
  return {
    id: deliveryId(job.id, fence),
    type: WEBHOOK_TYPE,
    queue: job.queue + SUFFIX,
    priority: 0,
    payload: JSON.stringify({ job_id: job.id, status: to }),
    maxRetries: RETRIES,
    maxLost: RETRIES,
    retryDelayMs: FIRST_PAUSE_MS,
    timeoutMs: TIMEOUT_MS,
    delayMs: 0,
    runAt: null,
    idempotencyKey: null,
    keyTtlMs: 0,
    fingerprint: null,
    // Its own copy: the job may be pruned before the other side is up again.
    webhookUrl: job.webhookUrl,
    tags: [],
    meta: null,
  };
}

const RANDOM_AT = 24;

/**
 * The job's own id with other random digits, which are the same whenever they are made: an end that is reported again, because its answer was
 * lost, then brings the delivery that is there already.
 */
function deliveryId(id: string, fence: number): string {
  const text = `${id} ${fence}`;
  return id.slice(0, RANDOM_AT) + hash24(text, 0x811c9dc5) + hash24(text, 0x9747b28c);
}

/** FNV-1a, folded to six digits. */
function hash24(text: string, seed: number): string {
  let hash = seed;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return ((hash ^ (hash >>> 24)) & 0xff_ffff).toString(16).padStart(6, "0");
}
