/** READING INPUT: objects with known fields, and the common kinds of values. */
import { suggest } from "./did-you-mean.ts";
import { durationWithin } from "./duration.ts";
import { invalid, MillraceError } from "./errors.ts";
import { INTERNAL_TYPES, isInternalType } from "./internal.ts";

/**
 * Checks that the input is an object with known fields only. `what` names it in messages, `prefix` goes before each field, `listed` are the fields
 * to name if one is unknown.
 */
export function readFields<Name extends string>(
  input: unknown,
  what: string,
  known: readonly Name[],
  prefix = "",
  listed: readonly string[] = known,
): { readonly [K in Name]?: unknown } {
  if (typeof input !== "object" || input === null || Array.isArray(input)) throw invalid(what, "an object", input);
  const unknown = Object.keys(input).find((name) => !(known as readonly string[]).includes(name));
  if (unknown === undefined) return input;
  const field = prefix + unknown;
  throw new MillraceError("invalid_input", `${field} is not a field of ${what}; ${suggest(unknown, listed, "known fields")}`, { field });
}

export function readDuration(input: unknown, field: string, mustBe: string, maxMs: number, minMs = 0): number {
  const ms = durationWithin(input, minMs, maxMs);
  if (ms === undefined) throw invalid(field, mustBe, input);
  return ms;
}

/** The format of names of types, queues and schedules. */
export const NAME: RegExp = /^[A-Za-z0-9._:-]{1,128}$/;
export const NAME_RULE = "1 to 128 characters of A-Z a-z 0-9 . _ : -";
export const RESERVED_TYPE_RULE: string = `a name that does not begin with "${INTERNAL_TYPES}", which is reserved`;

export function isName(value: unknown): value is string {
  return typeof value === "string" && NAME.test(value);
}

/** Reads the type of a job. Throws `invalid_input`. */
export function readType(type: unknown): string {
  if (!isName(type)) throw invalid("type", NAME_RULE, type);
  if (isInternalType(type)) throw invalid("type", RESERVED_TYPE_RULE, type);
  return type;
}

export function readInteger(input: unknown, min: number, max: number): number | undefined {
  // `+ 0` turns -0 into 0.
  return typeof input === "number" && Number.isInteger(input) && input >= min && input <= max ? input + 0 : undefined;
}

/** Reads a whole number within bounds. Throws `invalid_input`. */
export function demandInteger(input: unknown, field: string, min: number, max: number): number {
  const value = readInteger(input, min, max);
  if (value === undefined) throw invalid(field, `a whole number from ${min} to ${max}`, input);
  return value;
}

export const EARLIEST_RUN_AT: number = Date.UTC(2000, 0, 1); // anything earlier is probably seconds instead of milliseconds
const ISO_WITH_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})$/i;

/** A point in time in any accepted form, as milliseconds since the epoch. */
export function readTime(input: unknown): number | undefined {
  const ms = input instanceof Date ? input.getTime() : typeof input === "string" ? readIso(input) : input;
  return typeof ms === "number" && Number.isInteger(ms) && ms >= EARLIEST_RUN_AT ? ms : undefined;
}

function readIso(input: string): number | undefined {
  if (!ISO_WITH_ZONE.test(input)) return undefined;
  // Date.parse reads 31 February as 3 March.
  const day = input.slice(0, 10);
  const isDay = new Date(Date.parse(`${day}T00:00:00Z`)).toJSON()?.slice(0, 10) === day;
  return isDay ? Date.parse(input) : undefined;
}
