/** Every code that a MillraceError can carry. The list is closed: switch over it exhaustively. */
export const ERROR_CODES = [
  "invalid_input", // a value is outside its grammar or limit; `field` names it
  "invalid_cursor", // a cursor that this list did not give out
  "not_found", // no job, schedule or queue of that name
  "key_conflict", // the idempotency key belongs to a job with another type or payload
  "queue_full", // the queue's capacity is reached; try again later
  "wrong_status", // the job's status does not allow this change
  "stale_lease", // the lease has passed to another holder, or ended
  "unknown_type", // strict mode: no handler or definition of that type
  "invalid_transaction", // `tx` is not an open transaction on this store, or the engine has none
  "wait_timeout", // the job did not end within the time that the caller would wait
  "store_unavailable", // the store did not answer within the deadline
  "store_full", // the disk or the memory of the store is full
  "unsupported_store", // the store's version or schema does not fit this library
  "closed", // the client was closed
  "unauthorized", // the server wants an API key, or does not know this one
  "forbidden", // the API key lacks the scope for this, or the request comes from where it may not
  "rate_limited", // too many requests in too short a time; `retryAfterMs` says when to try again
] as const;

/** One of the codes that a MillraceError can carry. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** What an error knows beside its message. */
export interface ErrorFacts {
  /** The field that was refused, in the caller's own words: `priority`, `payload.to`. */
  readonly field?: string;
  /** The job that the error is about. */
  readonly jobId?: string;
  /** When it makes sense to try again, for `queue_full`, `store_unavailable` and `rate_limited`. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** The one error class that Millrace throws. `code` is stable; `message` is for people. */
export class MillraceError extends Error {
  override readonly name = "MillraceError";
  readonly code: ErrorCode;
  declare readonly field: string | undefined;
  declare readonly jobId: string | undefined;
  declare readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, "cause" in facts ? { cause: facts.cause } : undefined);
    this.code = code;
    // What is not known is left out, so that a printed error shows only what it says.
    const { cause: _, ...known } = facts;
    Object.assign(this, known);
  }
}

/** Refuses a value: says which field, what it must be, and what it was. */
export function invalid(field: string, mustBe: string, got: unknown): MillraceError {
  return new MillraceError("invalid_input", `${field} must be ${mustBe}; got ${preview(got)}`, { field });
}

const PREVIEW_LENGTH = 80;

/** A short, single-line picture of any value, safe to print: hostile values must not break the message that refuses them. */
export function preview(value: unknown): string {
  const text = describe(value);
  const printable = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "\ufffd").toWellFormed();
  return printable.length > PREVIEW_LENGTH ? `${printable.slice(0, PREVIEW_LENGTH).toWellFormed()}…` : printable;
}

function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `"${value.slice(0, PREVIEW_LENGTH + 1)}"`;
    case "bigint":
      return `${value}n`;
    case "function":
      return "a function";
    case "symbol":
      return "a symbol";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? `an array of ${value.length}` : "an object";
    default:
      return String(value);
  }
}

/** Hostile input may throw by itself, from a getter or a Proxy: that too is input that was refused. */
export function asInputError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new MillraceError("invalid_input", `the job could not be read: ${message}`, { cause: error });
}
