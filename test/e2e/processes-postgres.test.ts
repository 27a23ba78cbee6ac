import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { durableProcessSuite } from "./durable-processes.ts";
import { flowProcessSuite } from "./flow-processes.ts";
import { limitProcessSuite } from "./limit-processes.ts";
import { processSuite } from "./process-suite.ts";
import { startProgram } from "./run-program.ts";

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

processSuite("PostgreSQL", () => freshSchema(server.url));
limitProcessSuite("PostgreSQL", () => freshSchema(server.url));
durableProcessSuite("PostgreSQL", () => freshSchema(server.url));
flowProcessSuite("PostgreSQL", () => freshSchema(server.url));

test("a process whose last worker has stopped ends by itself, also without close", async () => {
  const program = fileURLToPath(new URL("./programs/stops-its-worker.ts", import.meta.url));
  const stopping = startProgram(program, [freshSchema(server.url)]);
  expect(await stopping.ended).toEqual({ code: 0, signal: null });
  expect(stopping.output.stdout).toContain("completed");
});
