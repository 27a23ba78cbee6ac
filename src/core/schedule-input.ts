import { invalid, MillraceError } from "./errors.ts";
import { encodeJson, MAX_PAYLOAD_BYTES } from "./json.ts";
import { isName, type JobOptions, type JobSettings, NAME_RULE, type NewJob, readJobOptions, readType } from "./job.ts";
import { CATCH_UPS, parseTiming } from "./schedule.ts";
import type { ScheduledJob, ScheduleSpec } from "./schedule-record.ts";
import { canonicalJson } from "./unique.ts";

const OVERLAPS = ["allow", "skip"] as const;

const TIMING_FIELDS = ["cron", "every", "timeZone"];
const JOB_FIELDS = [
  "queue",
  "priority",
  "maxRetries",
  "retryDelay",
  "timeout",
  "tags",
  "meta",
  "webhookUrl",
] as const satisfies (keyof JobOptions)[];
const FIELDS: readonly string[] = ["name", "type", "payload", "catchUp", "overlap", ...TIMING_FIELDS, ...JOB_FIELDS];

/** Reads a schedule as a caller gives it, gaps filled from `defaults`. Throws `invalid_input` at the first bad or unknown field. */
export function readSchedule(input: unknown, defaults: JobSettings, now: number): ScheduleSpec {
  if (typeof input !== "object" || input === null || Array.isArray(input)) throw invalid("schedule", "an object", input);
  const fields = input as Record<string, unknown>;
  refuseUnknown(fields);
  return {
    name: readScheduleName(fields["name"]),
    timing: parseTiming(fields),
    job: readScheduledJob(fields, defaults, now),
    catchUp: readChoice(fields["catchUp"], "catchUp", CATCH_UPS, "one"),
    overlap: readChoice(fields["overlap"], "overlap", OVERLAPS, "allow"),
    paused: false,
  };
}

/** Checks the name of a schedule. */
export function readScheduleName(name: unknown): string {
  if (!isName(name)) throw invalid("name", NAME_RULE, name);
  return name;
}

function readScheduledJob(fields: Record<string, unknown>, defaults: JobSettings, now: number): ScheduledJob {
  const options = Object.fromEntries(JOB_FIELDS.map((name) => [name, fields[name]])) as JobOptions;
  const settings = readJobOptions(options, defaults, now);
  return {
    type: readType(fields["type"]),
    queue: settings.queue,
    priority: settings.priority,
    payload: encodeJson(fields["payload"], "payload", MAX_PAYLOAD_BYTES),
    maxRetries: settings.maxRetries,
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

function refuseUnknown(fields: object): void {
  const field = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (field === undefined) return;
  throw new MillraceError("invalid_input", `${field} is not a field of a schedule; known are ${FIELDS.join(", ")}`, { field });
}

/** Whether two specs ask for the same, whoever paused one of them: then an upsert has nothing to do. */
export function sameSchedule(a: ScheduleSpec, b: ScheduleSpec): boolean {
  return canonicalSpec(a) === canonicalSpec(b);
}

function canonicalSpec({ name, timing, job, catchUp, overlap }: ScheduleSpec): string {
  const { payload, meta, ...rest } = job;
  return canonicalJson([name, timing, rest, JSON.parse(payload), meta === null ? null : JSON.parse(meta), catchUp, overlap]);
}

/** The job that a tick makes. It carries no key: that a tick makes one job only is the schedule's own last tick's doing. */
export function jobOfSchedule(job: ScheduledJob, id: string): NewJob {
  return { ...job, id, delayMs: 0, runAt: null, idempotencyKey: null, keyTtlMs: 0, fingerprint: null };
}
