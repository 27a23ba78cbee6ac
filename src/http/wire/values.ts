/** SMALL VALUES, both ways: times, priorities, and the names of fields. */
import { PRIORITY_LEVELS, type PriorityLevel } from "../../core/job.ts";

let latestMs = 0;
let latestText = "1970-01-01T00:00:00.000Z";

/** A time as ISO 8601. The latest one is kept, because jobs in a list often share their times. */
export function toTime(ms: number): string {
  if (ms !== latestMs) {
    latestText = new Date(ms).toISOString();
    latestMs = ms;
  }
  return latestText;
}

export function toTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : toTime(ms);
}

export function fromTime(text: string): number {
  return Date.parse(text);
}

export function fromTimeOrNull(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

/** A Date becomes text. The server refuses what is no time. */
export function toMoment(moment: unknown): unknown {
  if (!(moment instanceof Date)) return moment;
  const ms = moment.getTime();
  // An invalid Date has no text. The server says what a time must be.
  return Number.isNaN(ms) ? "an invalid Date" : moment.toISOString();
}

const LEVEL_NAMES: ReadonlyMap<number, PriorityLevel> = new Map(
  Object.entries(PRIORITY_LEVELS).map(([name, priority]) => [priority, name as PriorityLevel]),
);

/** The name of the level, or the number if it has none. */
export function toPriority(priority: number): PriorityLevel | number {
  return LEVEL_NAMES.get(priority) ?? priority;
}

export function fromPriority(priority: PriorityLevel | number): number {
  return typeof priority === "number" ? priority : PRIORITY_LEVELS[priority];
}

/** `max_retries` for `maxRetries`. */
export function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `maxRetries` for `max_retries`. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** Whether this is, or is within, a field whose names are the caller's: they are the same in the library and on the wire. */
export function hasCallersNames(field: string): boolean {
  return /^((members\[\d+\]\.)?(payload|meta)|(filter\.)?where)\b/.test(field);
}

/** The field of the library as the wire names it. Names inside payload and meta are the caller's own. */
export function fieldOnTheWire(field: string): string {
  return hasCallersNames(field) ? field : toSnakeCase(field);
}

/** The message of an error with the name of its field as the other side has it. A message may name the field with or without its place. */
export function wordsWith(message: string, field: string, named: string): string {
  return message.includes(field) ? message.replaceAll(field, named) : message.replaceAll(lastOf(field), lastOf(named));
}

function lastOf(field: string): string {
  return field.slice(field.lastIndexOf(".") + 1);
}

/** The same object with its own field names in snake_case, without undefined values. Deeper names are the caller's. */
export function fieldsToSnakeCase(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[toSnakeCase(name), value as unknown]])),
  );
}

/** The same object with its own field names in camelCase. */
export function fieldsToCamelCase(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [toCamelCase(name), value as unknown]));
}
