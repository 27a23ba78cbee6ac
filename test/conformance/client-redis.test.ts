import { afterAll, beforeAll } from "vitest";
import { freshPrefix, type RedisServer, startRedis } from "../servers/redis.ts";
import { mainPathSuite } from "./client.ts";
import { remoteSource } from "./client-sources.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

mainPathSuite(remoteSource("redis", () => ({ url: freshPrefix(server.url) })));
