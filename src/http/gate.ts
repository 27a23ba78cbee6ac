/**
 * THE GATE: what is asked of every call before its route sees it. Is it meant for this server, does it come from a page that may, who calls,
 * may they, and not too often. What is not allowed by a rule is refused.
 */
import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import { ANYONE, type Caller, Keys, secretOf } from "./auth.ts";
import type { Call } from "./call.ts";
import type { Scope } from "./contract/route.ts";
import { type Limiter, MemoryLimiter } from "./limits.ts";
import { WireError } from "./problem.ts";

export interface GateOptions {
  readonly keys: readonly string[];
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

  /** Throws unless the call may be. */
  admit(call: Call, scope: Scope | "open" | "any"): Caller | Promise<Caller> {
    this.#checkHost(call);
    this.#checkOrigin(call);
    if (scope === "open") return ANYONE;
    const caller = this.#callerOf(call);
    if (scope !== "any" && !caller.scopes.has(scope)) {
      throw new MillraceError("forbidden", `this needs a key with the scope ${scope}`);
    }
    const { limiter, clock } = this.#options;
    if (limiter === null) return caller;
    const waitMs = limiter.take(caller.id ?? `address:${this.addressOf(call) ?? ""}`, clock.monotonic());
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
    if (!CHANGES.has(call.method)) return;
    const origin = call.header("origin");
    if (origin === null || this.#origins.has(origin)) return;
    const host = call.header("host")?.toLowerCase();
    if (URL.parse(origin)?.host !== host) throw new WireError("foreign_origin", "changes are accepted only from pages of this server");
  }

  #callerOf(call: Call): Caller {
    if (this.#options.open) return ANYONE;
    if (this.#keys.isEmpty) return this.#localCaller(call);
    const secret = secretOf((name) => call.header(name));
    if (secret === null) throw unauthorized("this needs an API key");
    return this.#keys.find(secret) ?? this.#refuseKey(call);
  }

  #localCaller(call: Call): Caller {
    if (isLoopback(call.address)) return ANYONE;
    throw new MillraceError("unauthorized", "this server has no API key, so it answers only to its own machine");
  }

  #refuseKey(call: Call): never {
    const waitMs = this.#wrongKeys.take(this.addressOf(call) ?? "", this.#options.clock.monotonic());
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
