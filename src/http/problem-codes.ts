/** EVERY CODE of a problem answer: those of the library, and those that exist only over HTTP. Each has one status. */
import type { ErrorCode } from "../core/errors.ts";

/** How a code is answered. */
export interface ProblemKind {
  readonly status: number;
  /** The same for every problem of this code. */
  readonly title: string;
  /** What the caller can do about it. */
  readonly hint: string;
}

const LIBRARY_PROBLEMS: Readonly<Record<ErrorCode, ProblemKind>> = {
  invalid_input: { status: 422, title: "A value is invalid", hint: "Correct the named field and send the request again." },
  invalid_cursor: {
    status: 400,
    title: "The cursor is invalid",
    hint: "Use next_cursor from an answer of the same list, or leave the cursor out.",
  },
  not_found: {
    status: 404,
    title: "Not found",
    hint: "Check the id or name. Ended jobs are removed after their retention.",
  },
  key_conflict: { status: 409, title: "The idempotency key belongs to another job", hint: "Use each key for one type and payload only." },
  queue_full: {
    status: 503,
    title: "The queue is full",
    hint: "Wait as long as Retry-After says and send the request again, or raise the queue's capacity.",
  },
  schedule_exists: {
    status: 409,
    title: "A schedule has this name",
    hint: "Choose another name, or replace the schedule with PUT /api/v1/schedules/{name}.",
  },
  wrong_status: {
    status: 409,
    title: "The job's status does not allow this",
    hint: "Check the job's status: it may have ended, or not have ended yet.",
  },
  stale_lease: { status: 409, title: "The lease has ended", hint: "Stop the job: another worker has it, or it has ended." },
  unknown_type: { status: 422, title: "The type is unknown", hint: "Start a worker that handles this type, or correct the type." },
  invalid_transaction: { status: 422, title: "A transaction cannot be used here", hint: "Transactions need a client on the store itself." },
  wait_timeout: { status: 504, title: "The job did not end in time", hint: "Try again, or wait longer." },
  store_unavailable: {
    status: 503,
    title: "The store did not answer",
    hint: "Wait as long as Retry-After says and send the request again.",
  },
  store_full: { status: 503, title: "The store is full", hint: "Free disk space or memory of the store, then send the request again." },
  unsupported_store: { status: 503, title: "The store is not compatible", hint: "The server's log says which version is needed." },
  closed: {
    status: 503,
    title: "The server is shutting down",
    hint: "Send the request again: another process, or this one restarted, will answer.",
  },
  unauthorized: {
    status: 401,
    title: "The caller is not known",
    hint: "Send a valid key as X-API-Key or as Authorization: Bearer, or sign in.",
  },
  forbidden: { status: 403, title: "This is not allowed", hint: "Use a key with the named scope, or sign in as an operator." },
  rate_limited: { status: 429, title: "Too many requests", hint: "Wait as long as Retry-After says." },
};

/** Codes that exist only over HTTP. */
const WIRE_PROBLEMS = {
  malformed_body: { status: 400, title: "The body is not JSON", hint: "Send JSON in UTF-8." },
  malformed_request: { status: 400, title: "The request cannot be read", hint: "Correct the URL or the headers." },
  foreign_origin: {
    status: 403,
    title: "The origin of this page is not allowed",
    hint: "Serve the page from this server, or add its origin to the allowed origins.",
  },
  unknown_route: { status: 404, title: "There is no such route", hint: "GET /openapi.json lists every route." },
  method_not_allowed: { status: 405, title: "The method is not allowed", hint: "The Allow header lists the methods of this path." },
  body_too_large: { status: 413, title: "The body is too large", hint: "Send less at once: the limit is in the detail." },
  unsupported_media_type: {
    status: 415,
    title: "The body is not declared as JSON",
    hint: "Send Content-Type: application/json, not compressed.",
  },
  misdirected: { status: 421, title: "The Host header names another server", hint: "Call the server by one of its own host names." },
  upgrade_required: {
    status: 426,
    title: "This route is for WebSockets",
    hint: "Open a WebSocket here, or read the same events from GET /api/v1/events.",
  },
  internal: { status: 500, title: "The server failed", hint: "Look for this request_id in the server's log." },
  overloaded: { status: 503, title: "The server is overloaded", hint: "Wait as long as Retry-After says and send the request again." },
} as const satisfies Record<string, ProblemKind>;

/** A code that exists only over HTTP. */
export type WireCode = keyof typeof WIRE_PROBLEMS;
/** Any code that a problem answer can carry. */
export type ProblemCode = ErrorCode | WireCode;

/** Every code, and how it is answered. */
export const PROBLEMS: Readonly<Record<ProblemCode, ProblemKind>> = { ...LIBRARY_PROBLEMS, ...WIRE_PROBLEMS };
