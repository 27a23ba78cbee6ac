/** A job from the wire -> the arguments of enqueue. */
import type { EnqueueOptions } from "../../client/client.ts";
import { MAX_DELAY_MS } from "../../core/duration.ts";
import { invalid, MillraceError } from "../../core/errors.ts";
import { JOB_OPTIONS } from "../../core/job-options.ts";
import { readTime } from "../../core/read-fields.ts";
import type { NewJobWire } from "../contract/schemas.ts";
import { toCamelCase } from "../wire/values.ts";

export interface NewJobParts {
  readonly payload: unknown;
  readonly options: EnqueueOptions;
}

type Options = { -readonly [K in keyof EnqueueOptions]: unknown };

/** Written out field by field: this runs for every job. `key` is the Idempotency-Key header. */
export function readNewJob(job: Omit<NewJobWire, "type">, key: string | null): NewJobParts {
  const options: Options = {};
  if (job.queue !== undefined) options.queue = job.queue;
  if (job.priority !== undefined) options.priority = job.priority;
  if (job.delay !== undefined) options.delay = job.delay;
  if (job.max_retries !== undefined) options.maxRetries = job.max_retries;
  if (job.max_lost !== undefined) options.maxLost = job.max_lost;
  if (job.retry_delay !== undefined) options.retryDelay = job.retry_delay;
  if (job.backoff !== undefined) options.backoff = job.backoff;
  if (job.timeout !== undefined) options.timeout = job.timeout;
  if (job.key_ttl !== undefined) options.keyTtl = job.key_ttl;
  if (job.unset !== undefined) options.unset = job.unset.map(toCamelCase);
  if (job.tags !== undefined) options.tags = job.tags;
  if (job.id !== undefined) options.id = job.id;
  if (isGiven(job.meta)) options.meta = job.meta;
  if (isGiven(job.limit_key)) options.limitKey = job.limit_key;
  if (job.cost !== undefined) options.cost = job.cost;
  if (isGiven(job.webhook_url)) options.webhookUrl = job.webhook_url;
  if (isGiven(job.start_within)) options.startWithin = job.start_within;
  if ("coalesce" in job && job.coalesce !== undefined) {
    const { while_running: whileRunning, ...coalesce } = job.coalesce;
    options.coalesce = { ...coalesce, whileRunning };
  }
  if (isGiven(job.run_at)) options.runAt = job.run_at;
  if (isGiven(job.scheduled_at)) options.runAt = readScheduledAt(job, job.scheduled_at);
  if (isGiven(job.idempotency_key)) options.idempotencyKey = job.idempotency_key;
  if (key !== null) options.idempotencyKey = readKeyHeader(job, key);
  return { payload: job.payload, options: options as EnqueueOptions };
}

/** Fields that are null in a job may be sent back as null. */
function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}

/** Checked here, so that the message has its own name. */
function readScheduledAt(job: Omit<NewJobWire, "type">, at: string | number): string | number {
  if (isGiven(job.run_at)) {
    throw new MillraceError("invalid_input", "scheduled_at and run_at mean the same: give only one of them", { field: "scheduled_at" });
  }
  if (job.delay !== undefined) {
    throw new MillraceError("invalid_input", "scheduled_at and delay cannot be combined: give only one of them", { field: "scheduled_at" });
  }
  const time = readTime(at);
  if (time === undefined || time > Date.now() + MAX_DELAY_MS) throw invalid("scheduled_at", JOB_OPTIONS.runAt.mustBe, at);
  return at;
}

function readKeyHeader(job: Omit<NewJobWire, "type">, key: string): string {
  if (!isGiven(job.idempotency_key) || job.idempotency_key === key) return key;
  throw new MillraceError("invalid_input", "idempotency_key and the Idempotency-Key header differ: give only one of them", {
    field: "idempotency_key",
  });
}

const MINIMAL = /(?:^|[,;\s])return=minimal(?:$|[,;\s])/i;

/** Whether the caller asked for an answer without the payload. */
export function prefersMinimal(prefer: string | null): boolean {
  return prefer !== null && MINIMAL.test(prefer);
}
