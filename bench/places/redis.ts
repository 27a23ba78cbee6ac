import { randomBytes } from "node:crypto";
import { Redis } from "ioredis";
import { parseRedisUrl } from "../../src/store/redis/url.ts";
import { startRedis } from "../../test/servers/redis.ts";
import type { Site } from "./place.ts";

/** The server that MILLRACE_TEST_REDIS names, or else our own server without persistence. */
export async function redisSite(): Promise<Site> {
  const given = process.env["MILLRACE_TEST_REDIS"] ?? "";
  if (given !== "") return siteOn(given, "as it is set", async () => {});
  const server = await startRedis();
  return siteOn(server.url, "without persistence, on this machine", () => server.stop());
}

/** Our own server with an append-only file, synced every second. */
export async function redisSiteWithAof(): Promise<Site> {
  const server = await startRedis({ appendOnly: "everysec" });
  return siteOn(server.url, "with AOF everysec, on this machine", () => server.stop());
}

/** Each place has its own key prefix. */
async function siteOn(url: string, settings: string, stop: () => Promise<void>): Promise<Site> {
  if (parseRedisUrl(url).cluster) throw new Error("MILLRACE_TEST_REDIS must name a single server, not a Cluster, for the bench");
  const redis = openRedis(url);
  const version = /redis_version:(\S+)/.exec(await redis.info("server"))?.[1];
  return {
    about: `Redis ${version} ${settings}`,
    async fresh() {
      const prefix = `bench-${randomBytes(6).toString("hex")}`;
      return {
        url: `${url}${url.includes("?") ? "&" : "?"}prefix=${prefix}`,
        bytes: () => usedMemory(redis),
        sizes: async () => new Map([["the server", await usedMemory(redis)]]),
        close: () => removeAll(redis, prefix),
      };
    },
    async close() {
      redis.disconnect();
      await stop();
    },
  };
}

/** A connection to the server of a place. */
export function openRedis(url: string): Redis {
  const { nodes, username, password, db, tls } = parseRedisUrl(url);
  return new Redis({ ...nodes[0], username, password, db, protocol: 2, ...(tls ? { tls: {} } : {}) });
}

/** The memory of the server without the buffers of connections. */
async function usedMemory(redis: Redis): Promise<number> {
  const info = await redis.info("memory");
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  return read("used_memory") - read("mem_clients_normal");
}

/** Deletes synchronously, so that it does not slow the next measurement. */
async function removeAll(redis: Redis, prefix: string): Promise<void> {
  for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 }) as AsyncIterable<string[]>) {
    if (keys.length > 0) await redis.del(keys);
  }
}
