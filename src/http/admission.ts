/**
 * ADMISSION: the checks of every call before its route runs. Is it meant for this server, may its page call, who calls, do they have the
 * scope, and not too often? What no rule allows is refused.
 */
import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { ApplicationCaller } from "./application-auth.ts";
import { ANYONE, type Caller, Keys, secretOf } from "./auth.ts";
import type { Call } from "./call.ts";
import type { Route, Scope } from "./contract/route.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import { type Limiter, MemoryLimiter } from "./limits.ts";
import { networkOf } from "./network.ts";
import { WireError } from "./problem.ts";
import { type Sessions, tokenOf } from "./sessions.ts";

export interface AdmissionOptions {
  readonly keys: readonly string[];
  /** Users of the dashboard: their sessions count like keys. */
  readonly sessions: Sessions;
  readonly ended: EndedSessions;
  /** The application around this server decides who may call. */
  readonly open: boolean;
  /** The application's own sign-in; null if it has none here. */
  readonly auth: ApplicationCaller | null;
  /** Host names that callers may use; null: any. */
  readonly hosts: readonly string[] | null;
  /** Origins of pages that may call, besides the server's own. */
  readonly origins: readonly string[];
  readonly limiter: Limiter | null;
  /** How many proxies are in front of this server. Only what they append to X-Forwarded-For is trusted. */
  readonly trustedProxies: number;
  readonly clock: Clock;
}

/** Wrong keys from one address. Callers there with a right key are still admitted. */
const WRONG_KEYS = { requests: 20, perMs: 60_000 };
const LOCAL_ONLY =
  "this server has no API key, so it answers only callers on its own machine, and only as localhost. To open it to others, set API_KEY, or give createServer `auth` or `keys`";
const SIGN_IN_BY_HEADERS =
  "sign in to the application first. WebSockets pass no middleware, so `auth` must know the user by the headers of the request";
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const CHANGES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #keys: Keys;
  readonly #hosts: ReadonlySet<string> | null;
  readonly #origins: ReadonlySet<string>;
  readonly #wrongKeys = new MemoryLimiter(WRONG_KEYS);
  /** The last Host header that passed the check: the next one is nearly always the same. */
  #ownHost: string | null = null;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#keys = new Keys(options.keys);
    this.#hosts = options.hosts === null ? null : new Set(options.hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(options.origins);
  }

  /** Without keys, only this machine may call, and only by a loopback name: a foreign page could let its own name point here. */
  get isLocalOnly(): boolean {
    return this.#keys.isEmpty && !this.#options.open && !this.asksApplication;
  }

  /** Whether the application around this server decides who may call. */
  get isOpen(): boolean {
    return this.#options.open;
  }

  /** Whether callers without a key sign in to the application around this server. */
  get asksApplication(): boolean {
    return this.#options.auth !== null;
  }

  /** Throws unless the call is allowed. */
  admit(
    call: Call,
    scope: Scope | "open" | "any",
    { anyOrigin = false, alsoFor }: Pick<Route, "anyOrigin" | "alsoFor"> = {},
  ): Caller | Promise<Caller> {
    this.#checkHost(call);
    if (!anyOrigin) this.#checkOrigin(call);
    if (scope === "open") return ANYONE;
    const caller = this.callerOf(call);
    return caller instanceof Promise
      ? caller.then((known) => this.#admitCaller(known, call, scope, alsoFor))
      : this.#admitCaller(caller, call, scope, alsoFor);
  }

  #admitCaller(caller: Caller, call: Call, scope: Scope | "any", alsoFor: Scope | undefined): Caller | Promise<Caller> {
    if (scope !== "any" && !caller.scopes.has(scope) && !(alsoFor !== undefined && caller.scopes.has(alsoFor))) {
      const scopes = alsoFor === undefined ? scope : `${scope} or ${alsoFor}`;
      const needed = caller.user === undefined ? `a key with the scope ${scopes}` : `an operator: ${caller.user} is a viewer`;
      throw new MillraceError("forbidden", `this request needs ${needed}`);
    }
    const { limiter, clock } = this.#options;
    if (limiter === null) return caller;
    const waitMs = limiter.take(caller.id ?? `address:${networkOf(this.addressOf(call))}`, clock.monotonic());
    return typeof waitMs === "number" ? keepRate(waitMs, caller) : waitMs.then((ms) => keepRate(ms, caller));
  }

  /** The origin of the calling page, if it is foreign and allowed. */
  allowedOrigin(call: Call): string | null {
    if (this.#origins.size === 0) return null;
    const origin = call.header("origin");
    return origin !== null && this.#origins.has(origin) ? origin : null;
  }

  /** The caller's address, as the trusted proxies report it. */
  addressOf(call: Call): string | null {
    const { trustedProxies } = this.#options;
    if (trustedProxies === 0) return call.address;
    const forwarded = call.header("x-forwarded-for")?.split(",") ?? [];
    return forwarded.at(-trustedProxies)?.trim() ?? forwarded[0]?.trim() ?? call.address;
  }

  #checkHost(call: Call): void {
    const allowed = this.#hosts;
    if (allowed === null && !this.isLocalOnly) return;
    const given = call.header("host");
    if (given !== null && given === this.#ownHost) return;
    const host = given?.toLowerCase() ?? "";
    const name = host.replace(/:\d+$/, "");
    const isAllowed = allowed === null ? LOOPBACK_NAMES.includes(name) : allowed.has(name) || allowed.has(host);
    if (!isAllowed) throw new WireError("misdirected", allowed === null ? LOCAL_ONLY : "the Host header does not name this server");
    this.#ownHost = given;
  }

  #checkOrigin(call: Call): void {
    if (!CHANGES.has(call.method) && call.isUpgrade !== true) return;
    const origin = call.header("origin");
    if (origin === null || this.#origins.has(origin)) return;
    // Browsers cannot send a key with a WebSocket request: this is another kind of program, without a page.
    if (origin === "null" && call.isUpgrade === true && secretOf((name) => call.header(name)) !== null) return;
    const page = URL.parse(origin)?.host;
    if (page !== undefined && page === call.header("host")?.toLowerCase()) return;
    throw new WireError("foreign_origin", `only this server's pages may ${call.isUpgrade === true ? "open WebSockets" : "make changes"}`);
  }

  /** Who calls: by key, else by the application's sign-in, else by session, else anybody on this machine if the server has no keys. Else throws `unauthorized`. */
  callerOf(call: Call): Caller | Promise<Caller> {
    if (this.#options.open) return ANYONE;
    const { auth } = this.#options;
    const secret = this.#keys.isEmpty ? null : secretOf((name) => call.header(name));
    const known = secret === null ? null : this.#keys.find(secret);
    if (known !== null) return known;
    // A token that is not one of our keys may be one of the application.
    if (auth !== null && (secret === null || !call.header("x-api-key"))) return this.#userOfApplication(auth, call, secret !== null);
    if (secret !== null) return this.#refuseKey(call);
    const user = this.#userOf(call);
    if (user?.session === undefined) return this.#anonymous(call);
    return this.#options.ended.isEnded(user.session).then((isEnded) => (isEnded ? this.#anonymous(call) : user));
  }

  /** Browsers send the application's cookies whichever page makes the request, too, and the application may keep its users by them. */
  async #userOfApplication(auth: ApplicationCaller, call: Call, hasToken: boolean): Promise<Caller> {
    const user = await auth(call);
    if (user === null && hasToken) this.#refuseKey(call);
    if (user === null) throw this.#unauthorized(call.isUpgrade === true ? SIGN_IN_BY_HEADERS : "sign in to the application first");
    const site = call.header("sec-fetch-site");
    // With an Origin, #checkOrigin has refused the pages of others.
    if (CHANGES.has(call.method) && call.header("origin") === null && (site === "cross-site" || site === "same-site"))
      throw new WireError("foreign_origin", "with a session, only this server's pages may make changes");
    return user;
  }

  /** A caller with neither a key nor a session. */
  #anonymous(call: Call): Caller {
    if (this.#keys.isEmpty) return this.#localCaller(call);
    throw this.#unauthorized(
      "this request needs an API key: send it in the header X-API-Key, or set API_KEY (apiKey of connect) for a client of ours",
    );
  }

  /**
   * Browsers send cookies whichever page makes the request. So a change must come from a page of ours, and so must a WebSocket, for which
   * browsers always send the origin.
   */
  #userOf(call: Call): Caller | null {
    const { sessions, clock } = this.#options;
    const token = sessions.isEmpty ? null : tokenOf(call.header("cookie"));
    const user = token === null ? null : sessions.find(token, clock.now());
    const isUpgrade = call.isUpgrade === true;
    if (user === null || (!CHANGES.has(call.method) && !isUpgrade)) return user;
    const origin = call.header("origin");
    // An origin that names a page has passed #checkOrigin.
    if (origin !== null && origin !== "null") return user;
    if (!isUpgrade && (origin !== null || call.header("sec-fetch-site") === "same-origin")) return user;
    throw new WireError("foreign_origin", `with a session, only this server's pages may ${isUpgrade ? "open WebSockets" : "make changes"}`);
  }

  /** Programs on this machine. If there are users, pages must sign in: browsers mark the requests of pages. */
  #localCaller(call: Call): Caller {
    if (!isLoopback(call.address) || cameThroughProxy(call)) throw this.#unauthorized(LOCAL_ONLY);
    // They mark a WebSocket request only by its origin.
    const isPage = call.header("sec-fetch-site") !== null || (call.isUpgrade === true && call.header("origin") !== null);
    if (!this.#options.sessions.isEmpty && isPage) throw this.#unauthorized("sign in to the dashboard first");
    return ANYONE;
  }

  #refuseKey(call: Call): never {
    const waitMs = this.#wrongKeys.take(networkOf(this.addressOf(call)), this.#options.clock.monotonic());
    if (waitMs > 0) throw tooOften("too many wrong API keys from this address", waitMs);
    throw this.#unauthorized("this server does not know the API key: compare API_KEY of the caller with that of the server");
  }

  /** The hint names only ways that this server has. */
  #unauthorized(why: string): WireError {
    const ways = [
      this.asksApplication ? ["sign in to the application"] : [],
      this.#options.sessions.isEmpty ? [] : ["sign in to the dashboard"],
      this.#keys.isEmpty ? [] : ["send a valid key as X-API-Key or as Authorization: Bearer"],
      this.isLocalOnly ? ["call from the machine of the server, as localhost"] : [],
    ].flat();
    const hint = ways.join(", or ");
    return new WireError("unauthorized", why, { hint: `${hint[0]!.toUpperCase()}${hint.slice(1)}.` });
  }
}

/** Addresses that only this machine can reach. */
export function isLoopback(address: string | null): boolean {
  if (address === "127.0.0.1") return true;
  return address !== null && (/^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address) || address === "::1" || address === "localhost");
}

/** A proxy on this machine calls for others. Not every proxy says so, but most do. */
function cameThroughProxy(call: Call): boolean {
  return ["x-forwarded-for", "forwarded", "x-real-ip"].some((name) => call.header(name) !== null);
}

function keepRate(waitMs: number, caller: Caller): Caller {
  if (waitMs > 0) throw tooOften("the rate limit is exceeded", waitMs);
  return caller;
}

function tooOften(why: string, waitMs: number): MillraceError {
  return new MillraceError("rate_limited", why, { retryAfterMs: Math.ceil(waitMs) });
}
