import { MAX_DELAY_MS } from "./duration.ts";
import { invalid } from "./errors.ts";
import { demandInteger, readDuration, readFields, readInteger } from "./read-fields.ts";
import type { QueueChange, Retention } from "./queue.ts";
import { STRICT_HEAD_START_MS } from "./rank.ts";

/** The largest capacity, and the largest number of jobs to keep. */
export const MAX_COUNT = 1_000_000_000;
const MAX_HEAD_START_MS = 365 * 86_400_000;

/** Reads the settings of a queue that the caller names, in stored form. Throws `invalid_input` at the first bad or unknown field. */
export function readQueueOptions(input: unknown): QueueChange {
  const options = readFields(input, "settings", ["capacity", "headStart", "deadLetters", "retention"]);
  const change: { -readonly [K in keyof QueueChange]: QueueChange[K] } = {};
  if (options.capacity !== undefined) change.capacity = readCapacity(options.capacity);
  if (options.headStart !== undefined) change.headStartMs = readHeadStart(options.headStart);
  if (options.deadLetters !== undefined) change.deadLetters = readFlag(options.deadLetters);
  if (options.retention !== undefined) change.retention = readRetention(options.retention);
  return change;
}

/** Whether to make a queue that does not exist; `usual` if the caller does not say. */
export function readCreate(options: unknown, usual: boolean): boolean {
  const { create = usual } =
    options === undefined || options === null ? {} : readFields(options, "the options for a new queue", ["create"]);
  if (typeof create !== "boolean") throw invalid("create", "true or false", create);
  return create;
}

function readCapacity(input: unknown): number | null {
  if (input === null) return null;
  const capacity = readInteger(input, 1, MAX_COUNT);
  if (capacity === undefined) throw invalid("capacity", `a whole number from 1 to ${MAX_COUNT}, or null for no bound`, input);
  return capacity;
}

function readHeadStart(input: unknown): number {
  if (input === null) return STRICT_HEAD_START_MS;
  const mustBe = 'a time of at most 365 days, in milliseconds or as "30s", "1m", or null for strict priority';
  return readDuration(input, "headStart", mustBe, MAX_HEAD_START_MS);
}

function readFlag(input: unknown): boolean {
  if (typeof input !== "boolean") throw invalid("deadLetters", "true or false", input);
  return input;
}

function readRetention(input: unknown): Partial<Retention> {
  const retention = readFields(input, "retention", ["age", "count", "keepAtLeast"], "retention.");
  const change: { -readonly [K in keyof Retention]?: Retention[K] } = {};
  if (retention.age !== undefined) change.ageMs = readTimeSpan(retention.age, "retention.age");
  if (retention.count !== undefined) change.count = demandInteger(retention.count, "retention.count", 0, MAX_COUNT);
  if (retention.keepAtLeast !== undefined) change.keepAtLeastMs = readTimeSpan(retention.keepAtLeast, "retention.keepAtLeast");
  return change;
}

function readTimeSpan(input: unknown, field: string): number {
  return readDuration(input, field, 'a time of at most 10 years, in milliseconds or as "24h", "7d"', MAX_DELAY_MS);
}
