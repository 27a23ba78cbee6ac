import { invalid, MillraceError } from "../../core/errors.ts";

export interface RedisUrl {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly cluster: boolean;
  /** Set if `nodes` are Sentinels: which master to ask them for, and their own login. */
  readonly sentinel: { readonly name: string; readonly username: string | undefined; readonly password: string | undefined } | null;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly prefix: string;
}

const URL_RULE =
  "redis[s]://[user:password@]host[:port][,host:port…][/db][?cluster=true&prefix=name], or redis[s]+sentinel://[user:password@]host[:port][,host:port…]/master[/db][?prefix=name]";
const SHAPE = /^(rediss?)(\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const PREFIX = /^[A-Za-z0-9._:-]{1,64}$/;

/** Hosts and ports, for messages; never a password. */
export function placeOf({ nodes }: Pick<RedisUrl, "nodes">): string {
  return nodes.map(({ host, port }) => `${host}:${port}`).join(",");
}

/** Parses a redis: URL by hand, because the URL class does not accept several hosts. Never shows the password. */
export function parseRedisUrl(url: string): RedisUrl {
  const [, scheme, suffix, user, hosts, path = "", query] = SHAPE.exec(url) ?? refuse("url", URL_RULE, hidePassword(url));
  const isSentinel = suffix !== undefined;
  const options = readQuery(query ?? "", isSentinel);
  const port = isSentinel ? SENTINEL_PORT : REDIS_PORT;
  const nodes = (hosts === "" ? "127.0.0.1" : hosts!).split(",").map((text) => readNode(text, port));
  const cluster = options.get("cluster") === "true";
  if (nodes.length > 1 && !cluster && !isSentinel) refuse("url", "a URL with one host, or several and ?cluster=true", hosts);
  const [name, db = ""] = isSentinel ? readMaster(path) : [null, path];
  const colon = user?.indexOf(":") ?? -1;
  return {
    nodes,
    cluster,
    sentinel: name === null ? null : { name, username: options.get("sentinelUsername"), password: options.get("sentinelPassword") },
    tls: scheme!.toLowerCase() === "rediss",
    username: user === undefined || colon === 0 ? undefined : decode(colon === -1 ? user : user.slice(0, colon), "user"),
    password: colon === -1 ? undefined : decode(user!.slice(colon + 1), "password"),
    db: readDb(db, cluster),
    prefix: readPrefix(options.get("prefix")),
  };
}

const REDIS_PORT = "6379";
const SENTINEL_PORT = "26379";

/** The name that the Sentinels have for the master, and the database. */
function readMaster(path: string): readonly [name: string, db: string | undefined] {
  const [name = "", db, ...more] = path.split("/");
  if (name === "" || more.length > 0)
    refuse("url", "redis+sentinel://host:26379/master, with the name of the master after the slash", path);
  return [decode(name, "master"), db];
}

/** `what` it is, for the message: it may be a password. */
function decode(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new MillraceError("invalid_input", `the ${what} in the url has a "%" that begins no escape: write it as "%25"`, { field: "url" });
  }
}

function readNode(text: string, usualPort: string): { host: string; port: number } {
  const [, v6, name, port = usualPort] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? refuse("url", URL_RULE, text);
  if (Number(port) < 1 || Number(port) > 65_535) refuse("url", "a URL with a port from 1 to 65535", port);
  return { host: (v6 ?? name)!, port: Number(port) };
}

function readDb(path: string, cluster: boolean): number {
  if (path === "") return 0;
  if (!/^\d{1,5}$/.test(path)) refuse("url", "a URL with a database number after the slash", path);
  if (cluster && path !== "0") refuse("url", "a URL without a database number, because a Cluster has only 0", path);
  return Number(path);
}

/** The first part of all keys. */
export function readPrefix(prefix: unknown = "millrace"): string {
  return typeof prefix === "string" && PREFIX.test(prefix) ? prefix : refuse("prefix", "1 to 64 characters of A-Z a-z 0-9 . _ : -", prefix);
}

const PARAMETERS = ["cluster", "prefix"];
const SENTINEL_PARAMETERS = ["prefix", "sentinelUsername", "sentinelPassword"];

function readQuery(query: string, isSentinel: boolean): Map<string, string> {
  const options = new Map(new URLSearchParams(query));
  const allowed = isSentinel ? SENTINEL_PARAMETERS : PARAMETERS;
  for (const [name, value] of options) {
    if (!allowed.includes(name)) refuse("url", `a URL whose only parameters are ${allowed.join(" and ")}`, name);
    if (name === "cluster" && value !== "true" && value !== "false") refuse("cluster", "true or false", value);
  }
  return options;
}

function refuse(field: string, mustBe: string, got: unknown): never {
  throw invalid(field, mustBe, got);
}

function hidePassword(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//…@");
}
