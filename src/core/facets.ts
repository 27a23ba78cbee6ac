/**
 * FACETS. Fields of the payload that a queue declares. Their values are taken out of the payload when a job is enqueued, and a store indexes
 * them, so that "all jobs of this customer" need not look at others. A queue without facets pays nothing.
 *
 * A field is a path of names: `customer`, or `customer.id`. Its value is a text: a string as it is, a number, true or false as it is
 * written in the JSON. Lists, objects, null and long texts have no value.
 */
import { invalid } from "./errors.ts";
import { textsIn } from "./json-source.ts";

export const MAX_FACETS = 4;
export const MAX_FIELD_LENGTH = 100;
export const MAX_FIELD_VALUE_LENGTH = 200;

const FIELD_RULE: string = `the name of a payload field, such as customer or customer.id, of at most ${MAX_FIELD_LENGTH} characters`;
export const FIELD_VALUE_RULE: string = `a string of 1 to ${MAX_FIELD_VALUE_LENGTH} characters without U+0000, a number, true or false`;

/** Values by field. Sorted by field, so that equal facets have equal JSON. */
export type Facets = Readonly<Record<string, string>>;

// No control characters: neither a path of SQLite nor a text of PostgreSQL can have U+0000.
const FIELD = /^[^\s\p{Cc}.:=,"'`\\]+(\.[^\s\p{Cc}.:=,"'`\\]+)*$/u;
// An object would not keep these as fields.
const NO_FIELDS = ["__proto__"];

export function isField(input: unknown): input is string {
  if (typeof input !== "string" || input.length > MAX_FIELD_LENGTH || !input.isWellFormed()) return false;
  return FIELD.test(input) && !NO_FIELDS.includes(input);
}

/** Reads the name of a field that came as this input. Throws `invalid_input`. */
export function readField(name: unknown, input: "field" | "where"): string {
  if (!isField(name)) throw invalid(input, FIELD_RULE, name);
  return name;
}

/** Reads the value that a field is compared with; undefined if it is not valid. */
export function readFieldValue(input: unknown): string | undefined {
  const text = typeof input === "number" || typeof input === "boolean" ? String(input) : input;
  return typeof text === "string" && isValue(text) ? text : undefined;
}

function isValue(text: string): boolean {
  return text !== "" && text.length <= MAX_FIELD_VALUE_LENGTH && !text.includes("\u0000") && text.isWellFormed();
}

/** The value of a field in a payload's JSON; null if it has none. */
export function fieldIn(payload: string, field: string): string | null {
  let text = payload;
  for (const name of field.split(".")) {
    // If a name is there twice, the last one counts, as for JSON.parse.
    const found = textsIn(text, { fields: [name] }).at(-1);
    if (found === undefined) return null;
    text = found.text;
  }
  return valueOf(text);
}

function valueOf(json: string): string | null {
  if (json === "null" || json.startsWith("{") || json.startsWith("[")) return null;
  const value = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  return isValue(value) ? value : null;
}

/** The facets of a payload; null if it has none of these fields. */
export function facetsIn(payload: string, fields: readonly string[]): Facets | null {
  const paths = fields.map((field) => ({ field, head: field.split(".", 1)[0]!, rest: field.split(".").slice(1).join(".") }));
  // One pass for all: payloads may be long.
  const texts = new Map(textsIn(payload, { fields: paths.map(({ head }) => head) }).map(({ field, text }) => [field, text]));
  const found = paths.flatMap(({ field, head, rest }): [string, string][] => {
    const text = texts.get(head);
    if (text === undefined) return [];
    const value = rest === "" ? valueOf(text) : fieldIn(text, rest);
    return value === null ? [] : [[field, value]];
  });
  return found.length === 0 ? null : Object.fromEntries(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A job with the facets that its queue declares. */
export function withFacets<Job extends { readonly payload: string; readonly facets: Facets | null }>(
  job: Job,
  fields: readonly string[],
): Job {
  return fields.length === 0 ? job : { ...job, facets: facetsIn(job.payload, fields) };
}

/** The value of a facet; null if the job does not have it. What every object inherits is no facet. */
export function facetOf(facets: Facets | null, field: string): string | null {
  return facets !== null && Object.hasOwn(facets, field) ? facets[field]! : null;
}

/** Whether a job has all of these values. */
export function hasFacets(facets: Facets | null, wanted: Facets): boolean {
  return Object.entries(wanted).every(([field, value]) => facetOf(facets, field) === value);
}

// ── The setting of a queue ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A declared field, and since when every new job has it. */
export interface QueueFacet {
  readonly field: string;
  readonly since: number;
}

/** How long processes may take to hear of a new facet. Until then, some new jobs do not have it. */
export const FACETS_HEARD_MS = 60_000;

/** The setting as it is stored: JSON of fields and times, or null for none. */
export function encodeFacets(facets: readonly QueueFacet[]): string | null {
  return facets.length === 0 ? null : JSON.stringify(facets.map(({ field, since }) => [field, since]));
}

export function decodeFacets(stored: string | null): readonly QueueFacet[] {
  return stored === null ? NO_FACETS : (JSON.parse(stored) as [string, number][]).map(([field, since]) => ({ field, since }));
}

const NO_FACETS: readonly QueueFacet[] = [];

/** Reads the fields that a caller declares, in stored form; undefined if they are not valid. Their times are set when they are stored. */
export function readFacets(input: unknown): string | null | undefined {
  if (input === null) return null;
  if (!Array.isArray(input) || input.length > MAX_FACETS || !input.every(isField)) return undefined;
  return encodeFacets([...new Set(input)].map((field) => ({ field, since: 0 })));
}

/** The declared fields with their times: one that was declared before keeps its time. */
export function sinceDeclared(wanted: string | null, before: string | null, now: number): string | null {
  const known = new Map(decodeFacets(before).map(({ field, since }) => [field, since]));
  return encodeFacets(decodeFacets(wanted).map(({ field }) => ({ field, since: known.get(field) ?? now + FACETS_HEARD_MS })));
}
