/** SIGNING IN to the dashboard, and out again. Names and passwords that do not fit are counted: they are easier to guess than keys. */
import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "./auth.ts";
import type { Call } from "./call.ts";
import type { AnswerFrom } from "./contract.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import type { Gate } from "./gate.ts";
import { MemoryLimiter } from "./limits.ts";
import { networkOf } from "./network.ts";
import { WireError } from "./problem.ts";
import { basicOf, sessionCookie, type Sessions, tokenOf } from "./sessions.ts";

/** A session that was just begun: the header that sets its cookie, and whose it is. */
export interface OpenedSession {
  readonly cookie: string;
  readonly caller: Caller;
}

/** Tries that failed, from one address. Until the time is over the right password is refused, too: else one could go on guessing. */
const WRONG_PASSWORDS = { requests: 10, perMs: 60_000 };

const SIGNED_OUT_HERE =
  "signed out here, but the store did not answer: other servers could not be told, so a copy of the cookie stays valid there until its 24 h are over";

export interface SignInParts {
  readonly gate: Gate;
  readonly sessions: Sessions;
  readonly ended: EndedSessions;
  readonly clock: Clock;
  /** Where the server is mounted: the cookie is sent there, and nowhere else. */
  readonly basePath: string;
}

export class SignIn {
  readonly #parts: SignInParts;
  readonly #failures = new MemoryLimiter(WRONG_PASSWORDS);

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  /** Who calls, as far as the server knows. */
  async sessionOf(call: Call, signedIn: OpenedSession | null): Promise<AnswerFrom<"GET /dashboard/session">> {
    const caller = signedIn?.caller ?? (await this.#callerOf(call));
    const role = caller === null ? null : caller.scopes.has("admin") ? "operator" : "viewer";
    return { user: caller?.user ?? null, role, sign_in: this.#way };
  }

  /** Signs in. Throws `unauthorized`, or `rate_limited` after too many tries. */
  open(call: Call, name: string, password: string): OpenedSession {
    const { gate, sessions, clock } = this.#parts;
    const address = networkOf(gate.addressOf(call));
    const waitMs = this.#failures.waitOf(address, clock.monotonic());
    if (waitMs > 0) throw new MillraceError("rate_limited", "too many tries from this address", { retryAfterMs: Math.ceil(waitMs) });
    const opened = sessions.open(name, password, clock.now());
    if (opened === null) {
      this.#failures.take(address, clock.monotonic());
      throw new MillraceError("unauthorized", "the user name or the password is wrong");
    }
    return { cookie: this.#cookie(call, opened.token), caller: opened.caller };
  }

  /**
   * Ends the session, wherever its cookie is. Answers the header that takes the cookie away. Throws `store_unavailable` where the store cannot
   * be told; that answer takes the cookie away, too: this browser is signed out in any case.
   */
  async close(call: Call): Promise<string> {
    const { sessions, ended, clock } = this.#parts;
    const token = tokenOf(call.header("cookie"));
    const session = token === null ? undefined : sessions.find(token, clock.now())?.session;
    const cookie = this.#cookie(call, null);
    try {
      if (session !== undefined) await ended.end(session);
    } catch (error) {
      throw new WireError("store_unavailable", SIGNED_OUT_HERE, { headers: { "Set-Cookie": cookie }, cause: error });
    }
    return cookie;
  }

  /** Signs in whoever sends HTTP Basic. Null: nobody does, or nobody has to. */
  openBasic(call: Call): OpenedSession | null {
    const given = basicOf(call.header("authorization"));
    if (given === null || this.#parts.sessions.isEmpty) return null;
    try {
      return this.open(call, given.name, given.password);
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== "unauthorized") throw error;
      throw new WireError("unauthorized", error.message, { headers: { "WWW-Authenticate": 'Basic realm="Millrace", charset="UTF-8"' } });
    }
  }

  async #callerOf(call: Call): Promise<Caller | null> {
    try {
      return await this.#parts.gate.callerOf(call);
    } catch (error) {
      if (error instanceof MillraceError && error.code === "unauthorized") return null;
      throw error;
    }
  }

  get #way(): "none" | "key" | "password" {
    const { gate, sessions } = this.#parts;
    if (gate.isOpen) return "none";
    if (!sessions.isEmpty) return "password";
    return gate.isLocalOnly ? "none" : "key";
  }

  #cookie(call: Call, token: string | null): string {
    // A page that came by https says so, whatever stands between it and this server. Who claims it falsely only makes the cookie stricter.
    const isSecure = /^https:/i.test(call.header("origin") ?? call.header("referer") ?? "") || call.header("x-forwarded-proto") === "https";
    return sessionCookie(token, { path: this.#parts.basePath === "" ? "/" : this.#parts.basePath, isSecure });
  }
}
