/**
 * LINKS THAT SEND SIGNALS. Whoever has the link may send this one signal, with the payload that the link has, until it expires. The text is
 * signed, so nothing of it can be changed.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { MillraceError } from "./errors.ts";
import { readDuration } from "./read-fields.ts";
import { DAY_MS } from "./time-units.ts";

export const MAX_LINK_PAYLOAD_BYTES = 1024;
/** How long a link works. */
export const DEFAULT_LINK_MS: number = 7 * DAY_MS;
export const MAX_LINK_MS: number = 366 * DAY_MS;
export const LINK_TTL_RULE = "a time from 1 s to 1 year";

/** How long a link works, in milliseconds. Throws `invalid_input`. */
export function readLinkTtl(ttl: unknown): number {
  return readDuration(ttl ?? DEFAULT_LINK_MS, "ttl", LINK_TTL_RULE, MAX_LINK_MS, 1000);
}

/** What a link says. */
export interface SignalLink {
  readonly id: string;
  readonly name: string;
  /** JSON. */
  readonly payload: string | null;
  readonly expiresAt: number;
}

export interface SignalLinks {
  create(link: Omit<SignalLink, "expiresAt"> & { readonly ttlMs: number }): string;
}

/** The path of the page, before the text of a link. */
export const SIGNAL_PATH = "/signal/";

/** Where links lead, and the secret that signs them. */
export interface SignalLinkOptions {
  /** Read for each link: a server learns its own address when it listens. */
  readonly url: string;
  readonly secret: string;
}

export function signalLinks(options: SignalLinkOptions, now: () => number): SignalLinks {
  return {
    create: ({ ttlMs, ...link }) => {
      const base = options.url.replace(/\/+$/, "");
      return `${base}${SIGNAL_PATH}${signLink({ ...link, expiresAt: now() + ttlMs }, options.secret)}`;
    },
  };
}

export const MIN_SECRET_LENGTH = 16;
export const SECRETS_RULE = `one secret of at least ${MIN_SECRET_LENGTH} characters, or two separated by a comma while you replace the old one`;

/** Reads one secret or several, as a list or separated by commas; the first one signs. Throws `invalid_input`, which never shows them. */
export function readSignalSecrets(secrets: string | readonly string[] | undefined, field: string): readonly string[] {
  const list: readonly unknown[] = typeof secrets === "string" ? secrets.split(",").map((part) => part.trim()) : (secrets ?? []);
  if (Array.isArray(list) && list.every(isSecret)) return list;
  throw new MillraceError("invalid_input", `${field} must be ${SECRETS_RULE}`, { field });
}

function isSecret(given: unknown): given is string {
  return typeof given === "string" && given.length >= MIN_SECRET_LENGTH;
}

export function signLink({ id, name, payload, expiresAt }: SignalLink, secret: string): string {
  const text = Buffer.from(JSON.stringify([id, name, payload, expiresAt])).toString("base64url");
  return `${text}.${signature(text, secret)}`;
}

/** What a signed text says, or why it does not count. It may be signed with any of these secrets. */
export function readLink(signed: string, secrets: readonly string[], now: number): SignalLink | "invalid" | "expired" {
  const [text = "", mark = "", ...more] = signed.split(".");
  if (more.length > 0 || !secrets.some((secret) => isSame(mark, signature(text, secret)))) return "invalid";
  try {
    const [id, name, payload, expiresAt] = JSON.parse(Buffer.from(text, "base64url").toString()) as [string, string, string | null, number];
    return expiresAt <= now ? "expired" : { id, name, payload, expiresAt };
  } catch {
    return "invalid";
  }
}

function signature(text: string, secret: string): string {
  if (secret === "") throw new MillraceError("invalid_input", "the secret of signal links is empty", { field: "secret" });
  return createHmac("sha256", secret).update(`signal ${text}`).digest("base64url");
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
