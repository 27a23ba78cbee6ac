import { afterAll, beforeAll } from "vitest";
import { freshPrefix, type RedisServer, startRedis } from "../servers/redis.ts";
import { numbersSuite } from "./suite.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

numbersSuite({ engine: "redis", fresh: () => ({ url: freshPrefix(server.url) }), runs: 6 });
