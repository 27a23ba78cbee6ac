import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { freshPrefix, type RedisServer, startRedis } from "../servers/redis.ts";
import { temporaryFolder } from "./run-program.ts";

/** A name of an engine, and URLs of empty stores on it. */
type EngineUrls = readonly [name: string, freshUrl: () => string];

/** Every engine that processes can share: a file of the test's own, and servers that run as long as the tests of the file that asks. */
export function storesOfThisFile(): readonly [sqlite: EngineUrls, postgres: EngineUrls, redis: EngineUrls] {
  let postgres: PostgresServer;
  let redis: RedisServer;
  beforeAll(async () => void ([postgres, redis] = await Promise.all([startPostgres(), startRedis()])));
  afterAll(async () => void (await Promise.all([postgres.stop(), redis.stop()])));
  return [
    ["SQLite", () => `sqlite:${join(temporaryFolder(), "jobs.db")}`],
    ["PostgreSQL", () => freshSchema(postgres.url)],
    ["Redis", () => freshPrefix(redis.url)],
  ];
}
