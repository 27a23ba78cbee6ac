import { invalid } from "./errors.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "./json.ts";
import { type NewJob, usualMaxLost } from "./job.ts";
import { type JobOptions, type JobSettings, readJobOptions, readType } from "./job-options.ts";
import { isName, NAME_RULE, readFields } from "./read-fields.ts";
import { CATCH_UPS, parseTiming } from "./schedule.ts";
import type { ScheduledJob, ScheduleSpec } from "./schedule-record.ts";
import { canonicalJson, canonicalText } from "./unique.ts";

const OVERLAPS = ["allow", "skip"] as const;

const TIMING_FIELDS = ["cron", "every", "timeZone"] as const;
const JOB_FIELDS = [
  "queue",
  "priority",
  "maxRetries",
  "maxLost",
  "retryDelay",
  "timeout",
  "tags",
  "meta",
  "webhookUrl",
] as const satisfies (keyof JobOptions)[];
const FIELDS = ["name", "type", "payload", "catchUp", "overlap", ...TIMING_FIELDS, ...JOB_FIELDS] as const;
type Fields = { readonly [K in (typeof FIELDS)[number]]?: unknown };

/** Reads a schedule and fills gaps from `defaults`. Throws `invalid_input` at the first bad or unknown field. */
export function readSchedule(input: unknown, defaults: JobSettings, now: number): ScheduleSpec {
  const fields = readFields(input, "schedule", FIELDS);
  return {
    name: readScheduleName(fields.name),
    timing: parseTiming(fields),
    job: readScheduledJob(fields, defaults, now),
    catchUp: readChoice(fields.catchUp, "catchUp", CATCH_UPS, "one"),
    overlap: readChoice(fields.overlap, "overlap", OVERLAPS, "allow"),
    paused: false,
  };
}

export function readScheduleName(name: unknown): string {
  if (!isName(name)) throw invalid("name", NAME_RULE, name);
  return name;
}

function readScheduledJob(fields: Fields, defaults: JobSettings, now: number): ScheduledJob {
  const options = Object.fromEntries(JOB_FIELDS.map((name) => [name, fields[name]])) as JobOptions;
  const settings = readJobOptions(options, defaults, now);
  return {
    type: readType(fields.type),
    queue: settings.queue,
    priority: settings.priority,
    payload: encodeJson(fields.payload, "payload", MAX_PAYLOAD_BYTES),
    maxRetries: settings.maxRetries,
    maxLost: settings.maxLost ?? usualMaxLost(settings.maxRetries),
    retryDelayMs: settings.retryDelay,
    timeoutMs: settings.timeout,
    webhookUrl: settings.webhookUrl,
    tags: settings.tags,
    meta: settings.meta,
  };
}

function readChoice<Choice extends string>(input: unknown, field: string, choices: readonly Choice[], fallback: Choice): Choice {
  if (input === undefined) return fallback;
  if (!choices.includes(input as Choice)) throw invalid(field, choices.map((choice) => `"${choice}"`).join(" or "), input);
  return input as Choice;
}

/** Whether two specs are equal, apart from `paused`: then an upsert changes nothing. */
export function sameSchedule(a: ScheduleSpec, b: ScheduleSpec): boolean {
  return canonicalSpec(a) === canonicalSpec(b);
}

function canonicalSpec({ name, timing, job, catchUp, overlap }: ScheduleSpec): string {
  const { payload, meta, ...rest } = job;
  const whole = { ...rest, maxLost: maxLostOf(job) };
  const others = canonicalJson([name, timing, whole, meta === null ? null : JSON.parse(meta), catchUp, overlap]);
  return `${others} ${canonicalText(payload)}`;
}

/** The job of a tick. It needs no idempotency key: the schedule's stored last tick makes sure that a tick makes only one job. */
export function jobOfSchedule(job: ScheduledJob, id: string): NewJob {
  return {
    ...job,
    maxLost: maxLostOf(job),
    id,
    delayMs: 0,
    runAt: null,
    idempotencyKey: null,
    keyTtlMs: 0,
    fingerprint: null,
    facets: null,
  };
}

/** How often a job of the schedule runs again after it was lost. */
export function maxLostOf({ maxLost, maxRetries }: Pick<ScheduledJob, "maxLost" | "maxRetries">): number {
  return maxLost ?? usualMaxLost(maxRetries);
}
