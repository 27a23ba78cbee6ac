import { readFile } from "node:fs/promises";
import type pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../../../src/connect.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";
import { ProcessOf01 } from "./process-of-0.1.ts";

const server = serverOfThisFile();

const COLUMNS = `select table_name, column_name, ordinal_position, data_type, column_default, is_nullable
  from information_schema.columns where table_schema = $1 order by table_name, ordinal_position`;
const INDEXES = "select tablename, indexname, indexdef from pg_indexes where schemaname = $1 order by 1, 2";
const FUNCTIONS = `select p.proname, pg_get_function_identity_arguments(p.oid) from pg_proc p
  where p.pronamespace = $1::regnamespace order by 1, 2`;

const NO_JOBS = { scheduled: 0, retrying: 0, pending: 0, running: 0, completed: 0, cancelled: 0, failed: 0, dead: 0, blocked: 0 };
const KEEP = { minutesMs: 1_000, hoursMs: 1_000 };

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

test("a schema of 0.1 is brought to what a new one is, once what is left of 0.1 is swept, and works", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const store = await openStoreOn(upgraded);
  await client.query(`update ${schemaOf(upgraded)}.meta set value = 0 where name = 'functions'`);
  await store.sweep(KEEP, 10);
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

test("functions that are not ours stay when those of 0.1 are swept, also those of our names", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const schema = schemaOf(upgraded);
  const text = "select oid, proname from pg_proc where pronamespace = $1::regnamespace and oid <> all($2) order by oid";
  const { rows: ofOld } = await client.query<{ oid: number }>(text, [schema, []]);
  await client.query(`
    create function ${schema}.theirs(p_text text) returns text language sql as 'select p_text';
    create function ${schema}.find(text) returns text language sql as 'select $1';
    create function ${schema}.note() returns int language sql as 'select 1';
    create procedure ${schema}.change(p_text text) language sql as 'select p_text';
    create aggregate ${schema}.prune(p_number int) (sfunc = int4pl, stype = int);
    create view ${schema}.needs_it as select ${schema}.find('found');`);
  const { rows: theirs } = await client.query<{ oid: number }>(text, [schema, ofOld.map(({ oid }) => oid)]);
  const store = await openStoreOn(upgraded);
  await client.query(`update ${schema}.meta set value = 0 where name = 'functions'`);
  await store.sweep(KEEP, 10);
  await store.insert([jobOf()]);
  expect((await store.exchange([], [claimOf()])).claimed[0]).toHaveLength(1);
  expect(theirs).toHaveLength(5);
  const { rows: left } = await client.query<{ oid: number; proname: string }>(text, [schema, []]);
  // Those of triggers belong to the tables.
  const named = left.filter(
    ({ proname }) => !/_([0-9a-f]{8}|for_sql)$|^(limit_line_up|limit_note_due|drop_steps|drop_flow)$/.test(proname),
  );
  // The one that users call has its name back.
  expect(named.filter(({ proname }) => proname !== "enqueue")).toEqual(theirs);
  expect(named).toHaveLength(theirs.length + 1);
});

test("an upgrade that takes longer than a call may is done all the same, also for those who come meanwhile", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const schema = schemaOf(upgraded);
  const job = jobOf();
  await addJobsOfOld(client, schema, [job]);
  const deadlineMs = 2_000;
  await client.query(`
    create function ${schema}.take_time() returns event_trigger language plpgsql as 'begin perform pg_sleep(${(deadlineMs * 1.5) / 1_000}); end';
    create event trigger take_time on ddl_command_end when tag in ('CREATE VIEW') execute function ${schema}.take_time();`);
  onTestFinished(async () => void (await client.query("drop event trigger take_time")));
  const stores = await Promise.all([openStoreOn(upgraded, { deadlineMs }), openStoreOn(upgraded, { deadlineMs })]);
  for (const store of stores) expect(await store.find([job.id])).toMatchObject([{ status: "pending", maxLost: 0 }]);
});

test("jobs of 0.1 in every state are what they were, and a lease from before the upgrade ends by the function that it was made for", async () => {
  const client = await connected();
  const upgraded = await schemaOfOld(client);
  const old = new ProcessOf01(client, schemaOf(upgraded));
  await old.makeQueue();
  await old.insert(6);
  const [retrying, cancelled, failed, dead, completed, running] = await old.claim(6);
  const [pending] = await old.insert(1);
  const [scheduled] = await old.insert(1, 3_600_000);
  await old.fail([retrying!], "retrying");
  await old.fail([cancelled!], "cancelled");
  await old.fail([failed!], "failed");
  await old.fail([dead!], "dead");
  await old.complete([completed!]);

  const store = await openStoreOn(upgraded);
  const ids = [scheduled!, retrying!.id, pending!, running!.id, completed!.id, cancelled!.id, failed!.id, dead!.id];
  const states = async (): Promise<unknown[]> => (await store.find(ids)).map((job) => job?.status);
  expect(await states()).toEqual(["scheduled", "retrying", "pending", "running", "completed", "cancelled", "failed", "dead"]);
  await old.complete([running!]);
  expect((await states())[3]).toBe("completed");
});

test("0.1 works on while a new version upgrades its schema and works beside it: each attempt is made once, each job comes to its end", async () => {
  const connection = await connected();
  const upgraded = await schemaOfOld(connection);
  const old = new ProcessOf01(connection, schemaOf(upgraded));
  await old.makeQueue();
  const jobs = await old.insert(50);
  const attempts: string[] = [];
  let isUpgraded = false;
  let afterUpgrade = 0;
  const over = new AbortController();
  /** Every job fails at first, and is completed by its second attempt, whoever makes it. */
  const workAsOld = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const leases = await old.claim(2);
      attempts.push(...leases.map(({ id, attempt }) => `${id} ${attempt}`));
      const first = leases.filter(({ attempt }) => attempt === 1);
      const later = leases.filter(({ attempt }) => attempt > 1);
      if (first.length > 0) await old.fail(first, "retrying");
      if (later.length > 0) await old.complete(later);
      await old.promote();
      if (isUpgraded) afterUpgrade += leases.length;
      // Also when the others were faster: else nothing would be left to take.
      if (afterUpgrade < 20) jobs.push(...(await old.insert(1)));
    }
  };
  const working = workAsOld();
  await expect.poll(() => attempts.length).toBeGreaterThan(10);

  await using client = await connect(upgraded);
  isUpgraded = true;
  let byNew = 0;
  client.work({
    task: (_payload, { job: { id, attempt } }) => {
      attempts.push(`${id} ${attempt}`);
      if (attempt === 1) throw new Error("not yet");
      byNew++;
    },
  });
  for (let more = 0; more < 50; more++) jobs.push((await client.enqueue("task", null, { retryDelay: 1 })).id);
  await expect.poll(() => afterUpgrade, { timeout: 20_000 }).toBeGreaterThanOrEqual(20);
  await expect.poll(async () => (await client.stats()).counts, { timeout: 20_000 }).toEqual({ ...NO_JOBS, completed: jobs.length });
  over.abort();
  await working;
  expect(byNew).toBeGreaterThan(0);
  expect(attempts.toSorted()).toEqual(jobs.flatMap((id) => [`${id} 1`, `${id} 2`]).toSorted());
}, 60_000);
