import { afterAll, beforeAll } from "vitest";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { processSuite } from "./process-suite.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

processSuite("PostgreSQL", () => freshSchema(server.url));
