import type { Cluster, Redis } from "ioredis";
import { MillraceError } from "../../core/errors.ts";
import { readPrefix, type RedisUrl } from "./url.ts";

/** An ioredis of the application, checked. */
export interface GivenIoredis extends Pick<RedisUrl, "nodes" | "cluster" | "prefix"> {
  readonly instance: Redis | Cluster;
}

/** Checks an ioredis of the application. Whether it is connected does not matter: nothing is sent over it. */
export function readGivenIoredis(given: unknown, prefix: string | undefined): GivenIoredis {
  if (!isIoredis(given)) throw refused("redis must be a Redis or Cluster of the package ioredis: connect({ redis: new Redis(…) })");
  const keyPrefix = given.options.keyPrefix ?? (isCluster(given) ? given.options.redisOptions?.keyPrefix : undefined) ?? "";
  if (keyPrefix !== "") {
    const own = 'connect({ redis: new Redis(…), prefix: "name" })';
    throw refused(
      `redis has the option keyPrefix, which does not reach the keys that scripts make. Pass one without it, and a prefix: ${own}`,
    );
  }
  return { instance: given, cluster: isCluster(given), nodes: nodesOf(given), prefix: readPrefix(prefix) };
}

export function isCluster(instance: Redis | Cluster): instance is Cluster {
  return "nodes" in instance;
}

function isIoredis(given: unknown): given is Redis | Cluster {
  const { duplicate, options, status } = (given ?? {}) as Record<string, unknown>;
  return typeof duplicate === "function" && typeof options === "object" && options !== null && typeof status === "string";
}

/** Where it connects, for messages; and on a Cluster, where a first subscription may go. */
function nodesOf(instance: Redis | Cluster): RedisUrl["nodes"] {
  if (isCluster(instance)) return instance.nodes().map(({ options }) => nodeOf(options));
  const { sentinels, ...options } = instance.options;
  return (sentinels ?? []).length > 0 ? sentinels!.map((sentinel) => nodeOf(sentinel)) : [nodeOf(options)];
}

function nodeOf({ host = "localhost", port = 6379 }: { host?: string | undefined; port?: number | undefined }): RedisUrl["nodes"][number] {
  return { host, port };
}

function refused(message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field: "redis" });
}
