/**
 * ONE CALL FROM ARRIVAL TO ANSWER: admit it, read and check its input, run its route, write the answer. Any error becomes a problem.
 * This runs for every request, so it creates nothing that the call does not need.
 */
import { randomBytes } from "node:crypto";
import { MillraceError } from "../core/errors.ts";
import { jsonOf, stringifyJson } from "../core/json-text.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "./auth.ts";
import type { Answer, Call } from "./call.ts";
import type { EndedSessions, Session, SessionOver } from "./ended-sessions.ts";
import type { Admission } from "./admission.ts";
import type { Occupancy } from "./limits.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import { isFault, toProblem, WireError } from "./problem.ts";
import { RawReply, type Reply } from "./route-input.ts";
import { type PathParams, ActiveCall, type CallHost } from "./active-call.ts";

/** What is known about a request after its answer. */
export interface RequestFacts {
  readonly requestId: string;
  readonly method: string;
  /** The route's path with its parameters in braces; null if no route matched. */
  readonly route: string | null;
  readonly status: number;
  readonly durationMs: number;
  /** The name of the API key. */
  readonly caller: string | null;
  readonly address: string | null;
  /** Set if the server or the store failed. */
  readonly error?: unknown;
}

export interface AnswererOptions {
  readonly admission: Admission;
  readonly ended: EndedSessions;
  readonly occupancy: Occupancy;
  readonly clock: Clock;
  readonly onRequest: ((facts: RequestFacts) => void) | undefined;
}

export class Answerer implements CallHost {
  readonly #admission: Admission;
  readonly #ended: EndedSessions;
  readonly #occupancy: Occupancy;
  readonly #clock: Clock;
  readonly #onRequest: AnswererOptions["onRequest"];
  readonly #requestId = requestIds();
  /** Calls that are not answered yet, or that stream. */
  readonly #active = new Set<ActiveCall>();
  #isDraining = false;
  #whenQuiet: (() => void)[] = [];

  constructor({ admission, ended, occupancy, clock, onRequest }: AnswererOptions) {
    this.#admission = admission;
    this.#ended = ended;
    this.#occupancy = occupancy;
    this.#clock = clock;
    this.#onRequest = onRequest;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Refuses new calls, except open routes and reports of running work. Answers waiting calls at once. Resolves when no call is left. */
  drain(): Promise<void> {
    this.#isDraining = true;
    for (const active of this.#active) active.end();
    if (this.#active.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenQuiet.push(resolve));
  }

  /** Answers a call. Never throws. */
  async answer(route: PreparedRoute, call: Call, params: PathParams): Promise<Answer> {
    const startedAt = this.#onRequest === undefined ? 0 : this.#clock.monotonic();
    const requestId = this.#requestId(call.header("x-request-id"));
    const active = new ActiveCall(route, call, params, requestId, this.#occupancy, this);
    this.#active.add(active);
    let answer: Answer;
    let fault: unknown;
    try {
      if (this.#isDraining) refuseWhileDraining(route);
      if (route.rule.scope !== "open") active.enter();
      const admitted = this.#admission.admit(call, route.rule.scope, route.rule);
      active.caller = admitted instanceof Promise ? await admitted : admitted;
      active.readQuery();
      if (route.checkBody !== undefined) active.readBody(await call.readBody(route.maxBody, active));
      answer = answerOf(await route.handle(active), requestId);
    } catch (error) {
      if (isFault(error)) fault = error;
      answer = problemAnswer(error, requestId, route.rule.inputStatus);
    }
    // A stream leaves when it ends, and so does a WebSocket.
    if (answer.status !== SWITCHING_PROTOCOLS && (typeof answer.body !== "object" || answer.body === null)) active.leave();
    if (this.#onRequest !== undefined) this.#report(active, route.path, answer.status, startedAt, fault);
    return this.#shared(call, answer);
  }

  /** Answers a call that matches no route. It checks the key first: without one, you learn nothing about paths. */
  async answerNoRoute(call: Call, allowed: readonly string[]): Promise<Answer> {
    const startedAt = this.#clock.monotonic();
    const requestId = this.#requestId(call.header("x-request-id"));
    let caller: Caller | null = null;
    let answer: Answer;
    let fault: unknown;
    try {
      if (isPreflight(call, allowed) && this.#admission.allowedOrigin(call) !== null) {
        answer = { status: 204, headers: { "Access-Control-Allow-Methods": allowed.join(", "), ...PREFLIGHT }, body: null };
      } else {
        caller = await this.#admission.admit(call, "any");
        throw noRoute(allowed);
      }
    } catch (error) {
      if (isFault(error)) fault = error;
      answer = problemAnswer(error, requestId, undefined);
    }
    this.#report({ requestId, call, caller }, null, answer.status, startedAt, fault);
    return this.#shared(call, answer);
  }

  /** Answers a call for a file. It needs no key: the files are those of the public package. Never throws. */
  async answerFile(call: Call, route: string | null, make: () => Promise<Answer>): Promise<Answer> {
    const startedAt = this.#clock.monotonic();
    const requestId = this.#requestId(call.header("x-request-id"));
    let answer: Answer;
    let fault: unknown;
    try {
      await this.#admission.admit(call, "open");
      answer = await make();
    } catch (error) {
      if (isFault(error)) fault = error;
      answer = problemAnswer(error, requestId, undefined);
    }
    this.#report({ requestId, call, caller: null }, route, answer.status, startedAt, fault);
    return answer;
  }

  /** Answers a call for a path that is not ours: outside the mount path of the server, or disguised. */
  answerOutside(call: Call): Promise<Answer> {
    return this.answerFile(call, null, () => Promise.reject(noRoute([])));
  }

  left(active: ActiveCall): void {
    this.#active.delete(active);
    if (this.#active.size === 0) for (const resolve of this.#whenQuiet.splice(0)) resolve();
  }

  watchSession(session: Session, end: (reason: SessionOver) => void): () => void {
    return this.#ended.watch(session, end);
  }

  /** Lets pages of allowed origins read the answer. */
  #shared(call: Call, answer: Answer): Answer {
    const origin = this.#admission.allowedOrigin(call);
    if (origin === null) return answer;
    const shared = { "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED, Vary: "Origin" };
    return { ...answer, headers: { ...answer.headers, ...shared } };
  }

  #report(
    { requestId, call, caller }: Pick<ActiveCall, "requestId" | "call" | "caller">,
    route: string | null,
    status: number,
    startedAt: number,
    error: unknown,
  ): void {
    const durationMs = this.#clock.monotonic() - startedAt;
    const address = this.#admission.addressOf(call);
    const facts = { requestId, method: call.method, route, status, durationMs, caller: caller?.name ?? null, address };
    try {
      this.#onRequest?.(error === undefined ? facts : { ...facts, error });
    } catch {
      // A listener that throws must not fail the call.
    }
  }
}

export const SWITCHING_PROTOCOLS = 101;
const EXPOSED = "Location, Retry-After, X-Request-Id, Idempotent-Replayed";
const PREFLIGHT = {
  "Access-Control-Allow-Headers": "Content-Type, X-API-Key, Authorization, Idempotency-Key, Prefer, Last-Event-ID, X-Request-Id",
  "Access-Control-Max-Age": "600",
};

function isPreflight(call: Call, allowed: readonly string[]): boolean {
  return call.method === "OPTIONS" && allowed.length > 0 && call.header("access-control-request-method") !== null;
}

function refuseWhileDraining({ rule }: PreparedRoute): void {
  if (rule.scope === "open" || rule.servedToTheEnd === true) return;
  throw new MillraceError("closed", "the server is shutting down", { retryAfterMs: 1000 });
}

function noRoute(allowed: readonly string[]): WireError {
  if (allowed.length === 0) return new WireError("unknown_route", "no route matches this path");
  const methods = allowed.join(", ");
  return new WireError("method_not_allowed", `this path allows only ${methods}`, { headers: { Allow: methods } });
}

function answerOf(reply: Reply<unknown> | RawReply, requestId: string): Answer {
  if (reply instanceof RawReply)
    return { status: reply.status, headers: { ...headersOf(reply.mediaType, requestId), ...reply.headers }, body: reply.body };
  const headers = headersOf("application/json", requestId);
  return {
    status: reply.status,
    headers: reply.headers === undefined ? headers : Object.assign(headers, reply.headers),
    body: reply.status === 204 ? null : jsonOf(reply.body),
  };
}

function problemAnswer(error: unknown, requestId: string, inputStatus: number | undefined): Answer {
  const { status, headers, body } = toProblem(error, requestId, inputStatus);
  return { status, headers: { ...headersOf("application/problem+json", requestId), ...headers }, body: stringifyJson(body) };
}

/** Answers must not be cached, because they are for one caller, and browsers must not guess their type. */
function headersOf(mediaType: string, requestId: string): Record<string, string> {
  return {
    "Content-Type": mediaType,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": requestId,
  };
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** Makes ids of requests: a random prefix for the process, and a counter. */
function requestIds(): (given: string | null) => string {
  const prefix = randomBytes(6).toString("base64url");
  let count = 0;
  // Ids go into headers and logs, so one of another form is replaced.
  return (given) => (given !== null && REQUEST_ID.test(given) ? given : `${prefix}-${(++count).toString(36)}`);
}
