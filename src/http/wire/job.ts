/**
 * A JOB ON THE WIRE, both ways. Written out field by field: this runs for every job on the wire. Payload and result may be JsonText, so use
 * `stringifyJson` to write it.
 */
import type { EnqueuedJob } from "../../client/client.ts";
import { type Job, type JobSummary, type LogLine, USUAL_JOB, usualMaxLost } from "../../core/job.ts";
import type { JobAttempt, ManualChange } from "../../core/manual-change.ts";
import { payloadOf, resultOf } from "../../core/json-text.ts";
import type { JobSummaryWire, JobWire, PrunedJobWire } from "../contract/schemas.ts";
import type { AnswerFrom } from "../contract.ts";
import { fromPriority, fromTime, fromTimeOrNull, toPriority, toTime, toTimeOrNull } from "./values.ts";

type AttemptWire = AnswerFrom<"GET /api/v1/jobs/{id}/attempts">["attempts"][number];
type ManualChangeWire = AnswerFrom<"GET /api/v1/jobs/{id}/changes">["changes"][number];
type LogLineWire = AnswerFrom<"GET /api/v1/jobs/{id}/logs">["lines"][number];

export function toJobWire(job: Job): JobWire {
  const wire = toSummaryWire(job) as JobWire;
  wire.payload = payloadOf(job);
  wire.result = resultOf(job);
  return wire;
}

export function toSummaryWire(job: JobSummary): JobSummaryWire {
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    priority: toPriority(job.priority),
    status: job.status,
    max_retries: job.maxRetries,
    retry_count: job.retryCount,
    max_lost: job.maxLost,
    lost_count: job.lostCount,
    attempt: job.attempt,
    retry_delay: job.retryDelay,
    backoff: job.backoff,
    timeout: job.timeout,
    error: job.error,
    progress: job.progress,
    idempotency_key: job.idempotencyKey,
    webhook_url: job.webhookUrl,
    tags: job.tags as string[],
    meta: job.meta,
    facets: job.facets,
    limit_key: job.limitKey,
    cost: job.cost,
    has_steps: job.hasSteps,
    parent: job.parent,
    flow: job.flow,
    coalesce: job.coalesce,
    start_within: job.startWithin,
    worker_id: job.workerId,
    fence: job.fence,
    created_at: toTime(job.createdAt),
    updated_at: toTime(job.updatedAt),
    scheduled_at: toTimeOrNull(job.scheduledAt),
    started_at: toTimeOrNull(job.startedAt),
    completed_at: toTimeOrNull(job.completedAt),
    duration_ms: job.durationMs,
  };
}

export function toEnqueuedWire(job: EnqueuedJob): JobWire | PrunedJobWire {
  if (job.pruned) return { id: job.id, type: job.type, queue: job.queue, status: job.status, pruned: true };
  return job.outcome === undefined ? toJobWire(job) : { ...toJobWire(job), outcome: job.outcome };
}

export function fromJobWire(wire: JobWire): Job {
  return { ...fromSummaryWire(wire), payload: wire.payload, result: wire.result };
}

export function fromSummaryWire(wire: JobSummaryWire): JobSummary {
  return {
    id: wire.id,
    type: wire.type,
    queue: wire.queue,
    priority: fromPriority(wire.priority),
    status: wire.status,
    maxRetries: wire.max_retries,
    retryCount: wire.retry_count,
    maxLost: wire.max_lost,
    lostCount: wire.lost_count,
    attempt: wire.attempt,
    retryDelay: wire.retry_delay,
    backoff: wire.backoff,
    timeout: wire.timeout,
    error: wire.error,
    progress: wire.progress,
    idempotencyKey: wire.idempotency_key,
    webhookUrl: wire.webhook_url,
    tags: wire.tags,
    meta: wire.meta,
    facets: wire.facets,
    // A server of an older version does not send these.
    limitKey: wire.limit_key ?? null,
    cost: wire.cost ?? 1,
    hasSteps: wire.has_steps ?? false,
    parent: wire.parent ?? null,
    flow: wire.flow ?? null,
    coalesce: wire.coalesce ?? null,
    startWithin: wire.start_within ?? null,
    workerId: wire.worker_id,
    fence: wire.fence,
    createdAt: fromTime(wire.created_at),
    updatedAt: fromTime(wire.updated_at),
    scheduledAt: fromTimeOrNull(wire.scheduled_at),
    startedAt: fromTimeOrNull(wire.started_at),
    completedAt: fromTimeOrNull(wire.completed_at),
    durationMs: wire.duration_ms,
  };
}

/** Of a pruned job, only id, type, queue and status are known. The other fields have neutral values. */
export function fromPrunedWire(wire: PrunedJobWire, idempotencyKey: string | null): EnqueuedJob {
  return {
    id: wire.id,
    type: wire.type,
    queue: wire.queue,
    priority: 0,
    status: wire.status,
    maxRetries: USUAL_JOB.maxRetries,
    retryCount: 0,
    maxLost: usualMaxLost(USUAL_JOB.maxRetries),
    lostCount: 0,
    attempt: 0,
    retryDelay: USUAL_JOB.retryDelay,
    backoff: USUAL_JOB.backoff,
    timeout: USUAL_JOB.timeout,
    error: null,
    progress: null,
    idempotencyKey,
    webhookUrl: null,
    tags: [],
    meta: null,
    facets: null,
    limitKey: null,
    cost: 1,
    hasSteps: false,
    parent: null,
    flow: null,
    coalesce: null,
    startWithin: null,
    workerId: null,
    fence: 0,
    createdAt: 0,
    updatedAt: 0,
    scheduledAt: null,
    startedAt: null,
    completedAt: null,
    durationMs: null,
    payload: null,
    result: null,
    created: false,
    pruned: true,
  };
}

export function toAttemptWire(attempt: JobAttempt): AttemptWire {
  return {
    number: attempt.number,
    life: attempt.life,
    worker_id: attempt.workerId,
    started_at: toTime(attempt.startedAt),
    ended_at: toTimeOrNull(attempt.endedAt),
    duration_ms: attempt.durationMs,
    outcome: attempt.outcome,
    error: attempt.error,
  };
}

export function fromAttemptWire(wire: AttemptWire): JobAttempt {
  return {
    number: wire.number,
    life: wire.life,
    workerId: wire.worker_id,
    startedAt: fromTime(wire.started_at),
    endedAt: fromTimeOrNull(wire.ended_at),
    durationMs: wire.duration_ms,
    outcome: wire.outcome,
    error: wire.error,
  };
}

export function toManualChangeWire({ at, ...change }: ManualChange): ManualChangeWire {
  return { at: toTime(at), ...change };
}

export function fromManualChangeWire({ at, ...change }: ManualChangeWire): ManualChange {
  return { at: fromTime(at), ...change };
}

export function toLogLineWire({ number, at, attempt, text }: LogLine): LogLineWire {
  return { number, at: toTime(at), attempt, text };
}

export function fromLogLineWire({ number, at, attempt, text }: LogLineWire): LogLine {
  return { number, at: fromTime(at), attempt, text };
}
