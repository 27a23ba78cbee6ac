import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { type RedisServer, startRedis } from "../../../servers/redis.ts";

/** A server for the tests of a file, and a client that looks at what is stored. Both are there once the tests run. */
export function serverOfThisFile(): { readonly server: () => RedisServer; readonly redis: () => Redis } {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url, { protocol: 2 });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  return { server: () => server, redis: () => redis };
}
