/** The programs of docs/transactions.md with the real packages, and what is refused of them. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PrismaPg } from "@prisma/adapter-pg";
import { drizzle } from "drizzle-orm/postgres-js";
import knex from "knex";
import pg from "pg";
import postgres from "postgres";
import { DataSource } from "typeorm";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/connect.ts";
import { codeBlocks } from "../e2e/code-blocks.ts";
import { complaintsOf, startProgram, temporaryFolder } from "../e2e/run-program.ts";
import { type PostgresServer, startPostgres } from "../servers/postgres.ts";
import { PrismaClient } from "./prisma-client.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const here = fileURLToPath(new URL("./", import.meta.url));
const programs = codeBlocks(readFileSync(join(root, "docs/transactions.md"), "utf8"), "ts postgres");

let server: PostgresServer;
beforeAll(async () => void (server = await startPostgres()));
afterAll(() => server.stop());

async function freshDatabase(): Promise<string> {
  const { url, drop } = await server.database();
  onTestFinished(drop);
  return url;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** A project that has Millrace and all these packages. */
function project(): string {
  const folder = temporaryFolder(onTestFinished);
  const packages = join(folder, "node_modules");
  mkdirSync(join(packages, "@prisma"), { recursive: true });
  for (const name of ["adapter-pg", "client"]) symlinkSync(join(here, "node_modules/@prisma", name), join(packages, "@prisma", name));
  for (const name of readdirSync(join(here, "node_modules")).filter((found) => !/^[.@]/.test(found))) {
    symlinkSync(join(here, "node_modules", name), join(packages, name));
  }
  symlinkSync(join(root, "node_modules/kysely"), join(packages, "kysely"));
  symlinkSync(root, join(packages, "millrace"));
  mkdirSync(join(folder, "generated/prisma"), { recursive: true });
  writeFileSync(join(folder, "generated/prisma/client.ts"), readFileSync(join(here, "prisma-client.ts")));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  return folder;
}

describe("the order and its job are committed together, and rolled back together", () => {
  test.for(programs)("$heading", async ({ code }, { onTestFinished: atTheEnd }) => {
    const url = await freshDatabase();
    await query(url, "create table orders (id serial primary key, item text not null)");
    const cwd = project();
    writeFileSync(join(cwd, "program.ts"), code);
    const program = startProgram(join(cwd, "program.ts"), [], { cwd, atTheEnd, env: { DATABASE_URL: url } });
    const ended = await program.ended;
    expect({ code: ended.code, stderr: complaintsOf(program) }).toEqual({ code: 0, stderr: "" });
    expect(await query(url, "select item from orders")).toEqual([{ item: "book" }]);
    await using client = await connect(url);
    expect((await client.list()).jobs).toMatchObject([{ type: "order:mail", status: "pending" }]);
  });
});

test("what has no open transaction is refused, with where to take one", async () => {
  const url = await freshDatabase();
  await using client = await connect(url);
  const sql = postgres(url);
  const db = knex({ client: "pg", connection: url });
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  const dataSource = new DataSource({ type: "postgres", url });
  await dataSource.initialize();
  onTestFinished(async () => {
    await Promise.all([sql.end(), db.destroy(), prisma.$disconnect(), dataSource.destroy()]);
  });
  const refused = async (tx: unknown, message: string): Promise<void> => {
    await expect(client.enqueue("order:mail", 1, { tx })).rejects.toMatchObject({
      code: "invalid_transaction",
      message: expect.stringContaining(message) as string,
    });
  };
  await refused(sql, "sql.begin(");
  await refused(drizzle(sql), "sql.begin(");
  await refused(db, "knex.transaction(");
  const ended = await db.transaction();
  await ended.rollback();
  await refused(ended, "knex.transaction(");
  await refused(prisma, "prisma.$transaction(");
  await refused(dataSource, "dataSource.transaction(");
  await refused(dataSource.manager, "dataSource.transaction(");
  await refused(dataSource.createQueryRunner(), "dataSource.transaction(");
  expect((await client.list()).jobs).toEqual([]);
});
