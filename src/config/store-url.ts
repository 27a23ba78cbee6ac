/** WHICH STORE IS MEANT: what the environment says about it under the names that other products use, put together as one URL. */
import type { Alias } from "./setting.ts";

/** The store that is meant when nothing is said. */
export const DEFAULT_STORE_URL = "sqlite:millrace.db";

const SCHEMES = ["memory", "sqlite", "postgres", "postgresql", "redis", "rediss", "http", "https"];

/** What a URL of a store or a server must look like. The rest is for the engine to check. */
export const URL_RULE =
  "the URL of a store (sqlite:path.db, postgres://…, redis://…, rediss://…, memory:) or of a Millrace server (http://…, https://…)";

export function isStoreUrl(url: string): boolean {
  const scheme = /^([a-z]+):/i.exec(url)?.[1]?.toLowerCase();
  return scheme !== undefined && SCHEMES.includes(scheme);
}

/** A server is asked over HTTP; anything else is a store that this process opens itself. */
export function isServerUrl(url: string): boolean {
  return /^https?:/i.test(url);
}

/** Names under which other products keep the URL of their database. Of DATABASE_URL only a PostgreSQL is meant for us. */
export const URL_ALIASES: readonly Alias[] = [
  { env: "DATABASE_URL", take: (url) => (/^postgres(ql)?:/i.test(url) ? url : undefined) },
  { env: "REDIS_URL", take: redisUrl },
  { env: "REDIS_ADDR", take: redisUrl },
];

/** `localhost:6379` is an address without its scheme. */
function redisUrl(address: string): string {
  return address.includes("://") ? address : `redis://${address}`;
}

const REDIS = /^(rediss?:\/\/)(?:([^@/]*)@)?([^/?#]*)(\/[^?#]*)?(\?.*)?$/is;

/** A redis: URL with the password and the database that were given apart, where it names none of its own. Any other URL as it is. */
export function withRedisParts(url: string, password: string | null, db: number | null): string {
  const [, scheme, user, hosts, path, query = ""] = REDIS.exec(url) ?? [];
  if (scheme === undefined) return url;
  const credentials = password === null || user?.includes(":") ? user : `${user ?? ""}:${encodeURIComponent(password)}`;
  const ownDb = (path ?? "/").slice(1);
  const database = ownDb === "" && db !== null && db !== 0 ? String(db) : ownDb;
  return `${scheme}${credentials === undefined ? "" : `${credentials}@`}${hosts}${database === "" ? (path ?? "") : `/${database}`}${query}`;
}

/** The URL as it may be shown: without a password, wherever it stands. */
export function maskUrl(url: string): string {
  return url.replace(/^([a-z]+:\/\/)([^@/:]*):[^@/]*@/i, "$1$2:***@").replace(/([?&](?:password|sslpassword|passwd)=)[^&]*/gi, "$1***");
}
