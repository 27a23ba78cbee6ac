import { afterAll, beforeAll } from "vitest";
import { databasesInTurn, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { mainPathSuite } from "./client.ts";
import { remoteSource } from "./client-sources.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

const databaseInTurn = databasesInTurn(() => server);

mainPathSuite(
  remoteSource("postgres", async () => {
    const { url, giveBack } = await databaseInTurn();
    return { url, destroy: giveBack };
  }),
);
