import { readFile } from "node:fs/promises";
import type pg from "pg";
import { expect, test } from "vitest";
import type { NewJob } from "../../../../src/core/job.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const COLUMNS = `select table_name, column_name, ordinal_position, data_type, column_default, is_nullable
  from information_schema.columns where table_schema = $1 order by table_name, ordinal_position`;
const INDEXES = "select tablename, indexname, indexdef from pg_indexes where schemaname = $1 order by 1, 2";
const FUNCTIONS = `select p.proname, pg_get_function_identity_arguments(p.oid) from pg_proc p
  where p.pronamespace = $1::regnamespace order by 1, 2`;

const connected = (): Promise<pg.Client> => connectedTo(server());

/** A schema as 0.1 left it. */
async function schemaOfOld(client: pg.Client): Promise<string> {
  const url = freshUrl(server());
  const text = await readFile(new URL("schema-0.1.sql", import.meta.url), "utf8");
  await client.query(text.replaceAll("SCHEMA", schemaOf(url)));
  return url;
}

/** Pending jobs as 0.1 stored them; the first has no retries, each of the others one more. */
async function addJobsOfOld(client: pg.Client, schema: string, jobs: readonly NewJob[]): Promise<void> {
  await client.query(`insert into ${schema}.queue (name, head_start, dead_letters, keep_age, keep_count, keep_at_least)
    values ('default', 8796093022208, true, 1000, 1000, 1000)`);
  await client.query(`insert into ${schema}.lane (queue, priority, type) values (1, 0, 'task')`);
  for (const [index, { id }] of jobs.entries()) {
    await client.query(
      `insert into ${schema}.job (created_at, retry_delay, timeout, lane, max_retries, id, payload) values (1, 1000, 30000, 1, $1, $2, 'null')`,
      [index, id],
    );
    await client.query(
      `insert into ${schema}.ready (seq, run_at, updated_at, queue, lane, priority, state, id) values ($1, 1, 1, 1, 1, 0, 2, $2)`,
      [index + 1, id],
    );
  }
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

test("jobs of 0.1 may be lost as often as a new one of which nothing is said, and not at all where they have no retries", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const schema = schemaOf(upgraded);
  const jobs = [jobOf(), jobOf()];
  await addJobsOfOld(client, schema, jobs);
  const store = await openStoreOn(upgraded);
  const { claimed } = await store.exchange([], [claimOf()]);
  expect(claimed[0]!.map(({ id, maxRetries, maxLost, lostCount }) => [id, maxRetries, maxLost, lostCount])).toEqual([
    [jobs[0]!.id, 0, 0, 0],
    [jobs[1]!.id, 1, 3, 0],
  ]);
});

test("an upgrade leaves functions alone that are not ours, also those of our names", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const schema = schemaOf(upgraded);
  await client.query(`
    create function ${schema}.theirs(p_text text) returns text language sql as 'select p_text';
    create function ${schema}.find(text) returns text language sql as 'select $1';
    create function ${schema}.note() returns int language sql as 'select 1';
    create procedure ${schema}.change(p_text text) language sql as 'select p_text';
    create aggregate ${schema}.prune(p_number int) (sfunc = int4pl, stype = int);
    create view ${schema}.needs_it as select ${schema}.find('found');`);
  const text = "select oid, proname from pg_proc where pronamespace = $1::regnamespace and proname <> 'fold' order by oid";
  const { rows: theirs } = await client.query<{ oid: number }>(text, [schema]);
  const store = await openStoreOn(upgraded);
  await store.insert([jobOf()]);
  expect((await store.exchange([], [claimOf()])).claimed[0]).toHaveLength(1);
  expect(theirs).toHaveLength(5);
  expect((await client.query(text, [schema])).rows).toEqual(expect.arrayContaining(theirs));
});

test("an upgrade that takes longer than a call may is done all the same, also for those who come meanwhile", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const schema = schemaOf(upgraded);
  const job = jobOf();
  await addJobsOfOld(client, schema, [job]);
  const deadlineMs = 2_000;
  await client.query(`
    create function ${schema}.take_time() returns trigger language plpgsql as 'begin perform pg_sleep(${(deadlineMs * 1.5) / 1_000}); return new; end';
    create trigger take_time before update on ${schema}.job for each row execute function ${schema}.take_time();`);
  const stores = await Promise.all([openStoreOn(upgraded, { deadlineMs }), openStoreOn(upgraded, { deadlineMs })]);
  for (const store of stores) expect(await store.find([job.id])).toMatchObject([{ status: "pending", maxLost: 0 }]);
});
