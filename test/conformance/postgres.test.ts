import { afterAll, beforeAll } from "vitest";
import { postgresEngine, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { storeSuite } from "./store/suite.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

storeSuite(postgresEngine(() => server));
