import { readFile } from "node:fs/promises";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { claimOf, freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const COLUMNS = `select table_name, column_name, ordinal_position, data_type, column_default, is_nullable
  from information_schema.columns where table_schema = $1 order by table_name, ordinal_position`;
const INDEXES = "select tablename, indexname, indexdef from pg_indexes where schemaname = $1 order by 1, 2";
const FUNCTIONS = `select p.proname, pg_get_function_identity_arguments(p.oid) from pg_proc p
  where p.pronamespace = $1::regnamespace order by 1, 2`;

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: server().url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

function schemaOf(url: string): string {
  return new URL(url).searchParams.get("schema")!;
}

/** A schema as 0.1 left it. */
async function schemaOfOld(client: pg.Client): Promise<string> {
  const url = freshUrl(server());
  const text = await readFile(new URL("schema-0.1.sql", import.meta.url), "utf8");
  await client.query(text.replaceAll("SCHEMA", schemaOf(url)));
  return url;
}

/** All that a schema consists of, without its name. */
async function shapeOf(client: pg.Client, schema: string): Promise<unknown> {
  const shape = [];
  for (const text of [COLUMNS, INDEXES, FUNCTIONS]) shape.push((await client.query({ text, values: [schema], rowMode: "array" })).rows);
  return JSON.parse(JSON.stringify(shape).replaceAll(schema, "SCHEMA"));
}

test("a schema of 0.1 is brought to what a new one is, and works", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const store = await openStoreOn(upgraded);
  const fresh = freshUrl(server());
  await openStoreOn(fresh);
  expect(await shapeOf(client, schemaOf(upgraded))).toEqual(await shapeOf(client, schemaOf(fresh)));

  await store.insert([jobOf()]);
  const { claimed } = await store.exchange([], [claimOf()]);
  expect(claimed[0]).toHaveLength(1);
});
