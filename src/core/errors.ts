/** Every code that a MillraceError can carry. The list is closed: switch over it exhaustively. */
export const ERROR_CODES = [
  "invalid_input", // a value is malformed or out of bounds; `field` names it
  "invalid_cursor", // this list did not return this cursor
  "not_found", // no job, schedule or queue with that name or id
  "key_conflict", // the idempotency key belongs to a job with a different type or payload
  "queue_full", // the queue's capacity is reached; try again later
  "schedule_exists", // another schedule has this name; `upsert` would replace it
  "wrong_status", // the job's status does not allow this change
  "stale_lease", // the lease ended, or another worker holds it
  "unknown_type", // strict mode: no handler or definition of that type; or the client has registered jobs, and this is none
  "invalid_transaction", // `tx` is not an open transaction on this store, or the engine has none
  "wait_timeout", // the job did not end within the time that the caller was ready to wait
  "store_unavailable", // the store did not answer within the deadline
  "store_full", // the disk or the memory of the store is full
  "unsupported_store", // the store's version or schema is not supported by this version of Millrace
  "closed", // the client was closed
  "unauthorized", // the API key is missing or unknown
  "forbidden", // the API key lacks the scope, or the origin of the request is not allowed
  "rate_limited", // too many requests in too short a time; `retryAfterMs` says when to try again
] as const;

/** One of the codes that a MillraceError can have. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** One place of a payload that does not fit its schema. */
export interface Issue {
  /** `payload.to`, `payload.items[2].price`. */
  readonly field: string;
  /** What is wrong with it: `is required`, `must be integer`. */
  readonly message: string;
}

/** What an error has besides its message. */
export interface ErrorFacts {
  /** The field that was refused, as the caller named it: `priority`, `payload.to`. */
  readonly field?: string;
  /** The job that the error is about. */
  readonly jobId?: string;
  /** How long to wait before you try again, for `queue_full`, `store_unavailable` and `rate_limited`. */
  readonly retryAfterMs?: number;
  /** The places of a payload that a server refused by its schema: at most 20. `field` is the first. */
  readonly issues?: readonly Issue[];
  readonly cause?: unknown;
}

/** The one error class that Millrace throws. `code` is stable; `message` is for people. */
export class MillraceError extends Error {
  override readonly name = "MillraceError";
  readonly code: ErrorCode;
  declare readonly field: string | undefined;
  declare readonly jobId: string | undefined;
  declare readonly retryAfterMs: number | undefined;
  declare readonly issues: readonly Issue[] | undefined;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message, "cause" in facts ? { cause: facts.cause } : undefined);
    this.code = code;
    // Absent facts are left out, so that a printed error shows only the others.
    const { cause: _, ...known } = facts;
    Object.assign(this, known);
  }
}

/** Whether the store is to blame: the same call may succeed later. */
export function isStoreTrouble(error: unknown): boolean {
  return error instanceof MillraceError && (error.code === "store_unavailable" || error.code === "store_full");
}

/** Refuses a value: names the field, what it must be, and what it was. */
export function invalid(field: string, mustBe: string, got: unknown): MillraceError {
  return new MillraceError("invalid_input", `${field} must be ${mustBe}; got ${preview(got)}`, { field });
}

const PREVIEW_LENGTH = 80;

/** Any value as a short single line that is safe to print: a hostile value must not break the message that refuses it. */
export function preview(value: unknown): string {
  return printable(describe(value), PREVIEW_LENGTH);
}

/** A text as a single line of at most this length that is safe to print. */
export function printable(text: string, length: number): string {
  const safe = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "\ufffd").toWellFormed();
  return safe.length > length ? `${safe.slice(0, length).toWellFormed()}…` : safe;
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

/** Hostile input may throw from a getter or a Proxy: that is refused input, too. */
export function asInputError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  return new MillraceError("invalid_input", `the job could not be read: ${messageOf(error)}`, { cause: error });
}

/** The message of anything that was thrown. Never throws: an object without a prototype has no text, and a getter may fail. */
export function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return "something without a message was thrown";
  }
}
