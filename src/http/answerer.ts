/**
 * ONE CALL FROM ITS ARRIVAL TO ITS ANSWER: let in, read, checked, handed to its route, written. Whatever is thrown on the way becomes a
 * problem. Nothing is made for a call that it does not need: this runs for every request.
 */
import { MillraceError } from "../core/errors.ts";
import { jsonOf, stringifyJson } from "../core/json-text.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "./auth.ts";
import type { Answer, Call } from "./call.ts";
import type { EndedSessions, Session, SessionOver } from "./ended-sessions.ts";
import type { Gate } from "./gate.ts";
import type { Occupancy } from "./limits.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import { isFault, toProblem, WireError } from "./problem.ts";
import { requestIds } from "./request-id.ts";
import { RawReply, type Reply } from "./route-input.ts";
import { type PathParams, ActiveCall, type CallHost } from "./active-call.ts";

/** What can be known of a request once it was answered. */
export interface RequestFacts {
  readonly requestId: string;
  readonly method: string;
  /** The route's path with its names in braces; null when there is no such route. */
  readonly route: string | null;
  readonly status: number;
  readonly durationMs: number;
  /** The name of the key that was used. */
  readonly caller: string | null;
  readonly address: string | null;
  /** What went wrong on our side. */
  readonly error?: unknown;
}

export interface AnswererOptions {
  readonly gate: Gate;
  readonly ended: EndedSessions;
  readonly occupancy: Occupancy;
  readonly clock: Clock;
  readonly onRequest: ((facts: RequestFacts) => void) | undefined;
}

export class Answerer implements CallHost {
  readonly #gate: Gate;
  readonly #ended: EndedSessions;
  readonly #occupancy: Occupancy;
  readonly #clock: Clock;
  readonly #onRequest: AnswererOptions["onRequest"];
  readonly #requestId = requestIds();
  /** Those that are not answered yet, or stream. */
  readonly #active = new Set<ActiveCall>();
  #isDraining = false;
  #whenQuiet: (() => void)[] = [];

  constructor({ gate, ended, occupancy, clock, onRequest }: AnswererOptions) {
    this.#gate = gate;
    this.#ended = ended;
    this.#occupancy = occupancy;
    this.#clock = clock;
    this.#onRequest = onRequest;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** From now on only what ends work under way is served; who waits is answered at once. Resolves when nobody is left. */
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
      const admitted = this.#gate.admit(call, route.rule.scope);
      active.caller = admitted instanceof Promise ? await admitted : admitted;
      active.readQuery();
      if (route.checkBody !== undefined) active.readBody(await call.readBody(route.maxBody, active));
      answer = answerOf(await route.handle(active), requestId);
    } catch (error) {
      if (isFault(error)) fault = error;
      answer = problemAnswer(error, requestId, route.rule.inputStatus);
    }
    // A stream leaves by itself when it has ended, and so does a connection that was taken over.
    if (answer.status !== SWITCHING && (typeof answer.body !== "object" || answer.body === null)) active.leave();
    if (this.#onRequest !== undefined) this.#tell(active, route.path, answer.status, startedAt, fault);
    return this.#shared(call, answer);
  }

  /** Answers a call that no route takes. It is let in like any other first: who has no key learns nothing about paths. */
  async answerLost(call: Call, allowed: readonly string[]): Promise<Answer> {
    const startedAt = this.#clock.monotonic();
    const requestId = this.#requestId(call.header("x-request-id"));
    let caller: Caller | null = null;
    let answer: Answer;
    let fault: unknown;
    try {
      if (isPreflight(call, allowed) && this.#gate.allowedOrigin(call) !== null) {
        answer = { status: 204, headers: { "Access-Control-Allow-Methods": allowed.join(", "), ...PREFLIGHT }, body: null };
      } else {
        caller = await this.#gate.admit(call, "any");
        throw lost(allowed);
      }
    } catch (error) {
      if (isFault(error)) fault = error;
      answer = problemAnswer(error, requestId, undefined);
    }
    this.#tell({ requestId, call, caller }, null, answer.status, startedAt, fault);
    return this.#shared(call, answer);
  }

  /** Answers a call for a file, which needs no key: there is nothing in it that is not in the package. Never throws. */
  async answerFile(call: Call, route: string, make: () => Promise<Answer>): Promise<Answer> {
    const startedAt = this.#clock.monotonic();
    const requestId = this.#requestId(call.header("x-request-id"));
    let answer: Answer;
    let fault: unknown;
    try {
      await this.#gate.admit(call, "open");
      answer = await make();
    } catch (error) {
      if (isFault(error)) fault = error;
      answer = problemAnswer(error, requestId, undefined);
    }
    this.#tell({ requestId, call, caller: null }, route, answer.status, startedAt, fault);
    return answer;
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
    const origin = this.#gate.allowedOrigin(call);
    if (origin === null) return answer;
    const shared = { "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED, Vary: "Origin" };
    return { ...answer, headers: { ...answer.headers, ...shared } };
  }

  #tell(
    { requestId, call, caller }: Pick<ActiveCall, "requestId" | "call" | "caller">,
    route: string | null,
    status: number,
    startedAt: number,
    error: unknown,
  ): void {
    const durationMs = this.#clock.monotonic() - startedAt;
    const address = this.#gate.addressOf(call);
    const facts = { requestId, method: call.method, route, status, durationMs, caller: caller?.name ?? null, address };
    try {
      this.#onRequest?.(error === undefined ? facts : { ...facts, error });
    } catch {
      // Who only listens must not fail what was done.
    }
  }
}

/** Switching protocols. */
const SWITCHING = 101;
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

function lost(allowed: readonly string[]): WireError {
  if (allowed.length === 0) return new WireError("unknown_route", "there is no such route");
  const methods = allowed.join(", ");
  return new WireError("method_not_allowed", `this route takes ${methods}`, { headers: { Allow: methods } });
}

function answerOf(reply: Reply<unknown> | RawReply, requestId: string): Answer {
  if (reply instanceof RawReply)
    return { status: 200, headers: { ...headersOf(reply.mediaType, requestId), ...reply.headers }, body: reply.body };
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

/** What is said is for this caller and this moment, and is what it says it is. */
function headersOf(mediaType: string, requestId: string): Record<string, string> {
  return {
    "Content-Type": mediaType,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Request-Id": requestId,
  };
}
