import { afterAll, beforeAll } from "vitest";
import { type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { mainPathSuite } from "./client.ts";
import { remoteSource } from "./client-sources.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

mainPathSuite(
  remoteSource("postgres", async () => {
    const { url, drop } = await server.database();
    return { url, destroy: drop };
  }),
);
