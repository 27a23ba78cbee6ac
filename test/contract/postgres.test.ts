import { afterAll, beforeAll } from "vitest";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { contractSuite } from "./suite.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

contractSuite("PostgreSQL", async () => freshSchema(server.url), { onlyStore: true });
