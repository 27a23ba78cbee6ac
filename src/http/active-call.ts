/** A call in progress. What it takes of the server's limits, it gives back once, when it ends. */
import type { Caller } from "./auth.ts";
import type { Call } from "./call.ts";
import type { Session, SessionOver } from "./ended-sessions.ts";
import type { Occupancy } from "./limits.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import { WireError } from "./problem.ts";
import { putTexts, readJson } from "./read-json.ts";
import type { RouteInput } from "./route-input.ts";

/** Path parameters by name. */
export type PathParams = Readonly<Record<string, string>>;

export interface CallHost {
  left(active: ActiveCall): void;
  /** Calls `end` when the session is over, unless the returned function was called before. */
  watchSession(session: Session, end: (reason: SessionOver) => void): () => void;
}

export class ActiveCall implements RouteInput<never> {
  readonly call: Call;
  readonly params: never;
  readonly requestId: string;
  query: never = undefined as never;
  body: never = undefined as never;
  caller: Caller | null = null;
  readonly #route: PreparedRoute;
  readonly #occupancy: Occupancy;
  readonly #host: CallHost;
  #ending: AbortController | null = null;
  #isEnding = false;
  #endReason: Error | undefined;
  #unwatch: (() => void) | null = null;
  #place: "arrived" | "answered" | "waiting" | "left" = "arrived";
  #bytes = 0;

  constructor(route: PreparedRoute, call: Call, params: PathParams, requestId: string, occupancy: Occupancy, host: CallHost) {
    this.#host = host;
    this.#route = route;
    this.call = call;
    this.params = params as never;
    this.requestId = requestId;
    this.#occupancy = occupancy;
  }

  /** Made on first use: most calls do not wait. */
  get ending(): AbortSignal {
    if (this.#ending === null) {
      const ending = new AbortController();
      const { signal } = this.call;
      if (this.#isEnding || signal.aborted) ending.abort(this.#endReason);
      else signal.addEventListener("abort", () => ending.abort(), { once: true });
      this.#ending = ending;
    }
    return this.#ending.signal;
  }

  /** Makes a waiting call answer now: the server shuts down, or the caller's session is over. */
  end(reason?: Error): void {
    this.#isEnding = true;
    this.#endReason = reason;
    this.#ending?.abort(reason);
  }

  enter(): void {
    this.#occupancy.enter();
    this.#place = "answered";
  }

  startWaiting(): void {
    this.#occupancy.startWaiting();
    this.#place = "waiting";
    const session = this.caller?.session;
    if (session !== undefined) this.#unwatch = this.#host.watchSession(session, (reason) => this.end(reason));
  }

  leave(): void {
    if (this.#place === "left") return;
    this.#unwatch?.();
    if (this.#bytes > 0) this.#occupancy.giveBack(this.#bytes);
    if (this.#place === "answered") this.#occupancy.leave();
    if (this.#place === "waiting") this.#occupancy.stopWaiting();
    this.#bytes = 0;
    this.#place = "left";
    this.#host.left(this);
  }

  readQuery(): void {
    const { rule, readQuery } = this.#route;
    if (this.call.search !== "" || rule.query !== undefined) this.query = readQuery(this.call.search) as never;
  }

  /** Reads and checks the body; null: the request has none. */
  readBody(bytes: Uint8Array | null): void {
    const { rule, checkBody } = this.#route;
    if (bytes === null) {
      if (rule.bodyIsOptional === true) return;
      throw new WireError("malformed_body", "the request has no body: send JSON");
    }
    requireJson(this.call);
    const body = readJson(bytes, rule.keepsText);
    checkBody?.(body.value);
    if (rule.keepsText !== undefined) putTexts(body, rule.keepsText);
    this.body = body.value as never;
  }

  hold(bytes: number): void {
    this.#occupancy.hold(bytes);
    this.#bytes += bytes;
  }
}

const JSON_TYPE = /^application\/json *(?:; *charset *= *"?utf-?8"? *)?$/i;

/** Stops cross-site requests: without a preflight, a foreign page can send forms and plain text, but not JSON. */
function requireJson(call: Call): void {
  const type = call.header("content-type") ?? "";
  // The usual value first: this runs for every body.
  if (type !== "application/json" && !JSON_TYPE.test(type)) {
    throw new WireError("unsupported_media_type", "Content-Type must be application/json, in UTF-8");
  }
  const encoding = call.header("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new WireError("unsupported_media_type", "the body must not be compressed: remove Content-Encoding");
  }
}
