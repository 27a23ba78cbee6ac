import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { HAS_PGBOUNCER, startPgbouncer } from "../servers/pgbouncer.ts";
import { freshSchema, type OwnPostgresServer, startOwnPostgres } from "../servers/postgres.ts";
import { Load } from "./load.ts";

let server: OwnPostgresServer;
beforeAll(async () => void (server = await startOwnPostgres()));
afterAll(() => server.stop());

// Pgbouncer is no part of the set-up; that work is found where LISTEN hears nothing is shown without it, in the tests of the engine.
test.skipIf(!HAS_PGBOUNCER)("behind a pooler in transaction mode, schema and jobs come about as without it", async () => {
  const pooler = await startPgbouncer(server.port);
  onTestFinished(() => pooler.stop());
  const witness = freshSchema(server.url);
  const url = new URL(witness);
  url.port = String(pooler.port);
  const load = await Load.start({ url: url.href, witness });
  await load.goesOn(300);
  const { jobs } = await load.finish();
  expect(jobs).toBeGreaterThan(300);
  expect(load.lines.filter(({ op }) => op === "unknown")).toEqual([]);
});
