import { afterAll, beforeAll } from "vitest";
import { type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { type RedisServer, startRedis } from "../servers/redis.ts";
import { cliSuite } from "./cli-suite.ts";

let postgres: PostgresServer;
let redis: RedisServer;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
});
afterAll(async () => {
  await Promise.all([postgres?.stop(), redis?.stop()]);
});

cliSuite(
  "PostgreSQL",
  async () => {
    const database = await postgres.database();
    return { url: database.url, close: () => database.drop() };
  },
  { mainPathOnly: true, here: true },
);

cliSuite("Redis", async () => ({ url: redis.url, close: () => redis.empty() }), { mainPathOnly: true, here: true });
