/**
 * WHAT IS INTERNAL: the one rule. Webhook deliveries and bulk operations are jobs in internal queues, and every server starts internal workers.
 * No user enqueued or started them, so lists, counts, figures and alerts leave them out unless the caller asks for `internal`.
 */
import type { WorkerEntry } from "./worker-entry.ts";

/** Part of the name of every internal queue, and not allowed in the names of users. Engines look for it. */
export const INTERNAL_MARK = "~";

/** Internal types begin with this. */
export const INTERNAL_TYPES = "millrace:";

/** The built-in type of HTTP requests. Users enqueue its jobs, and every server runs them. */
export const HTTP_REQUEST_TYPE = "http:request";

export function isInternalQueue(queue: string): boolean {
  return queue.includes(INTERNAL_MARK);
}

/** Whether a server started this worker: it serves only internal queues, or only built-in types. */
export function isInternalWorker({ queues, types }: Pick<WorkerEntry, "queues" | "types">): boolean {
  return queues.every(isInternalQueue) || (types !== "*" && types.every(isBuiltIn));
}

/** Whether users cannot enqueue jobs of this type. */
export function isInternalType(type: string): boolean {
  return type.startsWith(INTERNAL_TYPES);
}

function isBuiltIn(type: string): boolean {
  return type === HTTP_REQUEST_TYPE || isInternalType(type);
}
