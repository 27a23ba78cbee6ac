/** `millrace migrate --sql`: the tables as a script that somebody else runs. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/index.ts";
import { inspectStore } from "../../src/store/open-store.ts";
import { freshSchema, type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { runCli } from "./run-cli.ts";
import { temporaryFolder } from "./run-program.ts";

let postgres: PostgresServer;
beforeAll(async () => void (postgres = await startPostgres()));
afterAll(() => postgres.stop());

async function script(url: string): Promise<string> {
  const { code, stdout, stderr } = await runCli(["migrate", "--sql", "--url", url], { cwd: temporaryFolder() });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

/** The store is as new as if we had made it, and works. */
async function isReady(url: string): Promise<void> {
  const { schema } = await inspectStore(url);
  expect(schema?.found).toBe(schema?.wanted);
  await using client = await connect(url);
  client.work({ hello: () => "done" });
  expect(await client.wait((await client.enqueue("hello")).id)).toMatchObject({ status: "completed" });
}

test("makes what Millrace needs in a PostgreSQL, in the schema of the URL", async () => {
  const url = freshSchema(postgres.url);
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query(await script(url));
  await client.end();
  await isReady(url);
});

test("without --sql, makes the functions of this version where only they are missing", async () => {
  const url = freshSchema(postgres.url);
  await (await connect(url)).close();
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query(`delete from ${new URL(url).searchParams.get("schema")!}.meta where name like 'functions%'`);
  await client.end();
  const migrate = async (...flags: string[]): Promise<string> =>
    (await runCli(["migrate", ...flags, "--url", url], { cwd: temporaryFolder() })).stdout;
  expect(await migrate("--dry-run")).toContain("migrate would create the functions of this version");
  expect(await migrate()).toContain("created the functions of this version");
  expect(await migrate()).toContain("nothing to do");
});

test("makes what Millrace needs in a SQLite file", async () => {
  const file = join(temporaryFolder(), "made.db");
  const database = new DatabaseSync(file);
  database.exec(await script(`sqlite:${file}`));
  database.close();
  await isReady(`sqlite:${file}`);
});

test.each(["memory:", "redis://127.0.0.1:1"])("is refused for %s, which has no tables", async (url) => {
  const { code, stderr } = await runCli(["migrate", "--sql", "--url", url], { cwd: temporaryFolder() });
  expect([code, stderr]).toEqual([2, expect.stringContaining("this store has no tables")]);
});
