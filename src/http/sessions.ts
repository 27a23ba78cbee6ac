/**
 * USERS OF THE DASHBOARD, and the cookies of their sessions.
 *
 * Sessions are not stored: the cookie says who it is and until when, signed with a key made from the user's password. So every process with
 * the same settings accepts it, a restart signs nobody out, and a new password ends all sessions of its user. Only sessions that ended early
 * are stored, by a digest: see ended-sessions.ts.
 */
import { createHmac, hash, randomBytes, scryptSync, timingSafeEqual } from "node:crypto";
import { MillraceError } from "../core/errors.ts";
import type { Caller } from "./auth.ts";
import type { Role } from "./contract/dashboard.ts";
import { type Scope, SCOPES } from "./contract/route.ts";

/** A user who may sign in. */
export interface DashboardUser {
  readonly name: string;
  readonly password: string;
  readonly role: Role;
}

/** What users may do. */
export const SCOPES_OF: Readonly<Record<Role, ReadonlySet<Scope>>> = { viewer: new Set(["read"]), operator: new Set(SCOPES) };

const SESSION_COOKIE = "millrace_session";
/** How long a session lasts: a working day, and the night after it. */
const SESSION_MS = 24 * 3_600_000;
const MAX_COOKIE_CHARS = 1024;

/** Keeps a digest of the password, not the password. */
class User {
  readonly name: string;
  readonly caller: Caller;
  readonly #nameDigest: Buffer;
  readonly #digest: Buffer;
  readonly #createKey: () => Buffer;
  #key: Buffer | null = null;

  constructor({ name, password, role }: DashboardUser) {
    this.name = name;
    this.caller = { name, scopes: SCOPES_OF[role], id: `user:${name}`, user: name };
    this.#nameDigest = digestOf(name);
    this.#digest = digestOf(password);
    // Slow on purpose: with a cookie, nobody must be able to find the password by trying.
    this.#createKey = () => scryptSync(this.#digest, `millrace session of ${role} ${name}`, 32);
  }

  /** Always compares both, so that the time reveals nothing. */
  matches(name: string, password: string): boolean {
    const isName = timingSafeEqual(this.#nameDigest, digestOf(name));
    const isPassword = timingSafeEqual(this.#digest, digestOf(password));
    return isName && isPassword;
  }

  sign(text: string): Buffer {
    this.#key ??= this.#createKey();
    return createHmac("sha256", this.#key).update(text).digest();
  }
}

export class Sessions {
  readonly #users: readonly User[];

  /** Throws `invalid_input` if two users have the same name. */
  constructor(users: readonly DashboardUser[]) {
    this.#users = users.map((user) => new User(user));
    if (new Set(users.map(({ name }) => name)).size < users.length) {
      throw new MillraceError("invalid_input", "users of the dashboard must have different names", { field: "users" });
    }
  }

  get isEmpty(): boolean {
    return this.#users.length === 0;
  }

  /** Signs in: returns the session's token and its user, or null if name or password is wrong. Always compares all users. */
  open(name: string, password: string, now: number): { readonly token: string; readonly caller: Caller } | null {
    let found: User | null = null;
    for (const user of this.#users) if (user.matches(name, password)) found = user;
    if (found === null) return null;
    // The random part makes each sign-in a session of its own.
    const claim = `${Buffer.from(name).toString("base64url")}.${now + SESSION_MS}.${randomBytes(9).toString("base64url")}`;
    return { token: `${claim}.${found.sign(claim).toString("base64url")}`, caller: found.caller };
  }

  /** The user and session of a token; null if it is invalid or has expired. */
  find(token: string, now: number): Caller | null {
    const [name = "", until = "", nonce = "", signature = "", more] = token.split(".");
    if (more !== undefined || !/^\d{1,16}$/.test(until) || Number(until) <= now) return null;
    const user = this.#users.find((each) => each.name === Buffer.from(name, "base64url").toString());
    const given = Buffer.from(signature, "base64url");
    const claim = `${name}.${until}.${nonce}`;
    const wanted = user?.sign(claim);
    if (user === undefined || wanted === undefined || given.byteLength !== wanted.byteLength) return null;
    if (!timingSafeEqual(given, wanted)) return null;
    return { ...user.caller, session: { name: `session:${digestOf(claim).toString("base64url")}`, until: Number(until) } };
  }
}

/** The token in the cookies of a request; null if there is none. */
export function tokenOf(cookies: string | null): string | null {
  if (cookies === null || !cookies.includes(SESSION_COOKIE)) return null;
  for (const cookie of cookies.split(";")) {
    const [name, value = ""] = cookie.trim().split("=", 2);
    if (name === SESSION_COOKIE) return value.length > 0 && value.length <= MAX_COOKIE_CHARS ? value : null;
  }
  return null;
}

/** The header that sets the token, or with null removes it. No script can read the cookie, and no foreign page can use it. */
export function sessionCookie(token: string | null, { path, isSecure }: { readonly path: string; readonly isSecure: boolean }): string {
  const seconds = token === null ? 0 : SESSION_MS / 1000;
  return `${SESSION_COOKIE}=${token ?? ""}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
}

/** Name and password of HTTP Basic; null if the header has none. */
export function basicOf(authorization: string | null): { readonly name: string; readonly password: string } | null {
  const encoded = authorization === null ? null : /^basic +([A-Za-z0-9+/]+=*) *$/i.exec(authorization)?.[1];
  if (encoded === null || encoded === undefined) return null;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon === -1 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

function digestOf(text: string): Buffer {
  return hash("sha256", text, "buffer");
}
