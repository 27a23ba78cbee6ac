import { afterAll, beforeAll } from "vitest";
import { postgresEngine, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { modelSuite, SERVER_RUNS } from "./model/model.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

modelSuite(
  postgresEngine(() => server),
  SERVER_RUNS,
);
