import { type Duration, MAX_DELAY_MS, parseDuration } from "./duration.ts";
import { invalid, MillraceError } from "./errors.ts";
import { encodeJson, MAX_META_BYTES, MAX_PAYLOAD_BYTES, utf8Length } from "./json.ts";
import { DEFAULT_QUEUE } from "./queue.ts";
import { fingerprint } from "./unique.ts";

/** Every status of a job. What leads from one to another is in lifecycle.ts. */
export const STATUSES = ["scheduled", "pending", "running", "retrying", "completed", "failed", "dead", "cancelled"] as const;
/** Where a job is in its life. */
export type Status = (typeof STATUSES)[number];

/** Jobs that count against a queue's capacity. */
export const WAITING: readonly Status[] = ["scheduled", "pending", "retrying"];
/** Jobs that will not change again unless someone acts. */
export const TERMINAL: readonly Status[] = ["completed", "failed", "dead", "cancelled"];

export function isTerminal(status: Status): boolean {
  return TERMINAL.includes(status);
}

/** Names for the usual priorities. */
export const PRIORITY_LEVELS = { low: -10, default: 0, high: 10, critical: 20 } as const;
/** The name of a usual priority. */
export type PriorityLevel = keyof typeof PRIORITY_LEVELS;
export const MIN_PRIORITY = -100;
export const MAX_PRIORITY = 100;

/** The level that a priority counts under. */
export function levelOf(priority: number): PriorityLevel {
  if (priority >= PRIORITY_LEVELS.critical) return "critical";
  if (priority >= PRIORITY_LEVELS.high) return "high";
  return priority >= PRIORITY_LEVELS.default ? "default" : "low";
}

/** Why an attempt did not succeed. */
export interface JobError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  readonly kind: "error" | "timeout" | "lost" | "cancelled";
}

/** How far a running handler says it is. */
export interface Progress {
  /** 0..100 */
  readonly percent: number;
  readonly note: string | null;
}

/** A line that a handler wrote with `ctx.log`. */
export interface LogLine {
  /** Counts up from 1 within the job. */
  readonly number: number;
  readonly at: number;
  readonly attempt: number;
  readonly text: string;
}
export const MAX_LOG_LINES = 1000;
export const MAX_LOG_LINE_BYTES: number = 4 * 1024;

/** One attempt in a job's history. A running attempt has no end yet. */
export interface Attempt {
  readonly number: number;
  readonly workerId: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly durationMs: number | null;
  readonly outcome: "running" | "completed" | "failed" | "cancelled";
  readonly error: JobError | null;
}

/** A job as stores keep it: JSON as text, times in milliseconds since the epoch by the store's clock. */
export interface JobRecord {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: Status;
  readonly payload: string;
  readonly maxRetries: number;
  readonly retryCount: number;
  /** Attempts started; given back on release and snooze. */
  readonly attempt: number;
  readonly snoozes: number;
  readonly retryDelayMs: number;
  readonly timeoutMs: number;
  readonly result: string | null;
  readonly error: JobError | null;
  readonly progress: Progress | null;
  readonly idempotencyKey: string | null;
  readonly keyTtlMs: number;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: string | null;
  /** The worker of the latest attempt; people see it only while the job runs. */
  readonly workerId: string | null;
  readonly fence: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When it is (or was) due: its creation for an immediate job. */
  readonly runAt: number;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  /** How long the latest ended attempt ran, by the worker's own measure. */
  readonly runMs: number | null;
}

/** A record without its bodies, as lists give it. The error has no stack. */
export type JobSummaryRecord = Omit<JobRecord, "payload" | "result">;

/** A job as people see it. Times are milliseconds since the epoch; what is not set is null. */
export interface Job<Payload = unknown, Result = unknown> extends JobSummary {
  readonly payload: Payload;
  readonly result: Result | null;
}

/** What lists show of a job: everything but payload, result and stack. */
export interface JobSummary {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly status: Status;
  readonly maxRetries: number;
  readonly retryCount: number;
  readonly attempt: number;
  /** Base delay of the retry curve, in milliseconds. */
  readonly retryDelay: number;
  /** Milliseconds an attempt may take; 0 is no limit. */
  readonly timeout: number;
  readonly error: JobError | null;
  readonly progress: Progress | null;
  readonly idempotencyKey: string | null;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  /** Who runs it now. */
  readonly workerId: string | null;
  readonly fence: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When it is or was due, if that is not the moment of its creation. */
  readonly scheduledAt: number | null;
  readonly startedAt: number | null;
  readonly completedAt: number | null;
  /** How long the latest ended attempt ran. */
  readonly durationMs: number | null;
}

export function toJob(record: JobRecord): Job {
  const summary = toJobSummary(record) as { -readonly [K in keyof Job]: Job[K] };
  summary.payload = JSON.parse(record.payload) as unknown;
  summary.result = record.result === null ? null : (JSON.parse(record.result) as unknown);
  return summary;
}

export function toJobSummary(record: JobSummaryRecord): JobSummary {
  return {
    id: record.id,
    type: record.type,
    queue: record.queue,
    priority: record.priority,
    status: record.status,
    maxRetries: record.maxRetries,
    retryCount: record.retryCount,
    attempt: record.attempt,
    retryDelay: record.retryDelayMs,
    timeout: record.timeoutMs,
    error: record.error,
    progress: record.progress,
    idempotencyKey: record.idempotencyKey,
    webhookUrl: record.webhookUrl,
    tags: record.tags,
    meta: record.meta === null ? null : (JSON.parse(record.meta) as Record<string, unknown>),
    workerId: record.status === "running" ? record.workerId : null,
    fence: record.fence,
    createdAt: record.createdAt,
    updatedAt: record.updatedAt,
    scheduledAt: record.runAt === record.createdAt ? null : record.runAt,
    startedAt: record.startedAt,
    completedAt: record.completedAt,
    durationMs: record.runMs,
  };
}

/** A job that is about to be inserted. The store adds what only it knows: sequence, times, status. */
export interface NewJob {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly priority: number;
  readonly payload: string;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly timeoutMs: number;
  /** Due so long after the store's now; 0 is at once. */
  readonly delayMs: number;
  /** Due at this time of the store's clock, instead of `delayMs`; a time that has passed is at once. */
  readonly runAt: number | null;
  readonly idempotencyKey: string | null;
  readonly keyTtlMs: number;
  /** Set when there is a key. */
  readonly fingerprint: string | null;
  readonly webhookUrl: string | null;
  readonly tags: readonly string[];
  readonly meta: string | null;
}

/**
 * THE SCHEMA: one row for each thing that a caller can say about a job: what it must be (in words: they are the error message and the
 * reference), how it is read, and what holds when nothing is said. Types and defaults are derived from it.
 */
interface Field<Input, Value> {
  readonly mustBe: string;
  /** The value as it is stored, or undefined to refuse it. */
  readonly read: (input: Input) => Value | undefined;
  readonly fallback: Value;
}

function field<Input, Value>(mustBe: string, fallback: Value, read: (input: Input) => Value | undefined): Field<Input, Value> {
  return { mustBe, read, fallback };
}

const NAME = /^[A-Za-z0-9._:-]{1,128}$/;
export const NAME_RULE = "1 to 128 characters of A-Z a-z 0-9 . _ : -";

export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

const EARLIEST_RUN_AT = Date.UTC(2000, 0, 1); // below it somebody gave seconds for milliseconds
const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i;

export const JOB_OPTIONS = {
  queue: field<string, string>(NAME_RULE, DEFAULT_QUEUE, (input) => (isName(input) ? input : undefined)),
  priority: field<PriorityLevel | number, number>(
    `low, default, high, critical or a whole number from ${MIN_PRIORITY} to ${MAX_PRIORITY}`,
    0,
    readPriority,
  ),
  delay: field<Duration, number>('a time of at most 10 years, in milliseconds or as "30s", "5m", "2h", "1d"', 0, (input) =>
    readDuration(input, MAX_DELAY_MS),
  ),
  runAt: field<Date | string | number, number | null>(
    "a Date, ISO 8601 text with a time zone, or milliseconds since the epoch, from the year 2000 to 10 years ahead",
    null,
    readTime,
  ),
  maxRetries: field<number, number>("a whole number from 0 to 100", 3, (input) => readInteger(input, 0, 100)),
  retryDelay: field<Duration, number>('a time of at most 10 years, in milliseconds or as "500ms", "30s", "5m"', 1000, (input) =>
    readDuration(input, MAX_DELAY_MS),
  ),
  timeout: field<Duration, number>('a time of at most 24 days, in milliseconds or as "30s", "5m"; 0 is none', 30_000, (input) =>
    readDuration(input, MAX_TIMEOUT_MS),
  ),
  idempotencyKey: field<string, string | null>("a text of 1 to 255 bytes", null, readKey),
  keyTtl: field<Duration, number>('a time of at most 10 years, in milliseconds or as "24h"', 24 * 3_600_000, (input) =>
    readDuration(input, MAX_DELAY_MS),
  ),
  tags: field<readonly string[], readonly string[]>("at most 20 texts of 1 to 64 characters", [], readTags),
  meta: field<Readonly<Record<string, unknown>>, string | null>(`an object of at most ${MAX_META_BYTES} bytes of JSON`, null, (input) =>
    isPlainObject(input) ? encodeJson(input, "meta", MAX_META_BYTES) : undefined,
  ),
  webhookUrl: field<string, string | null>("an http or https address of at most 2,048 characters", null, readUrl),
} as const;

/** The longest timer that JavaScript has; a timeout beyond it would fire at once. */
const MAX_TIMEOUT_MS = 24 * 86_400_000;

type Options = typeof JOB_OPTIONS;
type InputOf<F> = F extends Field<infer Input, infer _> ? Input : never;
type ValueOf<F> = F extends Field<infer _, infer Value> ? Value : never;

/** What a caller may say about a job beside its type and payload. */
export type JobOptions = { readonly [K in keyof Options]?: InputOf<Options[K]> | undefined };

/** Options as they were read: checked, in stored form, gaps filled. */
export type JobSettings = { readonly [K in keyof Options]: ValueOf<Options[K]> };

/** What holds when neither the call nor the definition says anything. A client can be told others. */
export const JOB_DEFAULTS: JobSettings = Object.fromEntries(
  Object.entries(JOB_OPTIONS).map(([name, row]) => [name, row.fallback]),
) as unknown as JobSettings;

const OPTION_NAMES = Object.keys(JOB_OPTIONS) as (keyof Options)[];

/** Checks options and fills their gaps from `defaults`; throws at the first bad one. `now` bounds runAt. */
export function readJobOptions(options: JobOptions, defaults: JobSettings, now: number): JobSettings {
  const settings: Record<string, unknown> = { ...defaults };
  for (const name of Object.keys(options) as (keyof Options)[]) {
    const input = options[name];
    if (input === undefined) continue;
    const row = JOB_OPTIONS[name] as Field<unknown, unknown> | undefined;
    if (row === undefined || !OPTION_NAMES.includes(name)) {
      throw new MillraceError("invalid_input", `${name} is not an option of a job; known are ${OPTION_NAMES.join(", ")}`, { field: name });
    }
    const value = row.read(input);
    if (value === undefined) throw invalid(name, row.mustBe, input);
    settings[name] = value;
    // A time that the call names stands instead of the one that a default or definition gave in the other way.
    if (name === "delay") settings["runAt"] = null;
    if (name === "runAt") settings["delay"] = 0;
  }
  const read = settings as unknown as JobSettings;
  refuseContradictions(options, read, now);
  return read;
}

function refuseContradictions(options: JobOptions, read: JobSettings, now: number): void {
  if (options.delay !== undefined && options.runAt !== undefined) {
    throw new MillraceError("invalid_input", "runAt and delay exclude each other: give one of them", { field: "runAt" });
  }
  if (read.runAt !== null && read.runAt > now + MAX_DELAY_MS) throw invalid("runAt", JOB_OPTIONS.runAt.mustBe, options.runAt);
}

/** Makes the job that will be inserted from what the caller gave. Throws `invalid_input` at the first bad field. */
export function makeJob(id: string, type: string, payload: unknown, settings: JobSettings): NewJob {
  const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
  const key = settings.idempotencyKey;
  return {
    id,
    type,
    queue: settings.queue,
    priority: settings.priority,
    payload: text,
    maxRetries: settings.maxRetries,
    retryDelayMs: settings.retryDelay,
    timeoutMs: settings.timeout,
    delayMs: settings.delay,
    runAt: settings.runAt,
    idempotencyKey: key,
    keyTtlMs: key === null ? 0 : settings.keyTtl,
    fingerprint: key === null ? null : fingerprint(type, text),
    webhookUrl: settings.webhookUrl,
    tags: settings.tags,
    meta: settings.meta,
  };
}

/** Checks the name of a type. */
export function readType(type: unknown): string {
  if (!isName(type)) throw invalid("type", NAME_RULE, type);
  return type;
}

/** Checks the name of a queue. */
export function readQueue(queue: unknown): string {
  if (!isName(queue)) throw invalid("queue", NAME_RULE, queue);
  return queue;
}

/** The record of a job that was just inserted. */
export function recordOf(job: NewJob, status: Status, createdAt: number, runAt: number): JobRecord {
  return {
    id: job.id,
    type: job.type,
    queue: job.queue,
    priority: job.priority,
    status,
    payload: job.payload,
    maxRetries: job.maxRetries,
    retryCount: 0,
    attempt: 0,
    snoozes: 0,
    retryDelayMs: job.retryDelayMs,
    timeoutMs: job.timeoutMs,
    result: null,
    error: null,
    progress: null,
    idempotencyKey: job.idempotencyKey,
    keyTtlMs: job.keyTtlMs,
    webhookUrl: job.webhookUrl,
    tags: job.tags,
    meta: job.meta,
    workerId: null,
    fence: 0,
    createdAt,
    updatedAt: createdAt,
    runAt,
    startedAt: null,
    completedAt: null,
    runMs: null,
  };
}

function readPriority(input: unknown): number | undefined {
  if (typeof input === "string") return Object.hasOwn(PRIORITY_LEVELS, input) ? PRIORITY_LEVELS[input as PriorityLevel] : undefined;
  return readInteger(input, MIN_PRIORITY, MAX_PRIORITY);
}

export function readInteger(input: unknown, min: number, max: number): number | undefined {
  // `+ 0` turns -0 into 0.
  return typeof input === "number" && Number.isInteger(input) && input >= min && input <= max ? input + 0 : undefined;
}

function readDuration(input: unknown, maxMs: number): number | undefined {
  const ms = parseDuration(input);
  return ms === null || ms > maxMs ? undefined : ms;
}

/** A point in time as a caller may write it, in milliseconds since the epoch. */
export function readTime(input: unknown): number | undefined {
  const ms = input instanceof Date ? input.getTime() : typeof input === "string" ? readIso(input) : input;
  return typeof ms === "number" && Number.isInteger(ms) && ms >= EARLIEST_RUN_AT ? ms : undefined;
}

function readIso(input: string): number | undefined {
  if (!ISO_WITH_ZONE.test(input)) return undefined;
  // Date.parse makes 3 March of 31 February. Nobody means that.
  const day = input.slice(0, 10);
  const isDay = new Date(Date.parse(`${day}T00:00:00Z`)).toJSON()?.slice(0, 10) === day;
  return isDay ? Date.parse(input) : undefined;
}

function readKey(input: unknown): string | undefined {
  // A lone surrogate has no UTF-8 form: two such keys could become one in a store.
  if (typeof input !== "string" || input === "" || !input.isWellFormed()) return undefined;
  return utf8Length(input) <= 255 ? input : undefined;
}

function readTags(input: unknown): readonly string[] | undefined {
  if (!Array.isArray(input) || input.length > 20) return undefined;
  const sound = input.every((tag) => typeof tag === "string" && tag !== "" && tag.length <= 64 && tag.isWellFormed());
  return sound ? [...new Set(input as string[])] : undefined;
}

function readUrl(input: unknown): string | undefined {
  if (typeof input !== "string" || input.length > 2048) return undefined;
  const url = URL.parse(input);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url.href : undefined;
}

function isPlainObject(input: unknown): boolean {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}
