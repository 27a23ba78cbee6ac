import { afterAll, beforeAll } from "vitest";
import { freshPrefix, type RedisServer, startRedis } from "../servers/redis.ts";
import { durableProcessSuite } from "./durable-processes.ts";
import { flowProcessSuite } from "./flow-processes.ts";
import { limitProcessSuite } from "./limit-processes.ts";
import { processSuite } from "./process-suite.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

processSuite("Redis", () => freshPrefix(server.url));
limitProcessSuite("Redis", () => freshPrefix(server.url));
durableProcessSuite("Redis", () => freshPrefix(server.url));
flowProcessSuite("Redis", () => freshPrefix(server.url));
