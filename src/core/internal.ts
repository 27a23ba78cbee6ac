/**
 * WHAT IS OUR OWN: the one rule. Webhook deliveries and bulk operations are jobs in queues of ours, and every server brings workers of ours.
 * Nobody enqueued the ones or started the others, so lists, counts, figures and alerts leave them out, unless somebody asks for `internal`.
 */
import type { WorkerEntry } from "./worker-entry.ts";

/** Stands in the name of every queue of ours, and in none that a user can give. Engines look for it. */
export const INTERNAL_MARK = "~";

/** Types of our own begin so. */
export const INTERNAL_TYPES = "millrace:";

/** The built-in type of requests: its jobs are the users', but every server works them. */
export const HTTP_REQUEST_TYPE = "http:request";

/** Whether a queue is our own. */
export function isInternalQueue(queue: string): boolean {
  return queue.includes(INTERNAL_MARK);
}

/** Whether a worker is one that servers bring: it serves nothing but queues of our own, or nothing but types that are built in. */
export function isInternalWorker({ queues, types }: Pick<WorkerEntry, "queues" | "types">): boolean {
  return queues.every(isInternalQueue) || (types !== "*" && types.every(isBuiltIn));
}

function isBuiltIn(type: string): boolean {
  return type === HTTP_REQUEST_TYPE || type.startsWith(INTERNAL_TYPES);
}
