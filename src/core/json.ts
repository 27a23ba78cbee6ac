import { messageOf, MillraceError, preview } from "./errors.ts";
import { JsonText } from "./json-text.ts";

/** How deep arrays and objects may nest. This bound also ends the walk over a cycle. */
export const MAX_JSON_DEPTH = 100;

export const MAX_PAYLOAD_BYTES: number = 1024 * 1024;
export const MAX_META_BYTES: number = 16 * 1024;

/** The most characters of payload, meta and tags that are stored in one batch. */
export const MAX_BATCH_WEIGHT: number = 4 * MAX_PAYLOAD_BYTES;

/**
 * The JSON text of a value, or an `invalid_input` error that names the place.
 *
 * `JSON.stringify` silently changes what JSON cannot express: NaN becomes null, a function or a Map disappears. A job would then run with
 * other data than its caller gave, so we refuse these. Properties that are `undefined` are left out, as usual in JavaScript, and `toJSON`
 * is honoured (as of a Date). The result for a JsonText is its text.
 */
export function encodeJson(value: unknown, field: string, maxBytes: number): string {
  try {
    const given = value instanceof JsonText ? value.value : value;
    if (!isFaithful(given, 0, { left: maxBytes })) throw refusal(given, field, maxBytes);
    const text = value instanceof JsonText ? value.text : JSON.stringify(value === undefined ? null : value);
    // A UTF-16 unit takes at most three bytes, so most texts need not be counted.
    if (text.length * 3 > maxBytes && utf8Length(text) > maxBytes) throw tooLarge(field, maxBytes, `; got ${utf8Length(text)}`);
    return text;
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    // A getter, Proxy or toJSON of the caller threw.
    throw new MillraceError("invalid_input", `${field} could not be converted to JSON: ${preview(messageOf(error))}`, {
      field,
      cause: error,
    });
  }
}

/**
 * How many more values may be visited. Each takes at least a byte of JSON, so at zero the text would be too long. The depth alone does not
 * bound the walk: forty arrays, each holding the next one twice, are 2^40 values.
 */
interface Budget {
  left: number;
}

/** Whether JSON can hold all of a value. Does not say where it cannot: paths cost time, and nearly all values are valid. */
function isFaithful(value: unknown, depth: number, budget: Budget): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || isFaithfulInside(value, depth, budget);
    case "undefined":
      return depth === 0;
    default:
      return false;
  }
}

function isFaithfulInside(value: object, depth: number, budget: Budget): boolean {
  if (depth === MAX_JSON_DEPTH) return false;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return isFaithful(ownJson(value), depth + 1, budget);
  if (Array.isArray(value)) {
    if ((budget.left -= value.length) < 0) return false;
    for (let index = 0; index < value.length; index++) if (!isFaithful(value[index], depth + 1, budget)) return false;
    return true;
  }
  if (!isPlain(value)) return false;
  const keys = Object.keys(value);
  if ((budget.left -= keys.length) < 0) return false;
  for (const key of keys) {
    const inner = (value as Record<string, unknown>)[key];
    // Most values in payloads are strings and need no call.
    if (typeof inner === "string" || inner === undefined) continue;
    if (!isFaithful(inner, depth + 1, budget)) return false;
  }
  return true;
}

/** What `toJSON` returns. `undefined` would make the value disappear, and an invalid Date gives null: both are refused. */
function ownJson(value: object): unknown {
  const said = (value as { toJSON(key: string): unknown }).toJSON("");
  return value instanceof Date && said === null ? Number.NaN : said;
}

/** An object that consists of its own properties: not a Map, Error, RegExp or Promise, which would become {} in JSON. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.prototype.toString.call(value) === "[object Object]";
}

/** A second walk, with paths, to say what is wrong and where. */
function refusal(value: unknown, field: string, maxBytes: number): MillraceError {
  return findUnfaithful(value, field, 0, { left: maxBytes }) ?? tooLarge(field, maxBytes, "");
}

function findUnfaithful(value: unknown, path: string, depth: number, budget: Budget): MillraceError | null {
  if (typeof value !== "object" || value === null) {
    if (isFaithful(value, depth, budget)) return null;
    return notJson(path, typeof value === "number" ? "a finite number" : "a value that JSON can hold", value);
  }
  if (depth === MAX_JSON_DEPTH) {
    const field = topOf(path);
    return new MillraceError("invalid_input", `${field} must not nest deeper than ${MAX_JSON_DEPTH} levels, nor contain itself`, { field });
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return findUnfaithful(ownJson(value), path, depth + 1, budget);
  if (Array.isArray(value)) return findInArray(value, path, depth, budget);
  if (!isPlain(value)) return notJson(path, "a plain object or array", value);
  return findInObject(value, path, depth, budget);
}

function findInArray(values: readonly unknown[], path: string, depth: number, budget: Budget): MillraceError | null {
  for (let index = 0; index < values.length; index++) {
    if (--budget.left < 0) return null;
    const found = findUnfaithful(values[index], `${path}[${index}]`, depth + 1, budget);
    if (found !== null) return found;
  }
  return null;
}

function findInObject(value: object, path: string, depth: number, budget: Budget): MillraceError | null {
  for (const [key, inner] of Object.entries(value)) {
    if (--budget.left < 0) return null;
    const found = inner === undefined ? null : findUnfaithful(inner, `${path}.${key}`, depth + 1, budget);
    if (found !== null) return found;
  }
  return null;
}

function tooLarge(field: string, maxBytes: number, rest: string): MillraceError {
  return new MillraceError("invalid_input", `${field} must be at most ${maxBytes} bytes of JSON${rest}`, { field });
}

function notJson(path: string, mustBe: string, got: unknown): MillraceError {
  const place = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return new MillraceError("invalid_input", `${place} must be ${mustBe}; got ${preview(got)}`, { field: place });
}

function topOf(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? path;
}

/** The length of a text in UTF-8, counted without a copy. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(index + 1))) {
      bytes += 2; // two units, four bytes
      index++;
    } else bytes += 2;
  }
  return bytes;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
