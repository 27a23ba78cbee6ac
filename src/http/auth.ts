/** WHO MAY CALL. Only digests of keys are kept, and they are compared in constant time. */
import { hash, timingSafeEqual } from "node:crypto";
import { invalid, MillraceError } from "../core/errors.ts";
import type { Session } from "./ended-sessions.ts";
import { type Scope, SCOPES } from "./contract/route.ts";

/** Who calls, and what they may do. */
export interface Caller {
  /** The name of the key, for the log; null for a key without a name, and where no key is needed. */
  readonly name: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** What the rate limit counts by: never the key itself. Null where no key is needed. */
  readonly id: string | null;
  /** Who signed in to the dashboard; absent for a key, and where no sign-in is needed. */
  readonly user?: string;
  /** The session of that user. */
  readonly session?: Session;
}

interface Key {
  readonly digest: Buffer;
  readonly caller: Caller;
}

const ALL: ReadonlySet<Scope> = new Set(SCOPES);
const KEY_RULE = `a secret without a colon, or name:scope+scope:secret where each scope is one of ${SCOPES.join(", ")}`;

/** The caller where no key is needed. */
export const ANYONE: Caller = { name: null, scopes: ALL, id: null };

/** The keys of a server. */
export class Keys {
  readonly #keys: readonly Key[];

  /** Each key is a secret with all scopes, or `name:scope+scope:secret`. Throws `invalid_input`; the message never shows the key. */
  constructor(keys: readonly string[]) {
    this.#keys = keys.map(readKey);
    const digests = new Set(this.#keys.map(({ digest }) => digest.toString("base64")));
    if (digests.size < this.#keys.length)
      throw new MillraceError("invalid_input", "keys must differ: two of them have the same secret", { field: "keys" });
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  /** The caller with this secret, or null. Compares all keys, so that the time does not show which one matched. */
  find(secret: string): Caller | null {
    const digest = digestOf(secret);
    let found: Caller | null = null;
    for (const key of this.#keys) if (timingSafeEqual(key.digest, digest)) found = key.caller;
    return found;
  }
}

/** The secret of a request, from either header. A key in the URL is ignored: it would end up in logs. */
export function secretOf(header: (name: string) => string | null): string | null {
  const key = header("x-api-key");
  if (key !== null && key !== "") return key;
  const authorization = header("authorization");
  const bearer = authorization === null ? null : /^bearer +(\S+) *$/i.exec(authorization);
  return bearer?.[1] ?? null;
}

function readKey(text: string, index: number): Key {
  const field = `keys[${index}]`;
  if (typeof text !== "string") throw invalid(field, KEY_RULE, typeof text);
  const [name, scopeList, ...rest] = text.split(":");
  const secret = scopeList === undefined ? text : rest.join(":");
  const scopes = scopeList === undefined ? ALL : new Set(scopeList.split("+") as Scope[]);
  const isSound = /^[\x21-\x7e]+$/.test(secret) && name !== "" && [...scopes].every((scope) => ALL.has(scope));
  // The message leaves out the value: it may contain the secret.
  if (!isSound) throw new MillraceError("invalid_input", `${field} must be ${KEY_RULE}`, { field });
  const digest = digestOf(secret);
  const id = `key:${digest.toString("base64url").slice(0, 16)}`;
  return { digest, caller: { name: scopeList === undefined ? null : (name ?? null), scopes, id } };
}

function digestOf(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}
