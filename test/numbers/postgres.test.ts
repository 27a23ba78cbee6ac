import { afterAll, beforeAll } from "vitest";
import { type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { numbersSuite } from "./suite.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

numbersSuite({
  engine: "postgres",
  fresh: async () => {
    const { url, drop } = await server.database();
    return { url, destroy: drop };
  },
  runs: 3,
});
