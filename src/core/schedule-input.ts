import { ATTEMPT_OPTION_NAMES, type AttemptDefaults, readUnset, withDefaults } from "./attempt-options.ts";
import type { Declared } from "./declared.ts";
import { invalid } from "./errors.ts";
import { withFacets } from "./facets.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "./json.ts";
import { type NewJob, USUAL_JOB, usualMaxLost } from "./job.ts";
import { type JobOptions, type JobSettings, readJobOptions } from "./job-options.ts";
import { isName, NAME_RULE, readFields, readType } from "./read-fields.ts";
import { CATCH_UPS, parseTiming } from "./schedule.ts";
import { SCHEDULED_OPTIONS, type ScheduledJob, type ScheduleSpec } from "./schedule-record.ts";
import { canonicalJson, canonicalText } from "./unique.ts";

const OVERLAPS = ["allow", "skip"] as const;

const TIMING_FIELDS = ["cron", "every", "timeZone"] as const;
const FIELDS = ["name", "type", "payload", "catchUp", "overlap", "unset", ...TIMING_FIELDS, ...SCHEDULED_OPTIONS] as const;
/** What a caller gives: `job` is replaced by its type and options before, and `unset` is for callers over HTTP. */
const LISTED = FIELDS.flatMap((name) => (name === "unset" ? [] : name === "type" ? ["job", name] : [name]));
type Fields = { readonly [K in (typeof FIELDS)[number]]?: unknown };

/** Reads a schedule and fills gaps from `defaults`. Throws `invalid_input` at the first bad or unknown field. */
export function readSchedule(input: unknown, defaults: JobSettings, now: number): ScheduleSpec {
  const fields = readFields(input, "schedule", FIELDS, "", LISTED);
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
  const options = Object.fromEntries(SCHEDULED_OPTIONS.map((name) => [name, fields[name]])) as JobOptions;
  const settings = readJobOptions(options, defaults, now);
  const onlyDefaults = fields.unset === undefined ? [] : readUnset(fields.unset);
  const unset = ATTEMPT_OPTION_NAMES.filter((name) => options[name] === undefined || onlyDefaults.includes(name));
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
    ...(settings.backoff === USUAL_JOB.backoff ? {} : { backoff: settings.backoff }),
    ...(settings.limitKey === null ? {} : { limitKey: settings.limitKey }),
    ...(settings.cost === 1 ? {} : { cost: settings.cost }),
    ...(unset.length === 0 ? {} : { unset }),
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

/**
 * The job of a tick, as its queue declares it. It needs no idempotency key: the schedule's stored last tick makes sure that a tick makes only
 * one job.
 */
export function jobOfSchedule(job: ScheduledJob, id: string, { fields, defaults }: Declared): NewJob {
  const made = {
    ...withQueueDefaults(job, defaults),
    id,
    delayMs: 0,
    runAt: null,
    idempotencyKey: null,
    keyTtlMs: 0,
    fingerprint: null,
    facets: null,
    limitKey: job.limitKey ?? null,
    cost: job.cost ?? 1,
  };
  return withFacets(made, fields);
}

/** The job of a schedule with the defaults of its queue, for the options that the schedule does not set. */
export function withQueueDefaults(
  { unset = [], ...job }: ScheduledJob,
  defaults: AttemptDefaults | null,
): Omit<ScheduledJob, "unset"> & { readonly maxLost: number; readonly backoff: string } {
  return withDefaults({ ...job, maxLost: maxLostOf(job), backoff: job.backoff ?? USUAL_JOB.backoff }, defaults, (name) =>
    unset.includes(name),
  );
}

/** How often a job of the schedule runs again after it was lost. */
function maxLostOf({ maxLost, maxRetries }: Pick<ScheduledJob, "maxLost" | "maxRetries">): number {
  return maxLost ?? usualMaxLost(maxRetries);
}
