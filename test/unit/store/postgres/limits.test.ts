import { expect, test } from "vitest";
import { readLimits } from "../../../../src/core/limits.ts";
import type { Hint, LeasedRecord, Store } from "../../../../src/store/store.ts";
import { settlementOf } from "../../../conformance/world.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();
const COMPLETED = { kind: "completed", result: null, runMs: 1 } as const;
const KEEP = { minutesMs: 1_000, hoursMs: 1_000 };
let turn = 0;

async function claim(store: Store, limit = 10): Promise<string[]> {
  const { claimed } = await store.exchange([], [claimOf({ turn: ++turn, limit })]);
  return claimed[0]!.map(({ id }) => id);
}

async function limited(): Promise<{ store: Store; url: string }> {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  await store.configure("default", { limits: readLimits({ perKey: { running: 1, waiting: 3 } }) });
  return { store, url };
}

test("jobs that are enqueued from SQL have limit keys and costs, and obey them", async () => {
  const { store, url } = await limited();
  const client = await connectedTo(server());
  const enqueue = async (options: object): Promise<string> => {
    const text = `select ${schemaOf(url)}.enqueue('task', null, $1::jsonb) as id`;
    return (await client.query<{ id: string }>(text, [JSON.stringify(options)])).rows[0]!.id;
  };
  const first = await enqueue({ limitKey: "k", cost: 7 });
  await enqueue({ limitKey: "k" });
  const other = await enqueue({ limitKey: "other" });
  expect((await store.find([first]))[0]).toMatchObject({ limitKey: "k", cost: 7, type: "task" });
  expect((await claim(store)).toSorted()).toEqual([first, other].toSorted());
  await enqueue({ limitKey: "k" });
  await enqueue({ limitKey: "k" });
  await expect(enqueue({ limitKey: "k" })).rejects.toThrow(/limit key k of queue default has 3 waiting jobs/);
  await expect(enqueue({ limitKey: "" })).rejects.toThrow(/limitKey must be a string of 1 to 255 bytes/);
  await expect(enqueue({ cost: 0 })).rejects.toThrow(/cost must be/);
});

test("a caller's open transaction that enqueues and settles jobs of a key holds up nobody", async () => {
  const { store } = await limited();
  await store.insert([jobOf({ limitKey: "k" }), jobOf({ limitKey: "k" }), jobOf({ limitKey: "other" })]);
  const { claimed } = await store.exchange([], [claimOf({ turn: ++turn })]);
  const lease = claimed[0]!.find(({ limitKey }) => limitKey === "k")!;
  const other = claimed[0]!.find(({ limitKey }) => limitKey === "other")!;
  const client = await connectedTo(server());
  await client.query("begin");
  await store.within(client)!.insert([jobOf({ limitKey: "k" }), jobOf({ limitKey: "new" })]);
  await store.within(client)!.settle([settlementOf(lease, COMPLETED)]);
  // Until the commit the place is taken. Other keys, and other jobs of the key that come, wait for nothing.
  await store.insert([jobOf({ limitKey: "k" }), jobOf({ limitKey: "new" })]);
  expect((await store.exchange([settlementOf(other, COMPLETED)], [claimOf({ turn: ++turn })])).claimed[0]).toMatchObject([
    { limitKey: "new" },
  ]);
  await client.query("commit");
  expect((await store.find(await claim(store))).map((job) => job!.limitKey)).toEqual(["k"]);
});

test("a keyed job that a caller's transaction commits stands in line within a second, and work is told", async () => {
  const { store, url } = await limited();
  const client = await connectedTo(server());
  const lines = async (): Promise<number> =>
    Number((await client.query(`select count(*) from ${schemaOf(url)}.limit_line where place = 1`)).rows[0].count);
  const hints: Hint[] = [];
  store.watch((hint) => hints.push(hint));
  const theirs = await connectedTo(server());
  await theirs.query("begin");
  await store.within(theirs)!.insert([jobOf({ limitKey: "k" })]);
  expect(await lines()).toBe(0);
  await theirs.query("commit");
  await expect.poll(lines, { timeout: 5_000 }).toBe(1);
  expect(hints).toContainEqual({ topic: "work", queue: "default" });
});

test("sweep forgets idle keys, and frees what a version that knows no limits left behind", async () => {
  const { store, url } = await limited();
  const client = await connectedTo(server());
  const schema = schemaOf(url);
  const keys = Array.from({ length: 30 }, (_, number) => `k${number}`);
  await store.insert(keys.map((limitKey) => jobOf({ limitKey })));
  await store.insert([jobOf({ limitKey: "k0" })]);
  const { claimed } = await store.exchange([], [claimOf({ turn: ++turn, limit: 100 })]);
  // Such a version ends a lease without a word to its key.
  await client.query(`delete from ${schema}.running where id = $1`, [claimed[0]!.find(({ limitKey }) => limitKey === "k0")!.id]);
  expect(await claim(store)).toEqual([]);
  await store.sweep(KEEP, 100);
  const last = await store.exchange([], [claimOf({ turn: ++turn })]);
  const leases = [...claimed[0]!.filter(({ limitKey }) => limitKey !== "k0"), ...last.claimed[0]!];
  expect(leases).toHaveLength(keys.length);
  expect(
    (
      await store.exchange(
        leases.map((lease) => settlementOf(lease, COMPLETED)),
        [],
      )
    ).settled,
  ).toEqual(leases.map(() => "ok"));
  await claim(store);
  expect((await store.sweep(KEEP, 100)).removed).toBeGreaterThanOrEqual(keys.length);
  const { rows } = await client.query(
    `select key from ${schema}.limit_key where key <> '' union all select key from ${schema}.limit_line where key <> ''`,
  );
  expect(rows).toEqual([]);
});

test("a hold in a queue without limits leaves nothing behind once it is over", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const client = await connectedTo(server());
  await store.insert([jobOf({ limitKey: "k" })]);
  for (let round = 0; round < 3; round++) {
    const leases: LeasedRecord[] = [];
    await expect.poll(async () => leases.push(...(await store.exchange([], [claimOf({ turn: ++turn })])).claimed[0]!)).toBe(1);
    expect(await store.exchange([{ ...settlementOf(leases[0]!, { kind: "hold", delayMs: 1 }), holdMs: 1 }], [])).toMatchObject({
      settled: ["ok"],
    });
  }
  await expect
    .poll(async () => {
      await store.sweep(KEEP, 100);
      return (await client.query(`select count(*)::int as count from ${schemaOf(url)}.limit_charge`)).rows[0] as unknown;
    })
    .toEqual({ count: 0 });
});

test("a claim of other types is not told to ask again because of a line that waits for a rate", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  await store.configure("default", { limits: readLimits({ running: 100, perKey: { rate: "1/h" } }) });
  await store.insert([1, 2].map(() => ({ ...jobOf({ limitKey: "k" }), type: "b" })));
  const own = await store.exchange([], [claimOf({ turn: ++turn, types: ["b"] })]);
  expect(own.claimed[0]).toHaveLength(1);
  expect(own.againInMs![0]).toBeGreaterThan(0);
  // Nobody serves the other type now: its line waits longer than its time, and nobody wakes it.
  expect((await store.exchange([], [claimOf({ turn: ++turn, types: ["a"] })])).againInMs ?? [null]).toEqual([null]);
});

test("a key whose row is gone has one again when a job comes, so that its rate holds", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const client = await connectedTo(server());
  await store.configure("default", { limits: readLimits({ perKey: { rate: "1/h" } }) });
  await store.insert([jobOf({ limitKey: "k" }), jobOf({ limitKey: "k" })]);
  expect(await claim(store, 0)).toEqual([]);
  await client.query(`delete from ${schemaOf(url)}.limit_key where key = 'k'`);
  await store.insert([jobOf({ limitKey: "k" })]);
  expect(await claim(store)).toHaveLength(1);
  expect(await claim(store)).toEqual([]);
});

test("a queue that has limits but no row for them yet counts what runs already", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const client = await connectedTo(server());
  await store.insert(Array.from({ length: 4 }, () => jobOf()));
  expect(await claim(store, 2)).toHaveLength(2);
  // As if the process had died before it wrote the row.
  await client.query(`update ${schemaOf(url)}.queue set limits = $1 where name = 'default'`, [readLimits({ running: 3 })]);
  expect(await claim(store)).toHaveLength(1);
  expect(await claim(store)).toEqual([]);
});

test("neither a job that somebody holds nor what a version before left in line holds up other jobs of the key", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const [left, held, free] = [jobOf({ limitKey: "k" }), jobOf({ limitKey: "k" }), jobOf({ limitKey: "k" })];
  await store.insert([left, held, free]);
  const client = await connectedTo(server());
  await client.query(`delete from ${schemaOf(url)}.ready where id = $1`, [left.id]);
  await client.query("begin");
  await client.query(`select from ${schemaOf(url)}.ready where id = $1 for update`, [held.id]);
  expect(await claim(store)).toEqual([free.id]);
  expect(await claim(store)).toEqual([]);
  await client.query("commit");
  expect(await claim(store)).toEqual([held.id]);
});

test("leases of a key without limits are counted by its own limit, and by that of every key, once there is one", async () => {
  const store = await openStoreOn(freshUrl(server()));
  await store.insert(Array.from({ length: 6 }, () => jobOf({ limitKey: "k" })));
  const { claimed } = await store.exchange([], [claimOf({ turn: ++turn, limit: 3 })]);
  expect(await store.limitUse("default", ["k"])).toMatchObject({ keys: [{ running: 3, waiting: 3 }] });
  await store.setKeyLimits("default", "k", JSON.stringify({ running: 3 }));
  expect(await claim(store)).toEqual([]);
  await store.exchange([settlementOf(claimed[0]![0]!, COMPLETED)], []);
  expect(await claim(store)).toHaveLength(1);
  await store.setKeyLimits("default", "k", null);
  expect(await claim(store, 1)).toHaveLength(1);
  await store.configure("default", { limits: readLimits({ perKey: { running: 4 } }) });
  expect(await store.limitUse("default", ["k"])).toMatchObject({ keys: [{ running: 4, waiting: 1 }] });
  expect(await claim(store)).toEqual([]);
});
