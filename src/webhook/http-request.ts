/**
 * THE BUILT-IN TYPE `http:request`: an HTTP request as a job, so that a server is useful without code.
 *
 *   2xx          completed: the result has the status, some headers and the beginning of the body
 *   429, 503     retried after their Retry-After, otherwise with the job's retry delay
 *   other 4xx    dead at once: the request is wrong and would be wrong again
 *   the rest     retried with the job's retry delay. Also 3xx: redirects are not followed
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Handler } from "../client/client.ts";
import { Discard, RetryAfter } from "../core/control-errors.ts";
import { MillraceError } from "../core/errors.ts";
import { MINUTE_MS } from "../core/time-units.ts";
import { type HttpRequest, readHttpRequest } from "./http-request-payload.ts";
import { retryAfterMs } from "./retry-after.ts";
import { type Answer, send, type Sender } from "./send.ts";

export interface HttpRequestParts {
  readonly sender: Sender;
  readonly now: () => number;
}

const CONNECT_MS = 5000;
/** For a job without a timeout of its own. */
const LONGEST_MS = 5 * MINUTE_MS;
const MAX_BODY_BYTES = 64 * 1024;

const KEPT_HEADERS = ["content-type", "content-length", "date", "etag", "last-modified", "location", "retry-after", "x-request-id"];
const MAX_HEADER_LENGTH = 1024;

/** The result of a job of type `http:request`. */
export interface HttpRequestResult {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** At most 64 KiB: text, or base64 if it is not text. */
  readonly body: string;
  readonly body_encoding: "utf8" | "base64";
  /** Whether the body was longer. */
  readonly truncated: boolean;
  readonly duration_ms: number;
}

export function httpRequestHandler({ sender, now }: HttpRequestParts): Handler<unknown, HttpRequestResult> {
  return async (payload, { job, signal }) => {
    const request = readOrDiscard(payload);
    const limits = { connectMs: CONNECT_MS, totalMs: job.timeout > 0 ? job.timeout : LONGEST_MS, maxBytes: MAX_BODY_BYTES };
    const startedAt = performance.now();
    const answer = await send(sender, { ...request, headers: { "user-agent": "millrace", ...request.headers } }, limits, signal);
    judge(answer, now());
    return resultOf(answer, Math.round(performance.now() - startedAt));
  };
}

/** An invalid payload would be invalid at the next attempt, too. */
function readOrDiscard(payload: unknown): HttpRequest {
  try {
    return readHttpRequest(payload);
  } catch (error) {
    throw error instanceof MillraceError ? new Discard(error.message, { cause: error }) : error;
  }
}

function judge({ host, status, headers, cut }: Answer, now: number): void {
  const said = `${host} answered ${status}`;
  if (status >= 200 && status < 300) {
    // The result says whether the body was too long. A body that broke off is no complete answer.
    if (cut === "time" || cut === "broken") throw new Error(`${said}, but its body did not arrive`);
    return;
  }
  const delayMs = retryAfterMs(status, headers["retry-after"], now);
  if (delayMs !== undefined) throw new RetryAfter(delayMs, `${said} and asked to try again later`);
  if (status >= 400 && status < 500 && status !== 429) throw new Discard(said);
  throw new Error(status >= 300 && status < 400 ? `${said}: redirects are not followed` : said);
}

function resultOf({ status, headers, body, cut }: Answer, durationMs: number): HttpRequestResult {
  return { status, headers: keptHeaders(headers), ...textOf(body, cut !== null), truncated: cut !== null, duration_ms: durationMs };
}

function keptHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (typeof value === "string") kept[name] = value.slice(0, MAX_HEADER_LENGTH);
  }
  return kept;
}

function textOf(body: Buffer, isCut: boolean): Pick<HttpRequestResult, "body" | "body_encoding"> {
  try {
    // The cut may go through a character, which is then dropped.
    return { body: new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: isCut }), body_encoding: "utf8" };
  } catch {
    return { body: body.toString("base64"), body_encoding: "base64" };
  }
}
