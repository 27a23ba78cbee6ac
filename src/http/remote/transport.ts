/**
 * REQUESTS OF A REMOTE CLIENT. Each is retried until its deadline: always if the server did nothing, and if it may have acted, only if the
 * request is repeatable. Nothing here needs Node.
 */
import { formatDuration } from "../../core/duration.ts";
import { MillraceError } from "../../core/errors.ts";
import { CHECK_ADDRESS, unreachable } from "../../core/unreachable.ts";
import { type Clock, sleep } from "../../lib/clock.ts";
import { refusalInWords } from "../../lib/refused.ts";
import type { AnswerFrom, ParamsIn, RouteName } from "../contract.ts";
import { errorOf, isProblem, MAYBE_DONE, REFUSED_FOR_NOW } from "./problems.ts";
import { RequestSlots } from "./request-slots.ts";

export interface TransportOptions {
  /** Without a slash at the end. */
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly deadlineMs: number;
  readonly clock: Clock;
  /** In [0, 1); spreads retries. */
  readonly random: () => number;
  readonly fetch: typeof fetch;
}

/** The parts of a request. */
export interface RequestParts<Name extends RouteName> {
  readonly params?: ParamsIn<Name>;
  /** A list is one parameter several times. */
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** JSON text. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether sending it twice has the effect of sending it once. */
  readonly repeatable: boolean;
  /** How much longer the server may take, because it waits for something. */
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer that is not a problem. */
export interface Answered<Name extends RouteName> {
  readonly status: number;
  readonly body: AnswerFrom<Name>;
  /** The body as the server wrote it. */
  readonly text: string;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

export class Transport {
  readonly #options: TransportOptions;
  readonly #slots = new RequestSlots();
  readonly #ending = new AbortController();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /** Aborts when the client closes. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Aborts all requests. */
  end(reason: Error): void {
    this.#ending.abort(reason);
  }

  /** Sends a request and returns its answer. Throws what a client over the store would. */
  async ask<Name extends RouteName>(name: Name, request: RequestParts<Name>): Promise<Answered<Name>> {
    const { clock, deadlineMs } = this.#options;
    this.ending.throwIfAborted();
    const from = clock.monotonic();
    const until = from + deadlineMs + (request.waitMs ?? 0);
    for (let tries = 0; ; tries++) {
      const outcome = await this.#try(name, request, { from, until });
      if (outcome instanceof Failure) await this.#pauseOrGiveUp(outcome, request.repeatable, tries, until);
      else return outcome;
    }
  }

  /** Opens a stream of text. The caller reads it to its end, or aborts `signal`. */
  async openStream(name: RouteName, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const { fetch, url } = this.#options;
    const [, path = ""] = name.split(" ");
    const response = await fetch(url + path, { headers: { ...this.#headers(), ...headers, Accept: "text/event-stream" }, signal });
    if (response.ok && response.body !== null) return response.body;
    throw errorIn(url, response.status, read(await response.text()));
  }

  async #try<Name extends RouteName>(name: Name, request: RequestParts<Name>, time: Span): Promise<Answered<Name> | Failure> {
    const { clock } = this.#options;
    const attempt = new AbortController();
    const stop = (): void => attempt.abort(request.signal?.aborted === true ? request.signal.reason : this.ending.reason);
    const timer = clock.setTimer(() => attempt.abort(new TooLate()), time.until - clock.monotonic());
    request.signal?.addEventListener("abort", stop);
    this.ending.addEventListener("abort", stop);
    try {
      if (request.signal?.aborted === true) stop();
      return await this.#send(name, request, attempt.signal);
    } catch (error) {
      if (error instanceof MillraceError || request.signal?.aborted === true || this.ending.aborted) throw error;
      const triedMs = Math.round(clock.monotonic() - time.from);
      return new Failure(this.#unavailable(error, triedMs), wasNeverSent(error) ? "nothing" : "unknown");
    } finally {
      timer.cancel();
      request.signal?.removeEventListener("abort", stop);
      this.ending.removeEventListener("abort", stop);
    }
  }

  async #send<Name extends RouteName>(name: Name, request: RequestParts<Name>, signal: AbortSignal): Promise<Answered<Name> | Failure> {
    const isLong = request.waitMs !== undefined && request.waitMs > 0;
    if (!isLong) await this.#slots.take(signal);
    try {
      const [method = ""] = name.split(" ");
      const { body, headers } = request;
      const response = await this.#options.fetch(this.#address(name, request), {
        method,
        headers: { ...this.#headers(), ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
        body: body ?? null,
        signal,
      });
      return judge<Name>(this.#options.url, response.status, await response.text());
    } finally {
      if (!isLong) this.#slots.free();
    }
  }

  /** Says where the server should be, and what to do. The URL has no key or password in it. */
  #unavailable(error: unknown, triedMs: number): MillraceError {
    const { url, deadlineMs } = this.#options;
    const server = `the Millrace server at ${url}`;
    if (error instanceof TooLate) {
      const message = `${server} did not answer within ${formatDuration(deadlineMs)}. Check that it is running, and what its log says`;
      return new MillraceError("store_unavailable", message, { cause: error });
    }
    const { cause, message } = error as { cause?: unknown; message: string };
    const refusal = refusalInWords(cause);
    if (refusal !== null) return unreachable(server, refusal, { ms: triedMs }, error);
    const why = cause instanceof Error ? cause.message || cause.name : message;
    return new MillraceError("store_unavailable", `the connection to ${server} failed: ${why}. ${CHECK_ADDRESS}`, { cause: error });
  }

  #address<Name extends RouteName>(name: Name, { params, query }: RequestParts<Name>): string {
    const [, path = ""] = name.split(" ");
    const filled = path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent((params as Record<string, string>)[param] ?? ""));
    const search = new URLSearchParams();
    for (const [key, value = []] of Object.entries(query ?? {})) for (const each of [value].flat()) search.append(key, each);
    return `${this.#options.url}${filled}${search.size === 0 ? "" : `?${search.toString()}`}`;
  }

  #headers(): Record<string, string> {
    const { apiKey } = this.#options;
    return apiKey === undefined ? {} : { "X-API-Key": apiKey };
  }

  async #pauseOrGiveUp({ error, done }: Failure, repeatable: boolean, tries: number, until: number): Promise<void> {
    const { clock, random } = this.#options;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries, 10)) * (0.5 + random() / 2);
    const waitMs = error.code === "rate_limited" ? Math.max(pause, error.retryAfterMs ?? 0) : pause;
    if ((done === "unknown" && !repeatable) || clock.monotonic() + waitMs >= until) throw error;
    await sleep(clock, waitMs, this.ending);
    this.ending.throwIfAborted();
  }
}

/** A failed try, and whether the server may have acted. */
class Failure {
  readonly error: MillraceError;
  readonly done: "nothing" | "unknown";

  constructor(error: MillraceError, done: "nothing" | "unknown") {
    this.error = error;
    this.done = done;
  }
}

class TooLate extends Error {}

/** When a call began, and when it must end. */
interface Span {
  readonly from: number;
  readonly until: number;
}

function judge<Name extends RouteName>(url: string, status: number, text: string): Answered<Name> | Failure {
  const body = read(text);
  if (status >= 200 && status < 300 && body !== undefined) return { status, body: body as AnswerFrom<Name>, text };
  const error = errorIn(url, status, body);
  if (isProblem(body) ? MAYBE_DONE.has(body.code) : status >= 500) return new Failure(error, "unknown");
  if (isProblem(body) && REFUSED_FOR_NOW.has(body.code)) return new Failure(error, "nothing");
  throw error;
}

function errorIn(url: string, status: number, body: unknown): MillraceError {
  if (isProblem(body)) return errorOf(body);
  if (status >= 500) {
    const message = `the Millrace server at ${url}, or a proxy in front of it, answered ${status}. Check that it is running, and what its log says`;
    return new MillraceError("store_unavailable", message);
  }
  return new MillraceError("unsupported_store", `this URL does not answer like a Millrace server (status ${status}): check the URL`, {
    field: "url",
  });
}

/** undefined if the body is not JSON. */
function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Only Node says so; browsers give no reason. */
function wasNeverSent(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown } };
  return cause?.code === "ECONNREFUSED" || cause?.code === "ENOTFOUND" || cause?.code === "EAI_AGAIN";
}
