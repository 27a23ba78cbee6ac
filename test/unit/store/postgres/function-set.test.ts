import type pg from "pg";
import { expect, test } from "vitest";
import { settle } from "../../../../src/core/lifecycle.ts";
import { HOUR_MS } from "../../../../src/core/time-units.ts";
import { FUNCTIONS, functionSet } from "../../../../src/store/postgres/function-set.ts";
import type { Store } from "../../../../src/store/store.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const KEEP = { minutesMs: 1_000, hoursMs: 1_000 };

/** The functions of a version in which a comment was added to each. */
const OTHERS = functionSet(
  FUNCTIONS.texts.map((text) => (schema, digest) => text(schema, digest).replace("\nbegin", "\nbegin -- changed")),
);

/** How many functions of each set a schema has. */
async function setsIn(client: pg.Client, schema: string): Promise<Record<string, number>> {
  const { rows } = await client.query<{ digest: string; count: string }>(
    "select right(proname, 8) as digest, count(*) from pg_proc where pronamespace = $1::regnamespace and proname ~ '_[0-9a-f]{8}$' group by 1",
    [schema],
  );
  return Object.fromEntries(rows.map(({ digest, count }) => [digest, Number(count)]));
}

/** As if nobody had used these functions for two days. */
async function age(client: pg.Client, schema: string, digest: string): Promise<void> {
  await client.query(`update ${schema}.meta set value = value - ${48 * HOUR_MS} where name = $1`, [`functions_${digest}`]);
}

/** Claims a job and completes it, one call each. */
async function workOnce(store: Store, workerId: string): Promise<string[]> {
  const { claimed } = await store.exchange([], [claimOf({ workerId, limit: 1 })]);
  const leases = claimed[0]!;
  const { settled } = await store.exchange(
    leases.map((lease) => {
      const transition = settle(lease, { kind: "completed", result: null, runMs: 5 }, lease, 0.5);
      return { id: lease.id, fence: lease.fence, outcome: "completed", ifExpired: false, transition };
    }),
    [],
  );
  expect(settled).toEqual(leases.map(() => "ok"));
  return leases.map(({ id }) => id);
}

const ALL = FUNCTIONS.texts.length;

test("two versions with other functions work on the same jobs, and each opens what the other made", async () => {
  const url = freshUrl(server());
  const client = await connectedTo(server());
  const [first, second] = [await openStoreOn(url), await openStoreOn(url, { functions: OTHERS })];
  expect(await setsIn(client, schemaOf(url))).toEqual({ [FUNCTIONS.digest]: ALL, [OTHERS.digest]: ALL });
  const jobs = Array.from({ length: 40 }, () => jobOf());
  await Promise.all([first.insert(jobs.slice(0, 20)), second.insert(jobs.slice(20))]);
  const done: string[] = [];
  const drain = async (store: Store, worker: string): Promise<void> => {
    for (let ids = await workOnce(store, worker); ids.length > 0; ids = await workOnce(store, worker)) done.push(...ids);
  };
  await Promise.all([drain(first, "first"), drain(second, "second")]);
  expect(done.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
});

test("sweep drops the functions that nobody has used for a day, and never its own", async () => {
  const url = freshUrl(server());
  const schema = schemaOf(url);
  const client = await connectedTo(server());
  const store = await openStoreOn(url);
  await openStoreOn(url, { functions: OTHERS });
  await store.sweep(KEEP, 10);
  expect(await setsIn(client, schema)).toEqual({ [FUNCTIONS.digest]: ALL, [OTHERS.digest]: ALL });
  for (const { digest } of [FUNCTIONS, OTHERS]) await age(client, schema, digest);
  // A store sweeps functions once an hour.
  const later = await openStoreOn(url);
  await age(client, schema, FUNCTIONS.digest);
  await later.sweep(KEEP, 10);
  expect(await setsIn(client, schema)).toEqual({ [FUNCTIONS.digest]: ALL });
});

test("who opens a store says that its functions are used", async () => {
  const url = freshUrl(server());
  const schema = schemaOf(url);
  const client = await connectedTo(server());
  await openStoreOn(url);
  await age(client, schema, FUNCTIONS.digest);
  await openStoreOn(url);
  await (await openStoreOn(url, { functions: OTHERS })).sweep(KEEP, 10);
  expect(await setsIn(client, schema)).toEqual({ [FUNCTIONS.digest]: ALL, [OTHERS.digest]: ALL });
});

test("functions that a view of the user's needs stay, and others are swept all the same", async () => {
  const url = freshUrl(server());
  const schema = schemaOf(url);
  const client = await connectedTo(server());
  await openStoreOn(url, { functions: OTHERS });
  await client.query(`create view ${schema}.needs_it as select ${schema}.fold_${OTHERS.digest}(1)`);
  await age(client, schema, OTHERS.digest);
  await client.query(`create function ${schema}.find_00000000(p_ids uuid[]) returns int language sql as 'select 1'`);
  await client.query(`insert into ${schema}.meta values ('functions_00000000', 0)`);
  await (await openStoreOn(url)).sweep(KEEP, 10);
  expect(await setsIn(client, schema)).toEqual({ [FUNCTIONS.digest]: ALL, [OTHERS.digest]: ALL });
});

test("a process whose functions were swept while it slept makes them anew, and its calls are done", async () => {
  const url = freshUrl(server());
  const schema = schemaOf(url);
  const client = await connectedTo(server());
  const sleeper = await openStoreOn(url, { functions: OTHERS });
  await sleeper.insert([jobOf()]);
  await age(client, schema, OTHERS.digest);
  await (await openStoreOn(url)).sweep(KEEP, 10);
  expect(await setsIn(client, schema)).toEqual({ [FUNCTIONS.digest]: ALL });
  const answers = await Promise.all([sleeper.insert([jobOf()]), sleeper.insert([jobOf()]), workOnce(sleeper, "w")]);
  expect(answers).toMatchObject([[{ kind: "created" }], [{ kind: "created" }], [expect.any(String)]]);
  expect(await setsIn(client, schema)).toEqual({ [FUNCTIONS.digest]: ALL, [OTHERS.digest]: ALL });
});

test("a caller's transaction that meets missing functions fails, and the next one does not", async () => {
  const url = freshUrl(server());
  const schema = schemaOf(url);
  const client = await connectedTo(server());
  const store = await openStoreOn(url);
  await store.insert([jobOf()]);
  await client.query(`drop function ${schema}.admit_${FUNCTIONS.digest}`);
  await client.query("begin");
  await expect(store.within(client)!.insert([jobOf()])).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("run the transaction again") as string,
  });
  await client.query("rollback");
  await client.query("begin");
  expect(await store.within(client)!.insert([jobOf()])).toMatchObject([{ kind: "created" }]);
  await client.query("commit");
});

test("a function that is missing and is not ours fails the call once and for all", async () => {
  const url = freshUrl(server());
  const schema = schemaOf(url);
  const client = await connectedTo(server());
  const store = await openStoreOn(url);
  await client.query(`create function ${schema}.theirs() returns trigger language plpgsql as 'begin perform no_such_function(); return new; end';
    create trigger theirs before insert on ${schema}.job for each row execute function ${schema}.theirs()`);
  await expect(store.insert([jobOf()])).rejects.toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("no_such_function") as string,
  });
});
