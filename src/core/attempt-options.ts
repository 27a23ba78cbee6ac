/**
 * THE OPTIONS THAT A QUEUE CAN SET FOR ITS JOBS: how often and when a job is retried, and how long it may run. The call comes first, then the definition,
 * then the queue, then the client. This file loads in a browser, unlike job-options.ts.
 */
import { type Duration, durationWithin, formatDuration } from "./duration.ts";
import { invalid } from "./errors.ts";
import { type NewJob, USUAL_JOB, usualMaxLost } from "./job.ts";
import { isName, NAME_RULE, readFields, readInteger } from "./read-fields.ts";
import { FIXED_BACKOFF, RETRY_CAP_MS } from "./retry.ts";

/** For one job option: what it must be (for errors and the reference), how it is read, and its default. */
export interface Field<Input, Value> {
  readonly mustBe: string;
  /** The value as it is stored, or undefined to refuse it. */
  readonly read: (input: Input) => Value | undefined;
  readonly fallback: Value;
}

export function field<Input, Value>(mustBe: string, fallback: Value, read: (input: Input) => Value | undefined): Field<Input, Value> {
  return { mustBe, read, fallback };
}

export const MAX_RETRIES = 100;
const RETRIES_RULE = `a whole number from 0 to ${MAX_RETRIES}`;
/** Less than the longest timer in JavaScript; a longer timeout would fire at once. */
export const MAX_TIMEOUT_MS: number = 24 * 86_400_000;

export const ATTEMPT_OPTIONS = {
  maxRetries: field<number, number>(RETRIES_RULE, USUAL_JOB.maxRetries, (input) => readInteger(input, 0, MAX_RETRIES)),
  /** null: depends on maxRetries, see `usualMaxLost`. */
  maxLost: field<number, number | null>(RETRIES_RULE, null, (input) => readInteger(input, 0, MAX_RETRIES)),
  retryDelay: field<Duration, number>(
    'a time of at most 5 minutes, in milliseconds or as "500ms", "30s", "5m"',
    USUAL_JOB.retryDelay,
    (input) => durationWithin(input, 0, RETRY_CAP_MS),
  ),
  backoff: field<string, string>(
    `${USUAL_JOB.backoff}, ${FIXED_BACKOFF} or the name of a function of the workers: ${NAME_RULE}`,
    USUAL_JOB.backoff,
    (input) => (isName(input) ? input : undefined),
  ),
  timeout: field<Duration, number>('a time of at most 24 days, in milliseconds or as "30s", "5m"; 0 for none', USUAL_JOB.timeout, (input) =>
    durationWithin(input, 0, MAX_TIMEOUT_MS),
  ),
} as const;

export type AttemptOption = keyof typeof ATTEMPT_OPTIONS;
export const ATTEMPT_OPTION_NAMES = Object.keys(ATTEMPT_OPTIONS) as readonly AttemptOption[];

type StoredAs<F> = F extends Field<infer _, infer Value> ? NonNullable<Value> : never;

/** The defaults of a queue in stored form; what it does not set is absent. */
export type AttemptDefaults = { readonly [Name in AttemptOption]?: StoredAs<(typeof ATTEMPT_OPTIONS)[Name]> };

/** The defaults of a queue as people see them: null for each that is not set. Times in milliseconds. */
export type ShownDefaults = { readonly [Name in AttemptOption]: StoredAs<(typeof ATTEMPT_OPTIONS)[Name]> | null };

export const DEFAULTS_RULE: string = `an object with ${ATTEMPT_OPTION_NAMES.join(", ")}, or null for none`;

/** Checks the names of options in the defaults of a queue, not their values. */
export function readDefaultNames(input: unknown): { readonly [Name in AttemptOption]?: unknown } {
  return readFields(input, "defaults", ATTEMPT_OPTION_NAMES, "defaults.");
}

/** Reads the defaults of a queue, as the JSON in which they are stored; null if they set nothing. Throws `invalid_input`. */
export function readDefaults(input: unknown): string | null {
  if (input === null) return null;
  const given = readDefaultNames(input);
  const set = ATTEMPT_OPTION_NAMES.flatMap((name) => {
    const value = given[name];
    if (value === undefined || value === null) return [];
    const { read, mustBe } = ATTEMPT_OPTIONS[name] as Field<unknown, number | string | null>;
    const stored = read(value);
    if (stored === undefined) throw invalid(`defaults.${name}`, mustBe, value);
    return [[name, stored] as const];
  });
  return set.length === 0 ? null : JSON.stringify(Object.fromEntries(set));
}

export function decodeDefaults(stored: string | null): AttemptDefaults | null {
  return stored === null ? null : (JSON.parse(stored) as AttemptDefaults);
}

export function shownDefaults(stored: string | null): ShownDefaults {
  const defaults = decodeDefaults(stored) ?? {};
  return Object.fromEntries(ATTEMPT_OPTION_NAMES.map((name) => [name, defaults[name] ?? null])) as unknown as ShownDefaults;
}

const WORDS = { maxRetries: "retries", maxLost: "max lost", retryDelay: "retry delay", backoff: "backoff", timeout: "timeout" } as const;

/** Which defaults are set, on one line; empty if none is. */
export function defaultsInWords(shown: ShownDefaults): string {
  const set = ATTEMPT_OPTION_NAMES.filter((name) => shown[name] !== null);
  return set
    .map((name) => `${WORDS[name]} ${name === "retryDelay" || name === "timeout" ? formatDuration(shown[name]!) : shown[name]}`)
    .join(", ");
}

/** Reads which options of a job are only defaults of its producer. Throws `invalid_input`. */
export function readUnset(input: unknown): readonly AttemptOption[] {
  const isList = Array.isArray(input) && input.every((name) => (ATTEMPT_OPTION_NAMES as readonly unknown[]).includes(name));
  if (!isList) throw invalid("unset", `a list of names: ${ATTEMPT_OPTION_NAMES.join(", ")}`, input);
  return input as AttemptOption[];
}

/** The job with the defaults of its queue, for each option that `isOpen`: that nobody who comes first has set. */
export function withDefaults<Job extends Pick<NewJob, "maxRetries" | "maxLost" | "retryDelayMs" | "backoff" | "timeoutMs">>(
  job: Job,
  defaults: AttemptDefaults | null,
  isOpen: (name: AttemptOption) => boolean,
): Job {
  if (defaults === null) return job;
  const choose = <Name extends AttemptOption>(name: Name, present: StoredAs<(typeof ATTEMPT_OPTIONS)[Name]>): typeof present =>
    isOpen(name) ? ((defaults[name] as typeof present | undefined) ?? present) : present;
  const maxRetries = choose("maxRetries", job.maxRetries);
  // What followed from the old maxRetries follows from the new one.
  const follows = isOpen("maxLost") && job.maxLost === usualMaxLost(job.maxRetries);
  return {
    ...job,
    maxRetries,
    maxLost: choose("maxLost", follows ? usualMaxLost(maxRetries) : job.maxLost),
    retryDelayMs: choose("retryDelay", job.retryDelayMs),
    backoff: choose("backoff", job.backoff),
    timeoutMs: choose("timeout", job.timeoutMs),
  };
}
