import { invalid } from "../../core/errors.ts";

export interface RedisUrl {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly cluster: boolean;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly db: number;
  readonly prefix: string;
}

const URL_RULE = "redis[s]://[user:password@]host[:port][,host:port…][/db][?cluster=true&prefix=name]";
const SHAPE = /^(rediss?):\/\/(?:([^@/]*)@)?([^/?#@]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const PREFIX = /^[A-Za-z0-9._:-]{1,64}$/;

/** Hosts and ports, for messages; never a password. */
export function placeOf({ nodes }: RedisUrl): string {
  return nodes.map(({ host, port }) => `${host}:${port}`).join(",");
}

/** Parses a redis: URL by hand, because the URL class does not accept several hosts. Never shows the password. */
export function parseRedisUrl(url: string): RedisUrl {
  const [, scheme, user, hosts, path, query] = SHAPE.exec(url) ?? refuse("url", URL_RULE, hidePassword(url));
  const options = readQuery(query ?? "");
  const nodes = (hosts === "" ? "127.0.0.1" : hosts!).split(",").map(readNode);
  const cluster = options.get("cluster") === "true";
  if (nodes.length > 1 && !cluster) refuse("url", "a URL with one host, or several and ?cluster=true", hosts);
  const colon = user?.indexOf(":") ?? -1;
  return {
    nodes,
    cluster,
    tls: scheme!.toLowerCase() === "rediss",
    username: user === undefined || colon === 0 ? undefined : decodeURIComponent(colon === -1 ? user : user.slice(0, colon)),
    password: colon === -1 ? undefined : decodeURIComponent(user!.slice(colon + 1)),
    db: readDb(path ?? "", cluster),
    prefix: readPrefix(options.get("prefix") ?? "millrace"),
  };
}

function readNode(text: string): { host: string; port: number } {
  const [, v6, name, port = "6379"] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? refuse("url", URL_RULE, text);
  if (Number(port) < 1 || Number(port) > 65_535) refuse("url", "a URL with a port from 1 to 65535", port);
  return { host: (v6 ?? name)!, port: Number(port) };
}

function readDb(path: string, cluster: boolean): number {
  if (path === "") return 0;
  if (!/^\d{1,5}$/.test(path)) refuse("url", "a URL with a database number after the slash", path);
  if (cluster && path !== "0") refuse("url", "a URL without a database number, because a Cluster has only 0", path);
  return Number(path);
}

function readPrefix(prefix: string): string {
  return PREFIX.test(prefix) ? prefix : refuse("prefix", "1 to 64 characters of A-Z a-z 0-9 . _ : -", prefix);
}

function readQuery(query: string): Map<string, string> {
  const options = new Map(new URLSearchParams(query));
  for (const [name, value] of options) {
    if (name !== "prefix" && name !== "cluster") refuse("url", "a URL whose only parameters are cluster and prefix", name);
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
