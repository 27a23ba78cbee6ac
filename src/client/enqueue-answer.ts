import { MillraceError, preview } from "../core/errors.ts";
import { callerOf, coalesceOf, declaredFacets, flowOf } from "../core/flow-parent.ts";
import { type Job, type NewJob, type Status, toJob, usualMaxLost } from "../core/job.ts";
import { withTexts } from "../core/json-text.ts";
import { JOB_DEFAULTS } from "../core/job-options.ts";
import type { InsertAnswer } from "../store/store.ts";
import type { EnqueuedJob } from "./client.ts";
import { heldElsewhere, queueFull } from "./refusals.ts";

/** What enqueue returns for the store's answer: the job, or the error of this job. */
export function answerOf(job: NewJob, answer: InsertAnswer, payload?: unknown): EnqueuedJob | MillraceError {
  switch (answer.kind) {
    case "created":
      return createdJob(job, answer.status, answer.createdAt, answer.runAt, payload);
    case "known":
      return withTexts({ ...toJob(answer.job), created: false, pruned: false }, answer.job.payload, answer.job.result);
    case "pruned":
      return prunedJob(job, answer.id, answer.status);
    case "conflict":
      return keyConflict(job, answer.id);
    case "full":
      return queueFull(job.queue, answer.capacity, answer.limitKey);
    case "locked":
      return heldElsewhere("the key or the queue of the job");
  }
}

/** One object, written out, because this runs for every new job. `payload` is given if its text was already parsed. */
export function createdJob(job: NewJob, status: Status, createdAt: number, runAt: number, payload?: unknown): EnqueuedJob {
  const { parent = null } = job;
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    priority: job.priority,
    status,
    maxRetries: job.maxRetries,
    retryCount: 0,
    maxLost: job.maxLost,
    lostCount: 0,
    attempt: 0,
    retryDelay: job.retryDelayMs,
    backoff: job.backoff,
    timeout: job.timeoutMs,
    error: null,
    progress: null,
    idempotencyKey: job.idempotencyKey,
    webhookUrl: job.webhookUrl,
    tags: job.tags,
    meta: job.meta === null ? null : (JSON.parse(job.meta) as Record<string, unknown>),
    facets: declaredFacets(job.facets),
    limitKey: job.limitKey,
    cost: job.cost,
    hasSteps: false,
    // Null for what `enqueue` makes. Tests also see jobs that were called, and members of flows.
    parent: parent === null ? null : callerOf({ parent }),
    flow: parent === null ? null : flowOf({ parent }),
    coalesce: parent === null ? null : coalesceOf({ parent }),
    startWithin: job.startWithinMs ?? null,
    workerId: null,
    fence: 0,
    createdAt,
    updatedAt: createdAt,
    scheduledAt: runAt === createdAt ? null : runAt,
    startedAt: null,
    completedAt: null,
    durationMs: null,
    // As stored, not as given: a Date has become a string, and later changes to the caller's object do not show.
    payload: payload === undefined ? (JSON.parse(job.payload) as unknown) : payload,
    result: null,
    created: true,
    pruned: false,
  };
}

/** Only the key is left of the job. Its id, type, queue and status are known; everything else has a default. */
function prunedJob(job: NewJob, id: string, status: Status): EnqueuedJob {
  const blank: Job = {
    ...createdJob(
      { ...job, id, payload: "null", meta: null, tags: [], webhookUrl: null, priority: 0, limitKey: null, cost: 1 },
      status,
      0,
      0,
    ),
    maxRetries: JOB_DEFAULTS.maxRetries,
    maxLost: usualMaxLost(JOB_DEFAULTS.maxRetries),
    retryDelay: JOB_DEFAULTS.retryDelay,
    timeout: JOB_DEFAULTS.timeout,
  };
  return { ...blank, created: false, pruned: true };
}

function keyConflict(job: NewJob, jobId: string): MillraceError {
  const message = `idempotencyKey ${preview(job.idempotencyKey)} belongs to job ${jobId}, which has a different type or payload`;
  return new MillraceError("key_conflict", message, { field: "idempotencyKey", jobId });
}
