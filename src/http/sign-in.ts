/** SIGN-IN to the dashboard, and sign-out. Wrong names and passwords are counted: they are easier to guess than keys. */
import { MillraceError } from "../core/errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Caller } from "./auth.ts";
import type { Call } from "./call.ts";
import type { AnswerFrom } from "./contract.ts";
import type { EndedSessions } from "./ended-sessions.ts";
import type { Admission } from "./admission.ts";
import { MemoryLimiter } from "./limits.ts";
import { networkOf } from "./network.ts";
import { WireError } from "./problem.ts";
import { basicOf, sessionCookie, type Sessions, tokenOf } from "./sessions.ts";

/** A new session: the header that sets its cookie, and its user. */
export interface OpenedSession {
  readonly cookie: string;
  readonly caller: Caller;
}

/** Failed tries from one address. Beyond that, the right password is refused, too: otherwise guessing could go on. */
const WRONG_PASSWORDS = { requests: 10, perMs: 60_000 };

const SIGNED_OUT_HERE =
  "signed out here, but the store did not answer: on other servers, a copy of the cookie stays valid until its 24 h are over";

export interface SignInParts {
  readonly admission: Admission;
  readonly sessions: Sessions;
  readonly ended: EndedSessions;
  readonly clock: Clock;
  /** The mount path of the server: the cookie is sent only there. */
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
    const { admission, sessions, clock } = this.#parts;
    const address = networkOf(admission.addressOf(call));
    const waitMs = this.#failures.waitOf(address, clock.monotonic());
    if (waitMs > 0) throw new MillraceError("rate_limited", "too many failed tries from this address", { retryAfterMs: Math.ceil(waitMs) });
    const opened = sessions.open(name, password, clock.now());
    if (opened === null) {
      this.#failures.take(address, clock.monotonic());
      throw new MillraceError("unauthorized", "the user name or the password is wrong");
    }
    return { cookie: this.#cookie(call, opened.token), caller: opened.caller };
  }

  /**
   * Ends the session on all servers. Returns the header that removes the cookie. Throws `store_unavailable` if the store fails; that answer
   * removes the cookie, too, so this browser is signed out in any case.
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

  /** Signs in by HTTP Basic. Null if the request has none, or if there are no users. */
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
      return await this.#parts.admission.callerOf(call);
    } catch (error) {
      if (error instanceof WireError && error.code === "unauthorized") return null;
      throw error;
    }
  }

  get #way(): AnswerFrom<"GET /dashboard/session">["sign_in"] {
    const { admission, sessions } = this.#parts;
    if (admission.isOpen) return "none";
    if (admission.asksApplication) return "application";
    if (!sessions.isEmpty) return "password";
    return admission.isLocalOnly ? "none" : "key";
  }

  #cookie(call: Call, token: string | null): string {
    // The page's URL says whether it came by https, whatever proxies are between. A false claim only makes the cookie stricter.
    const isSecure = /^https:/i.test(call.header("origin") ?? call.header("referer") ?? "") || call.header("x-forwarded-proto") === "https";
    return sessionCookie(token, { path: this.#parts.basePath === "" ? "/" : this.#parts.basePath, isSecure });
  }
}
