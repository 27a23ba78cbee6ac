/**
 * When a job with a webhook ends, the same commit inserts its delivery: a job of its own. So neither exists without the other.
 *
 * Deliveries wait in an internal queue beside that of the job, with a name that no user can give. So the capacity, pause and retention of
 * the user's queue do not apply to them, and they are not counted as the user's jobs. Both queues have the same partition, so that one Redis
 * script can write both.
 */
import { INTERNAL_MARK, INTERNAL_TYPES } from "./internal.ts";
import { type JobRecord, type NewJob, PLAIN_JOB, type Status } from "./job.ts";

export const WEBHOOK_TYPE = `${INTERNAL_TYPES}webhook` as const;

const SUFFIX = `${INTERNAL_MARK}webhooks`;

/** For workers that serve all queues of users, and all of their delivery queues. */
export const ALL_QUEUES = "*";
export const ALL_DELIVERIES = `*${SUFFIX}`;

/** With the pauses of webhook/deliver.ts, which grow to an hour, these last for almost four days. */
const RETRIES = 100;
const FIRST_PAUSE_MS = 10_000;
const TIMEOUT_MS = 30_000;

export function isDeliveryQueue(queue: string): boolean {
  return queue.endsWith(SUFFIX);
}

/** The queue to which this delivery queue belongs; any other queue is returned as it is. */
export function queueBeside(queue: string): string {
  return isDeliveryQueue(queue) ? queue.slice(0, -SUFFIX.length) : queue;
}

/** The delivery to insert when an attempt with this fence moves the job to this status; null if there is none. */
export function deliveryOf(job: Pick<JobRecord, "id" | "queue" | "webhookUrl">, fence: number, to: Status): NewJob | null {
  if (job.webhookUrl === null || isDeliveryQueue(job.queue)) return null;
  if (to !== "completed" && to !== "failed" && to !== "dead") return null;
  return {
    id: deliveryId(job.id, fence),
    type: WEBHOOK_TYPE,
    queue: job.queue + SUFFIX,
    ...PLAIN_JOB,
    payload: JSON.stringify({ job_id: job.id, status: to }),
    maxRetries: RETRIES,
    maxLost: RETRIES,
    retryDelayMs: FIRST_PAUSE_MS,
    timeoutMs: TIMEOUT_MS,
    // A copy, because the job may be pruned before its webhook answers again.
    webhookUrl: job.webhookUrl,
  };
}

const RANDOM_AT = 24;

/** The job's id with other digits at the end, always the same ones: an end that is reported twice gives the same delivery. */
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
