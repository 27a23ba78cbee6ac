/** WHICH STORE TO USE: builds one URL from the environment, including variables of other products. */
import type { Alias } from "./setting.ts";

export const DEFAULT_STORE_URL = "sqlite:millrace.db";

const SCHEMES = ["memory", "sqlite", "postgres", "postgresql", "redis", "rediss", "redis+sentinel", "rediss+sentinel", "http", "https"];

/** The format of the URL of a store or server. The engine checks the rest. */
export const URL_RULE =
  "the URL of a store (sqlite:path.db, postgres://…, redis://…, rediss://…, redis+sentinel://…, memory:) or of a Millrace server (http://…, https://…)";

export function isStoreUrl(url: string): boolean {
  const scheme = /^([a-z+]+):/i.exec(url)?.[1]?.toLowerCase();
  return scheme !== undefined && SCHEMES.includes(scheme);
}

/** Whether the URL is that of a server; any other URL is a store that this process opens. */
export function isServerUrl(url: string): boolean {
  return /^https?:/i.test(url);
}

/** Variables in which other products have the URL of their database. DATABASE_URL counts only for PostgreSQL. */
export const URL_ALIASES: readonly Alias[] = [
  { env: "DATABASE_URL", take: (url) => (/^postgres(ql)?:/i.test(url) ? url : undefined) },
  { env: "REDIS_URL", take: redisUrl },
  { env: "REDIS_ADDR", take: redisUrl },
];

/** Adds the scheme to an address such as `localhost:6379`. */
function redisUrl(address: string): string {
  return address.includes("://") ? address : `redis://${address}`;
}

const REDIS = /^(rediss?(?:\+sentinel)?:\/\/)(?:([^@/]*)@)?([^/?#]*)(\/[^?#]*)?(\?.*)?$/is;

/** Adds password and database to a redis: URL that has none. Any other URL stays as it is. */
export function withRedisParts(url: string, password: string | null, db: number | null): string {
  const [, scheme, user, hosts, path, query = ""] = REDIS.exec(url) ?? [];
  if (scheme === undefined) return url;
  const credentials = password === null || user?.includes(":") ? user : `${user ?? ""}:${encodeURIComponent(password)}`;
  const ownDb = (path ?? "/").slice(1);
  const database = ownDb === "" && db !== null && db !== 0 ? String(db) : ownDb;
  return `${scheme}${credentials === undefined ? "" : `${credentials}@`}${hosts}${database === "" ? (path ?? "") : `/${database}`}${query}`;
}

/** The URL without passwords, for people. */
export function maskUrl(url: string): string {
  return url
    .replace(/^([a-z+]+:\/\/)([^@/:]*):[^@/]*@/i, "$1$2:***@")
    .replace(/([?&](?:password|sslpassword|sentinelPassword|passwd)=)[^&]*/gi, "$1***");
}
