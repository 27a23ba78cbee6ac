/**
 * TEXT SEARCH. A job is found by a text that stands in its id, type, tags, idempotency key, the name or message of its error, or in the first
 * 16 KiB of its payload's JSON. Letters A to Z match in either case; every other character matches itself alone, so that no engine needs to
 * know more of the world's alphabets than another.
 */
import { invalid } from "./errors.ts";
import type { JobSummaryRecord } from "./job.ts";

/** The longest text that is searched for. */
export const MAX_SEARCH_LENGTH = 200;
/** So much of a payload's JSON, in bytes of UTF-8, is looked through: a search must cost no more because payloads are large. */
export const SEARCHED_PAYLOAD_BYTES: number = 16 * 1024;

export const SEARCH_RULE = `a text of 1 to ${MAX_SEARCH_LENGTH} characters without U+0000`;

/** Checks a text to search for. Throws `invalid_input`. */
export function readSearch(input: unknown): string {
  if (typeof input !== "string" || input === "" || input.length > MAX_SEARCH_LENGTH || input.includes("\u0000") || !input.isWellFormed()) {
    throw invalid("q", SEARCH_RULE, input);
  }
  return input;
}

/** A text that is searched for, and whether others hold it. */
export interface Search {
  /** The text with A to Z in lower case: what engines compare with lower-cased columns. */
  readonly text: string;
  /** The same as it stands inside a JSON text. Where a value has the text, its JSON has this. */
  readonly inJson: string;
  isInText(text: string): boolean;
  /** Whether it stands in what is known of a job without its payload. */
  isInSummary(job: JobSummaryRecord): boolean;
  /** Whether it stands in the part of a payload that is looked through. */
  isInPayload(payload: string): boolean;
}

/** Makes ready to search for a text. */
export function searchFor(q: string): Search {
  const pattern = patternOf(q);
  const text = q.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  return {
    text,
    inJson: JSON.stringify(text).slice(1, -1),
    isInText: (other) => pattern.test(other),
    isInSummary: ({ id, type, tags, idempotencyKey, error }) =>
      pattern.test(id) ||
      pattern.test(type) ||
      tags.some((tag) => pattern.test(tag)) ||
      (idempotencyKey !== null && pattern.test(idempotencyKey)) ||
      (error !== null && (pattern.test(error.name) || pattern.test(error.message))),
    isInPayload: (payload) => pattern.test(searchedPart(payload)),
  };
}

/** Not the flag `i`: it would also match É with é. */
function patternOf(q: string): RegExp {
  const source = q.replace(/[^0-9a-z]/gi, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return new RegExp(
    source.replace(/\\u[0-9a-f]{4}|[a-z]/gi, (one) => (one.length > 1 ? one : `[${one.toLowerCase()}${one.toUpperCase()}]`)),
  );
}

const encoder = new TextEncoder();
const room = new Uint8Array(SEARCHED_PAYLOAD_BYTES);
const MOST_BYTES_PER_UNIT = 3;

function searchedPart(payload: string): string {
  if (payload.length * MOST_BYTES_PER_UNIT <= SEARCHED_PAYLOAD_BYTES) return payload;
  const { read } = encoder.encodeInto(payload, room);
  return payload.slice(0, read);
}
