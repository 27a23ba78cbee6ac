import { ATTEMPT_OPTIONS, type Field, field } from "./attempt-options.ts";
import { suggest } from "./did-you-mean.ts";
import { A_TIME } from "./time-words.ts";
import { type Duration, durationWithin, MAX_DELAY_MS } from "./duration.ts";
import { invalid, MillraceError } from "./errors.ts";
import { MAX_PRIORITY, MIN_PRIORITY, type NewJob, PRIORITY_LEVELS, type PriorityLevel, usualMaxLost } from "./job.ts";
import { MAX_COST, MAX_LIMIT_KEY_BYTES } from "./limits.ts";
import { encodeJson, MAX_META_BYTES, MAX_PAYLOAD_BYTES } from "./json.ts";
import { DEFAULT_QUEUE } from "./queue.ts";
import { isName, NAME_RULE, readInteger, readTime } from "./read-fields.ts";
import { LIMIT_KEY_RULE, readText } from "./read-text.ts";
import { fingerprint } from "./unique.ts";

/** Bounds of the options of a job. The HTTP contract takes them from here. */
export const MAX_KEY_BYTES = 255;
export const MAX_TAGS = 20;
export const MAX_TAG_LENGTH = 64;
export const MAX_URL_LENGTH = 2048;

export const TAG_RULE: string = `a string of 1 to ${MAX_TAG_LENGTH} characters`;

/** THE SCHEMA of job options. Types derive from it. */
export const JOB_OPTIONS = {
  queue: field<string, string>(NAME_RULE, DEFAULT_QUEUE, (input) => (isName(input) ? input : undefined)),
  priority: field<PriorityLevel | number, number>(
    `low, default, high, critical or a whole number from ${MIN_PRIORITY} to ${MAX_PRIORITY}`,
    0,
    readPriority,
  ),
  delay: field<Duration, number>('a time of at most 10 years, in milliseconds or as "30s", "5m", "2h", "1d"', 0, (input) =>
    durationWithin(input, 0, MAX_DELAY_MS),
  ),
  runAt: field<Date | string | number, number | null>(`${A_TIME}, from the year 2000 to 10 years ahead`, null, readTime),
  ...ATTEMPT_OPTIONS,
  idempotencyKey: field<string, string | null>(`a string of 1 to ${MAX_KEY_BYTES} bytes`, null, (input) => readText(input, MAX_KEY_BYTES)),
  keyTtl: field<Duration, number>('a time of at most 10 years, in milliseconds or as "24h"', 24 * 3_600_000, (input) =>
    durationWithin(input, 0, MAX_DELAY_MS),
  ),
  tags: field<readonly string[], readonly string[]>(`at most ${MAX_TAGS} strings of 1 to ${MAX_TAG_LENGTH} characters`, [], readTags),
  meta: field<Readonly<Record<string, unknown>>, string | null>(`an object of at most ${MAX_META_BYTES} bytes of JSON`, null, (input) =>
    isPlainObject(input) ? encodeJson(input, "meta", MAX_META_BYTES) : undefined,
  ),
  limitKey: field<string, string | null>(LIMIT_KEY_RULE, null, (input) => readText(input, MAX_LIMIT_KEY_BYTES)),
  cost: field<number, number>(`a whole number from 1 to ${MAX_COST}`, 1, (input) => readInteger(input, 1, MAX_COST)),
  startWithin: field<Duration, number | null>('a time of 1 ms to 10 years, in milliseconds or as "5m"', null, (input) =>
    durationWithin(input, 1, MAX_DELAY_MS),
  ),
  webhookUrl: field<string, string | null>(`an http or https URL of at most ${MAX_URL_LENGTH} characters`, null, readUrl),
} as const;

type Options = typeof JOB_OPTIONS;
type InputOf<F> = F extends Field<infer Input, infer _> ? Input : never;
type ValueOf<F> = F extends Field<infer _, infer Value> ? Value : never;

/** The options of a job, besides its type and payload. */
export type JobOptions = { readonly [K in keyof Options]?: InputOf<Options[K]> | undefined };

/** Checked options in stored form, with defaults filled in. */
export type JobSettings = { readonly [K in keyof Options]: ValueOf<Options[K]> };

/** The defaults for options that neither the call nor the definition sets. A client can have others. */
export const JOB_DEFAULTS: JobSettings = Object.fromEntries(
  Object.entries(JOB_OPTIONS).map(([name, row]) => [name, row.fallback]),
) as unknown as JobSettings;

const OPTION_NAMES = Object.keys(JOB_OPTIONS) as (keyof Options)[];

/** Checks options and fills gaps from `defaults`; throws at the first bad one. `now` bounds runAt. */
export function readJobOptions(options: JobOptions, defaults: JobSettings, now: number): JobSettings {
  const settings: Record<string, unknown> = { ...defaults };
  for (const name of Object.keys(options) as (keyof Options)[]) {
    const input = options[name];
    if (input === undefined) continue;
    const row = JOB_OPTIONS[name] as Field<unknown, unknown> | undefined;
    if (row === undefined || !OPTION_NAMES.includes(name)) {
      throw new MillraceError("invalid_input", `${name} is not a job option; ${suggest(name, OPTION_NAMES, "known options")}`, {
        field: name,
      });
    }
    const value = row.read(input);
    if (value === undefined) throw invalid(name, row.mustBe, input);
    settings[name] = value;
    // A time in the call replaces the time that a default or definition set with the other option.
    if (name === "delay") settings["runAt"] = null;
    if (name === "runAt") settings["delay"] = 0;
  }
  const read = settings as unknown as JobSettings;
  refuseContradictions(options, read, now);
  return read;
}

export function readJobDefaults(defaults: unknown, now: number): JobSettings {
  if (defaults === undefined) return JOB_DEFAULTS;
  if (!isPlainObject(defaults)) throw invalid("defaults", "an object with job options", defaults);
  return readJobOptions(defaults as JobOptions, JOB_DEFAULTS, now);
}

function refuseContradictions(options: JobOptions, read: JobSettings, now: number): void {
  if (options.delay !== undefined && options.runAt !== undefined) {
    throw new MillraceError("invalid_input", "runAt and delay cannot be combined: give only one of them", { field: "runAt" });
  }
  if (read.runAt !== null && read.runAt > now + MAX_DELAY_MS) throw invalid("runAt", JOB_OPTIONS.runAt.mustBe, options.runAt);
}

/** Makes the job to insert, without facets. Throws `invalid_input` if the payload is not valid JSON data. */
export function createJob(id: string, type: string, payload: unknown, settings: JobSettings): NewJob {
  const text = encodeJson(payload, "payload", MAX_PAYLOAD_BYTES);
  const key = settings.idempotencyKey;
  return {
    id,
    type,
    queue: settings.queue,
    priority: settings.priority,
    payload: text,
    maxRetries: settings.maxRetries,
    maxLost: settings.maxLost ?? usualMaxLost(settings.maxRetries),
    retryDelayMs: settings.retryDelay,
    backoff: settings.backoff,
    timeoutMs: settings.timeout,
    delayMs: settings.delay,
    runAt: settings.runAt,
    idempotencyKey: key,
    keyTtlMs: key === null ? 0 : settings.keyTtl,
    fingerprint: key === null ? null : fingerprint(type, text),
    webhookUrl: settings.webhookUrl,
    tags: settings.tags,
    meta: settings.meta,
    facets: null,
    limitKey: settings.limitKey,
    cost: settings.cost,
    startWithinMs: settings.startWithin,
  };
}

export function readQueue(queue: unknown): string {
  if (!isName(queue)) throw invalid("queue", NAME_RULE, queue);
  return queue;
}

function readPriority(input: unknown): number | undefined {
  if (typeof input === "string") return Object.hasOwn(PRIORITY_LEVELS, input) ? PRIORITY_LEVELS[input as PriorityLevel] : undefined;
  return readInteger(input, MIN_PRIORITY, MAX_PRIORITY);
}

function readTags(input: unknown): readonly string[] | undefined {
  if (!Array.isArray(input) || input.length > MAX_TAGS) return undefined;
  const sound = input.every((tag) => typeof tag === "string" && tag !== "" && tag.length <= MAX_TAG_LENGTH && tag.isWellFormed());
  return sound ? [...new Set(input as string[])] : undefined;
}

function readUrl(input: unknown): string | undefined {
  if (typeof input !== "string" || input.length > MAX_URL_LENGTH) return undefined;
  const url = URL.parse(input);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url.href : undefined;
}

function isPlainObject(input: unknown): boolean {
  return typeof input === "object" && input !== null && !Array.isArray(input);
}
