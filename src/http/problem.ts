/** PROBLEMS: error code -> status and body (RFC 9457). Clients see neither stacks nor messages of a store. */
import { type Issue, MillraceError } from "../core/errors.ts";
import type { JobWire, ProblemWire } from "./contract/schemas.ts";
import { type ProblemCode, PROBLEMS, type WireCode } from "./problem-codes.ts";
import { withoutDate } from "../core/time-words.ts";
import { fieldOnTheWire, wordsWith } from "./wire/values.ts";

/** What a WireError carries besides its message. */
export interface WireFacts {
  readonly field?: string;
  readonly retryAfterMs?: number;
  /** What this caller can do on this server, in place of the usual hint of the code. */
  readonly hint?: string;
  /** Headers that belong to the status. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the server's log. */
  readonly cause?: unknown;
}

/** A refusal that exists only over HTTP, or that has headers of its own. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly code: WireCode | "unauthorized" | "store_unavailable";
  readonly facts: WireFacts;

  constructor(code: WireError["code"], message: string, facts: WireFacts = {}) {
    super(message, { cause: facts.cause });
    this.code = code;
    this.facts = facts;
  }
}

/** The idempotency key belongs to another job. The answer has it, because the caller may want to use it instead. */
export class KeyTaken extends Error {
  override readonly name = "KeyTaken";
  readonly refusal: MillraceError;
  readonly job: JobWire;

  constructor(refusal: MillraceError, job: JobWire) {
    super(refusal.message, { cause: refusal });
    this.refusal = refusal;
    this.job = job;
  }
}

/** A problem answer, before it is written. */
export interface ProblemAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ProblemWire;
}

const DEFAULT_RETRY_AFTER_MS = 1000;

/** The answer for any error. An unexpected one is `internal` and shows no details. */
export function toProblem(error: unknown, requestId: string, inputStatus?: number): ProblemAnswer {
  if (error instanceof WireError) return problem(error.code, error.message, requestId, { ...error.facts, inputStatus });
  if (error instanceof KeyTaken) {
    const answer = libraryProblem(error.refusal, requestId, inputStatus);
    return { ...answer, body: { ...answer.body, job: error.job } };
  }
  if (error instanceof MillraceError) return libraryProblem(error, requestId, inputStatus);
  return problem("internal", "the request failed: the server's log says why", requestId);
}

/** Whether the operator should know: neither the caller nor the load caused it. */
export function isFault(error: unknown): boolean {
  if (error instanceof WireError) return error.code === "internal" || error.code === "store_unavailable";
  if (error instanceof KeyTaken) return false;
  return !(error instanceof MillraceError) || HIDDEN.has(error.code);
}

/** Messages of these are for the operator: they name hosts, statements and files. */
const HIDDEN: ReadonlySet<ProblemCode> = new Set(["store_unavailable", "store_full", "unsupported_store"]);
const INPUT: ReadonlySet<ProblemCode> = new Set(["invalid_input", "unknown_type", "malformed_body"]);
const RETRIED: ReadonlySet<ProblemCode> = new Set([
  "queue_full",
  "store_unavailable",
  "store_full",
  "closed",
  "rate_limited",
  "overloaded",
]);

function libraryProblem(error: MillraceError, requestId: string, inputStatus: number | undefined): ProblemAnswer {
  const { code, field, jobId, retryAfterMs, issues } = error;
  const named = field === undefined ? undefined : fieldOnTheWire(field);
  const detail = HIDDEN.has(code) ? hiddenDetail(code) : wordsOnTheWire(error.message, field, named);
  return problem(code, detail, requestId, { field: named, jobId, retryAfterMs, issues, inputStatus });
}

interface ProblemFacts {
  readonly field?: string | undefined;
  readonly jobId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly hint?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly issues?: readonly Issue[] | undefined;
  readonly inputStatus?: number | undefined;
}

function problem(code: ProblemCode, detail: string, requestId: string, facts: ProblemFacts = {}): ProblemAnswer {
  const { title, hint: usualHint, status: usual } = PROBLEMS[code];
  const { hint = usualHint } = facts;
  const status = facts.inputStatus !== undefined && INPUT.has(code) ? facts.inputStatus : usual;
  const retryAfterMs = RETRIED.has(code) ? (facts.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS) : undefined;
  const body: ProblemWire = { type: `urn:millrace:problem:${code}`, title, status, detail, code, hint, request_id: requestId };
  if (facts.field !== undefined) body.field = facts.field;
  if (facts.jobId !== undefined) body.job_id = facts.jobId;
  if (retryAfterMs !== undefined) body.retry_after_ms = retryAfterMs;
  if (facts.issues !== undefined) body.issues = [...facts.issues];
  const headers: Record<string, string> = { ...facts.headers };
  if (retryAfterMs !== undefined) headers["Retry-After"] = String(Math.ceil(retryAfterMs / 1000));
  return { status, headers, body };
}

function hiddenDetail(code: ProblemCode): string {
  switch (code) {
    case "store_full":
      return "the disk or the memory of the store is full";
    case "unsupported_store":
      return "the version or the configuration of the store is not compatible: the server's log says what is needed";
    default:
      return "the store did not answer in time, or refused: the server's log says why";
  }
}

function wordsOnTheWire(message: string, field: string | undefined, named: string | undefined): string {
  const words = withoutDate(message);
  return field === undefined || named === undefined || field === named ? words : wordsWith(words, field, named);
}
