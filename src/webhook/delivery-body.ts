/** WHAT A DELIVERY SAYS: that a job has ended, and how. Built when it is sent, in the words of the HTTP API. */
import { resultOf } from "../core/json-text.ts";
import type { AttemptError, Job, Status } from "../core/job.ts";

/** The ends of a job that are delivered. */
export const DELIVERED = ["completed", "failed", "dead"] as const satisfies Status[];
export type DeliveredStatus = (typeof DELIVERED)[number];

/** The end of a job: what the delivery itself knows of it. */
export interface JobEnd {
  readonly jobId: string;
  readonly status: DeliveredStatus;
  readonly queue: string;
}

/**
 * The body. The payload is left out: it was the producer's, and may hold what the receiver should not have. A job that is gone, or was
 * given a new life since, is told by what is known of the end that this delivery is about.
 */
export function deliveryBody(end: JobEnd, job: Job | null): unknown {
  const isStillSo = job !== null && job.status === end.status;
  return {
    type: `job.${end.status}`,
    timestamp: isStillSo ? time(job.completedAt) : null,
    data: isStillSo ? describe(job) : { id: end.jobId, status: end.status, queue: end.queue },
  };
}

function describe(job: Job): Record<string, unknown> {
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    status: job.status,
    result: resultOf(job),
    error: withoutStack(job.error),
    attempt: job.attempt,
    retry_count: job.retryCount,
    max_retries: job.maxRetries,
    lost_count: job.lostCount,
    max_lost: job.maxLost,
    tags: job.tags,
    meta: job.meta,
    created_at: time(job.createdAt),
    started_at: time(job.startedAt),
    completed_at: time(job.completedAt),
    duration_ms: job.durationMs,
  };
}

/** A stack tells of our insides, and the receiver is somebody else. */
function withoutStack(error: AttemptError | null): Omit<AttemptError, "stack"> | null {
  return error === null ? null : { name: error.name, message: error.message, kind: error.kind };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
