/**
 * THE GATE: what is asked of every call before its route sees it. Is it meant for this server, does it come from a page that may, who calls,
 * may they, and not too often. What is not allowed by a rule is refused.
 */
import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { ANYONE, type Caller, Keys, secretOf } from "./auth.ts";
import type { Call } from "./call.ts";
import type { Scope } from "./contract/route.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import { type Limiter, MemoryLimiter } from "./limits.ts";
import { networkOf } from "./network.ts";
import { WireError } from "./problem.ts";
import { type Sessions, tokenOf } from "./sessions.ts";

export interface GateOptions {
  readonly keys: readonly string[];
  /** Users of the dashboard: their sessions count like keys. */
  readonly sessions: Sessions;
  readonly ended: EndedSessions;
  /** The application around this server decides who may call. */
  readonly open: boolean;
  /** Names under which the server may be called; null: any. */
  readonly hosts: readonly string[] | null;
  /** Origins of pages that may call, beside the server's own. */
  readonly origins: readonly string[];
  readonly limiter: Limiter | null;
  /** How many proxies stand before this server: so many addresses at the end of X-Forwarded-For are theirs to tell. */
  readonly trustedProxies: number;
  readonly clock: Clock;
}

/** Wrong keys from one address. Whoever has the right one is not kept out by others who do not. */
const WRONG_KEYS = { requests: 20, perMs: 60_000 };
const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"];
const CHANGES = new Set(["POST", "PUT", "PATCH", "DELETE"]);

export class Gate {
  readonly #options: GateOptions;
  readonly #keys: Keys;
  readonly #hosts: ReadonlySet<string> | null;
  readonly #origins: ReadonlySet<string>;
  readonly #wrongKeys = new MemoryLimiter(WRONG_KEYS);
  /** The latest Host header that was found to be ours: nearly always it is the next one, too. */
  #ownHost: string | null = null;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#keys = new Keys(options.keys);
    this.#hosts = options.hosts === null ? null : new Set(options.hosts.map((host) => host.toLowerCase()));
    this.#origins = new Set(options.origins);
  }

  /** Without keys, only this machine may call, and only by a name of its own: a page elsewhere could else have its name point here. */
  get isLocalOnly(): boolean {
    return this.#keys.isEmpty && !this.#options.open;
  }

  /** Whether the application around this server decides who may call. */
  get isOpen(): boolean {
    return this.#options.open;
  }

  /** Throws unless the call may be. */
  admit(call: Call, scope: Scope | "open" | "any"): Caller | Promise<Caller> {
    this.#checkHost(call);
    this.#checkOrigin(call);
    if (scope === "open") return ANYONE;
    const caller = this.callerOf(call);
    return caller instanceof Promise
      ? caller.then((known) => this.#admitCaller(known, call, scope))
      : this.#admitCaller(caller, call, scope);
  }

  #admitCaller(caller: Caller, call: Call, scope: Scope | "any"): Caller | Promise<Caller> {
    if (scope !== "any" && !caller.scopes.has(scope)) {
      throw new MillraceError("forbidden", `this needs a key with the scope ${scope}`);
    }
    const { limiter, clock } = this.#options;
    if (limiter === null) return caller;
    const waitMs = limiter.take(caller.id ?? `address:${networkOf(this.addressOf(call))}`, clock.monotonic());
    return typeof waitMs === "number" ? keepRate(waitMs, caller) : waitMs.then((ms) => keepRate(ms, caller));
  }

  /** The origin of a page that may read answers, if it is one from elsewhere that was allowed. */
  allowedOrigin(call: Call): string | null {
    if (this.#origins.size === 0) return null;
    const origin = call.header("origin");
    return origin !== null && this.#origins.has(origin) ? origin : null;
  }

  /** Who the caller's neighbour says it is. Only so many proxies are believed as there are. */
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
    if (!isAllowed) throw new WireError("misdirected", "the Host header does not name this server");
    this.#ownHost = given;
  }

  #checkOrigin(call: Call): void {
    if (!CHANGES.has(call.method) && call.isUpgrade !== true) return;
    const origin = call.header("origin");
    if (origin === null || this.#origins.has(origin)) return;
    // A browser cannot send a key with a request for a WebSocket: this is another program, whose page has no address.
    if (origin === "null" && call.isUpgrade === true && secretOf((name) => call.header(name)) !== null) return;
    const page = URL.parse(origin)?.host;
    if (page !== undefined && page === call.header("host")?.toLowerCase()) return;
    const what = call.isUpgrade === true ? "WebSockets are opened" : "changes are accepted";
    throw new WireError("foreign_origin", `${what} only for pages of this server`);
  }

  /** Who calls: by a key, else by a session, else as anybody on this machine where there is no key. Throws `unauthorized` else. */
  callerOf(call: Call): Caller | Promise<Caller> {
    if (this.#options.open) return ANYONE;
    const secret = this.#keys.isEmpty ? null : secretOf((name) => call.header(name));
    if (secret !== null) return this.#keys.find(secret) ?? this.#refuseKey(call);
    const user = this.#userOf(call);
    if (user?.session === undefined) return this.#stranger(call);
    return this.#options.ended.isEnded(user.session).then((isEnded) => (isEnded ? this.#stranger(call) : user));
  }

  /** Who has neither a key nor a session. */
  #stranger(call: Call): Caller {
    if (this.#keys.isEmpty) return this.#localCaller(call);
    throw unauthorized("this needs an API key");
  }

  /**
   * Cookies are sent by the browser, whichever page it was that made it: a change must come from a page of ours, and so must a request for a
   * WebSocket, with which browsers always say where it comes from.
   */
  #userOf(call: Call): Caller | null {
    const { sessions, clock } = this.#options;
    const token = sessions.isEmpty ? null : tokenOf(call.header("cookie"));
    const user = token === null ? null : sessions.find(token, clock.now());
    const isUpgrade = call.isUpgrade === true;
    if (user === null || (!CHANGES.has(call.method) && !isUpgrade)) return user;
    const origin = call.header("origin");
    // One that names a page was held against ours before.
    if (origin !== null && origin !== "null") return user;
    if (!isUpgrade && (origin !== null || call.header("sec-fetch-site") === "same-origin")) return user;
    const what = isUpgrade ? "WebSockets are opened" : "changes are accepted";
    throw new WireError("foreign_origin", `with a session ${what} only for pages of this server`);
  }

  /**
   * Programs on this machine. Where there are users, that does not go for pages: browsers say for each request where it comes from, and
   * whoever looks at one has to sign in.
   */
  #localCaller(call: Call): Caller {
    if (!isLoopback(call.address)) {
      throw new MillraceError("unauthorized", "this server has no API key, so it answers only to its own machine");
    }
    // With a request for a WebSocket they say it by the origin alone.
    const isPage = call.header("sec-fetch-site") !== null || (call.isUpgrade === true && call.header("origin") !== null);
    if (!this.#options.sessions.isEmpty && isPage) throw unauthorized("sign in to the dashboard first");
    return ANYONE;
  }

  #refuseKey(call: Call): never {
    const waitMs = this.#wrongKeys.take(networkOf(this.addressOf(call)), this.#options.clock.monotonic());
    if (waitMs > 0) throw tooOften("too many wrong keys came from this address", waitMs);
    throw unauthorized("the API key is not known");
  }
}

/** Addresses that only this machine has. */
export function isLoopback(address: string | null): boolean {
  if (address === "127.0.0.1") return true;
  return address !== null && (/^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(address) || address === "::1" || address === "localhost");
}

function keepRate(waitMs: number, caller: Caller): Caller {
  if (waitMs > 0) throw tooOften("the rate of requests is exceeded", waitMs);
  return caller;
}

function tooOften(why: string, waitMs: number): MillraceError {
  return new MillraceError("rate_limited", why, { retryAfterMs: Math.ceil(waitMs) });
}

function unauthorized(why: string): MillraceError {
  return new MillraceError("unauthorized", why);
}
