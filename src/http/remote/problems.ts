/** A problem answer -> the error that a client over the store would throw. */
import { ERROR_CODES, type ErrorCode, type ErrorFacts, MillraceError } from "../../core/errors.ts";
import type { ProblemWire } from "../contract/schemas.ts";
import type { ProblemCode, WireCode } from "../problem-codes.ts";
import { hasCallersNames, toCamelCase, wordsWith } from "../wire/values.ts";

/** The library's code for a problem that exists only over HTTP. */
const WIRE_CODES: Readonly<Record<WireCode, ErrorCode>> = {
  malformed_body: "invalid_input",
  malformed_request: "invalid_input",
  body_too_large: "invalid_input",
  unsupported_media_type: "invalid_input",
  foreign_origin: "forbidden",
  unknown_route: "unsupported_store",
  method_not_allowed: "unsupported_store",
  upgrade_required: "unsupported_store",
  misdirected: "unsupported_store",
  internal: "store_unavailable",
  overloaded: "store_unavailable",
};

/** Temporary problems after which nothing was done: any request may be sent again. */
export const REFUSED_FOR_NOW: ReadonlySet<string> = new Set<ProblemCode>(["overloaded", "closed", "rate_limited"]);

/** Temporary problems after which the request may or may not have been done. */
export const MAYBE_DONE: ReadonlySet<string> = new Set<ProblemCode>(["store_unavailable", "internal"]);

export function isProblem(body: unknown): body is ProblemWire {
  if (typeof body !== "object" || body === null) return false;
  const { code, detail } = body as Partial<ProblemWire>;
  return typeof code === "string" && typeof detail === "string";
}

export function errorOf({ code, detail, field, job_id, retry_after_ms, issues }: ProblemWire): MillraceError {
  const named = field === undefined ? undefined : fieldOfTheLibrary(field);
  const facts: { -readonly [K in keyof ErrorFacts]: ErrorFacts[K] } = {};
  if (named !== undefined) facts.field = named;
  if (job_id !== undefined) facts.jobId = job_id;
  if (retry_after_ms !== undefined) facts.retryAfterMs = retry_after_ms;
  if (issues !== undefined) facts.issues = issues;
  const message = field === undefined || named === undefined || field === named ? detail : wordsWith(detail, field, named);
  return new MillraceError(codeOf(code), message, facts);
}

function codeOf(code: string): ErrorCode {
  // A server that shuts down is unavailable: another one may answer.
  if (code === "closed") return "store_unavailable";
  if ((ERROR_CODES as readonly string[]).includes(code)) return code as ErrorCode;
  return WIRE_CODES[code as WireCode] ?? "store_unavailable";
}

/** Names inside payload and meta are the caller's own. */
function fieldOfTheLibrary(field: string): string {
  return hasCallersNames(field) ? field : toCamelCase(field);
}
