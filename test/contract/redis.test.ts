import { afterAll, beforeAll } from "vitest";
import { freshPrefix, type RedisServer, startRedis } from "../servers/redis.ts";
import { contractSuite } from "./suite.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

contractSuite("Redis", async () => freshPrefix(server.url), { onlyStore: true });
