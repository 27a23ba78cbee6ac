/** PROBLEMS: error code -> status and body (RFC 9457). Neither stacks nor what a store said reach a client. */
import { MillraceError } from "../core/errors.ts";
import type { JobWire, ProblemWire } from "./contract/schemas.ts";
import { type ProblemCode, PROBLEMS, type WireCode } from "./problem-codes.ts";
import { withoutDate } from "../core/time-words.ts";
import { toSnakeCase } from "./wire/values.ts";

/** What a problem of the wire knows beside its words. */
export interface WireFacts {
  readonly field?: string;
  readonly retryAfterMs?: number;
  /** Headers that belong to the status. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the server's log. */
  readonly cause?: unknown;
}

/** Something that only the wire refuses; or a refusal with headers of its own. */
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

/** The idempotency key belongs to another job, which is shown: whoever sent the key may want to go on with that one. */
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

/** Asked again too soon, the answer would be the same. */
const DEFAULT_RETRY_AFTER_MS = 1000;

/** The answer for anything that was thrown. What nobody meant to throw is `internal`, and tells nothing. */
export function toProblem(error: unknown, requestId: string, inputStatus?: number): ProblemAnswer {
  if (error instanceof WireError) return wireProblem(error, requestId, inputStatus);
  if (error instanceof KeyTaken) return withJob(libraryProblem(error.refusal, requestId, inputStatus), error.job);
  if (error instanceof MillraceError) return libraryProblem(error, requestId, inputStatus);
  return problem("internal", "the request failed for a reason that is only in the server's log", requestId);
}

/** Whether somebody should look at it: neither the caller nor the load is to blame. */
export function isFault(error: unknown): boolean {
  if (error instanceof WireError) return error.code === "internal" || error.code === "store_unavailable";
  if (error instanceof KeyTaken) return false;
  return !(error instanceof MillraceError) || HIDDEN.has(error.code);
}

/** What these say is for the operator: names of hosts, statements, files. */
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

function wireProblem({ code, message, facts }: WireError, requestId: string, inputStatus: number | undefined): ProblemAnswer {
  return problem(code, message, requestId, { ...facts, inputStatus });
}

function libraryProblem(error: MillraceError, requestId: string, inputStatus: number | undefined): ProblemAnswer {
  const { code, field, jobId, retryAfterMs } = error;
  const named = field === undefined ? undefined : fieldOnTheWire(field);
  const detail = HIDDEN.has(code) ? hiddenDetail(code) : wordsOnTheWire(error.message, field, named);
  return problem(code, detail, requestId, { field: named, jobId, retryAfterMs, inputStatus });
}

function withJob(answer: ProblemAnswer, job: JobWire): ProblemAnswer {
  return { ...answer, body: { ...answer.body, job } };
}

interface ProblemFacts {
  readonly field?: string | undefined;
  readonly jobId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly inputStatus?: number | undefined;
}

function problem(code: ProblemCode, detail: string, requestId: string, facts: ProblemFacts = {}): ProblemAnswer {
  const { title, hint, status: usual } = PROBLEMS[code];
  const status = facts.inputStatus !== undefined && INPUT.has(code) ? facts.inputStatus : usual;
  const retryAfterMs = RETRIED.has(code) ? (facts.retryAfterMs ?? DEFAULT_RETRY_AFTER_MS) : undefined;
  const body: ProblemWire = { type: `urn:millrace:problem:${code}`, title, status, detail, code, hint, request_id: requestId };
  if (facts.field !== undefined) body.field = facts.field;
  if (facts.jobId !== undefined) body.job_id = facts.jobId;
  if (retryAfterMs !== undefined) body.retry_after_ms = retryAfterMs;
  const headers: Record<string, string> = { ...facts.headers };
  if (retryAfterMs !== undefined) headers["Retry-After"] = String(Math.ceil(retryAfterMs / 1000));
  return { status, headers, body };
}

function hiddenDetail(code: ProblemCode): string {
  switch (code) {
    case "store_full":
      return "the disk or the memory of the store is full";
    case "unsupported_store":
      return "the version or the configuration of the store does not fit this server: its log says what is needed";
    default:
      return "the store did not answer in time, or refused: the server's log says why, with this request_id";
  }
}

/** What lies below payload and meta is the caller's, and so are the names there. */
function fieldOnTheWire(field: string): string {
  return /^(payload|meta)\b/.test(field) ? field : toSnakeCase(field);
}

function wordsOnTheWire(message: string, field: string | undefined, named: string | undefined): string {
  const words = withoutDate(message);
  return field === undefined || named === undefined || field === named ? words : words.replaceAll(field, named);
}
