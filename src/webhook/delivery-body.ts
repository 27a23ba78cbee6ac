/** THE BODY OF A DELIVERY: that a job or a flow has ended, and how. Built when it is sent, in the format of the HTTP API. */
import type { Flow } from "../client/client.ts";
import { resultOf } from "../core/json-text.ts";
import type { AttemptError, Job, Status } from "../core/job.ts";

export const DELIVERED = ["completed", "failed", "dead"] as const satisfies Status[];
export type DeliveredStatus = (typeof DELIVERED)[number];

/** The end of a job, as the delivery knows it. */
export interface JobEnd {
  readonly jobId: string;
  readonly status: DeliveredStatus;
  readonly queue: string;
}

/** The body, without the payload, which the receiver may not be meant to see. If the job is gone or was retried, only what the delivery knows. */
export function deliveryBody(end: JobEnd, job: Job | null): unknown {
  const isUnchanged = job !== null && job.status === end.status;
  return {
    type: `job.${end.status}`,
    timestamp: isUnchanged ? time(job.completedAt) : null,
    data: isUnchanged ? describe(job) : { id: end.jobId, status: end.status, queue: end.queue },
  };
}

/** The same for a flow. */
export function flowDeliveryBody(end: JobEnd, flow: Flow | null): unknown {
  const isUnchanged = flow !== null && flow.status === end.status;
  return {
    type: `flow.${end.status}`,
    timestamp: isUnchanged ? time(flow.endedAt) : null,
    data: isUnchanged ? describeFlow(flow) : { id: end.jobId, status: end.status },
  };
}

function describeFlow(flow: Flow): Record<string, unknown> {
  return {
    id: flow.id,
    status: flow.status,
    key: flow.key,
    members: flow.members,
    completed: flow.completed,
    failed: flow.failed,
    cancelled: flow.cancelled,
    open: flow.open,
    stuck: flow.stuck,
    tags: flow.tags,
    meta: flow.meta,
    created_at: time(flow.createdAt),
    ended_at: time(flow.endedAt),
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

/** A stack shows our code to somebody else. */
function withoutStack(error: AttemptError | null): Omit<AttemptError, "stack"> | null {
  return error === null ? null : { name: error.name, message: error.message, kind: error.kind };
}

function time(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
