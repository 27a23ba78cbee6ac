/**
 * TEXT SEARCH. Finds a text in the id, type, tags, idempotency key, error name or error message of a job, or in the first 16 KiB of its
 * payload's JSON. Letters A to Z match in either case; every other character matches only itself, so that all engines find the same.
 */
import { invalid } from "./errors.ts";
import type { JobSummaryRecord } from "./job.ts";

export const MAX_SEARCH_LENGTH = 200;
/** How much of a payload's JSON is searched, in bytes of UTF-8: large payloads must not make a search slower. */
export const SEARCHED_PAYLOAD_BYTES: number = 16 * 1024;

export const SEARCH_RULE = `a string of 1 to ${MAX_SEARCH_LENGTH} characters without U+0000`;

export function readSearch(input: unknown): string {
  if (typeof input !== "string" || input === "" || input.length > MAX_SEARCH_LENGTH || input.includes("\u0000") || !input.isWellFormed()) {
    throw invalid("q", SEARCH_RULE, input);
  }
  return input;
}

/** A search text, and where it occurs. */
export interface Search {
  /** The text with A to Z in lower case, which engines compare with lower-cased columns. */
  readonly text: string;
  /** The text as it occurs inside JSON: the JSON of a value with the text contains this. */
  readonly inJson: string;
  isInText(text: string): boolean;
  /** Whether it occurs in a job, apart from the payload. */
  isInSummary(job: JobSummaryRecord): boolean;
  /** Whether it occurs in the searched part of a payload. */
  isInPayload(payload: string): boolean;
}

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

/** Without the flag `i`, which would also match É with é. */
function patternOf(q: string): RegExp {
  const source = q.replace(/[^0-9a-z]/gi, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return new RegExp(
    source.replace(/\\u[0-9a-f]{4}|[a-z]/gi, (one) => (one.length > 1 ? one : `[${one.toLowerCase()}${one.toUpperCase()}]`)),
  );
}

const encoder = new TextEncoder();
const buffer = new Uint8Array(SEARCHED_PAYLOAD_BYTES);
const MOST_BYTES_PER_UNIT = 3;

function searchedPart(payload: string): string {
  if (payload.length * MOST_BYTES_PER_UNIT <= SEARCHED_PAYLOAD_BYTES) return payload;
  const { read } = encoder.encodeInto(payload, buffer);
  return payload.slice(0, read);
}
