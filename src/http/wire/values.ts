/** SMALL VALUES, both ways: times, priorities, and the names of fields. */
import { PRIORITY_LEVELS, type PriorityLevel } from "../../core/job.ts";

let latestMs = 0;
let latestText = "1970-01-01T00:00:00.000Z";

/** A time as the wire has it. Most of the times of a job are those of its neighbours, too, so the latest is kept. */
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

/** A moment as callers of the library may give it, as the wire takes it. What is neither Date nor text nor number is refused by the server. */
export function toMoment(moment: unknown): unknown {
  if (!(moment instanceof Date)) return moment;
  const ms = moment.getTime();
  // An invalid Date has no text. The server says what a time must be.
  return Number.isNaN(ms) ? "an invalid Date" : moment.toISOString();
}

const LEVEL_NAMES: ReadonlyMap<number, PriorityLevel> = new Map(
  Object.entries(PRIORITY_LEVELS).map(([name, priority]) => [priority, name as PriorityLevel]),
);

/** The name of a level, or the number where it equals none. */
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

/** The same object with the names of its own fields in snake_case; what is undefined is left out. Not deeper: what lies there is the caller's. */
export function fieldsToSnakeCase(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[toSnakeCase(name), value as unknown]])),
  );
}

/** The same object with the names of its own fields in camelCase. */
export function fieldsToCamelCase(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [toCamelCase(name), value as unknown]));
}
