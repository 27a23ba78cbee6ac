import { drizzle } from "drizzle-orm/node-postgres";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../../../src/connect.ts";
import { CANCEL, settle } from "../../../../src/core/lifecycle.ts";
import type { Store } from "../../../../src/store/store.ts";
import { claimOf, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

function poolOf(): pg.Pool {
  const pool = new pg.Pool({ connectionString: server().url });
  onTestFinished(() => pool.end());
  return pool;
}

const statusOf = async (store: Store, id: string) => (await store.find([id]))[0]?.status ?? null;

/** Each way to open a transaction: runs the work in it, and commits or, when the work throws, rolls back. */
const WAYS: Record<string, (work: (tx: unknown) => Promise<void>) => Promise<void>> = {
  async "a client of pg"(work) {
    const client = await poolOf().connect();
    try {
      await client.query("begin");
      await work(client);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  },
  async "anything with query(text, values)"(work) {
    const client = await poolOf().connect();
    try {
      await client.query("begin");
      await work({ query: (text: string, values: unknown[]) => client.query(text, values) });
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  },
  async Drizzle(work) {
    await drizzle(poolOf()).transaction((tx) => work(tx));
  },
  async Kysely(work) {
    const db = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool: poolOf() }) });
    await db.transaction().execute((tx) => work(tx));
  },
};

test("a transaction that still sees an expired key, because it is in REPEATABLE READ, takes it and answers each job once", async () => {
  let now = Date.now();
  const store = await openStoreOn(freshUrl(server()), { testTime: () => now });
  const [old, next, other] = ["k", "k", "other"].map((idempotencyKey) => jobOf({ idempotencyKey, keyTtl: 1_000 }));
  await store.insert([old!]);
  const { claimed } = await store.exchange([], [claimOf()]);
  const [lease] = claimed[0]!;
  const transition = settle(lease!, { kind: "completed", result: null, runMs: 5 }, lease!, 0.5);
  await store.exchange([{ id: lease!.id, fence: lease!.fence, outcome: "completed", ifExpired: false, transition }], []);
  now += 2_000;
  const client = await poolOf().connect();
  onTestFinished(() => client.release());
  await client.query("begin isolation level repeatable read");
  await client.query("select count(*) from pg_class");
  expect(await store.within(client)!.insert([next!, other!])).toMatchObject([{ kind: "created" }, { kind: "created" }]);
  const again = [jobOf({ idempotencyKey: "k" }), jobOf({ idempotencyKey: "k" }, "task", 2), jobOf()];
  const kinds = [{ kind: "known", job: { id: next!.id } }, { kind: "conflict", id: next!.id }, { kind: "created" }];
  expect(await store.within(client)!.insert(again)).toMatchObject(kinds);
  await client.query("commit");
  expect(await store.insert([jobOf({ idempotencyKey: "k" })])).toMatchObject([{ kind: "known", job: { id: next!.id } }]);
});

test("a job enters the index of its facets with the caller's transaction, once, and no entry is left when it is removed or pruned", async () => {
  const url = freshUrl(server());
  const store = await openStoreOn(url);
  const client = await poolOf().connect();
  onTestFinished(() => client.release());
  const entries = async (): Promise<string[]> =>
    (await client.query<{ value: string }>(`select value from ${schemaOf(url)}.facet order by value`)).rows.map(({ value }) => value);
  const faceted = (customer: string) => ({ ...jobOf(), facets: { customer, region: "eu" } });
  const [one, two, undone] = [faceted("acme"), faceted("globex"), faceted("initech")];
  for (const [jobs, end] of [
    [[one, jobOf()], "commit"],
    [[undone], "rollback"],
  ] as const) {
    await client.query("begin");
    await store.within(client)!.insert(jobs);
    await client.query(end);
  }
  await store.insert([two]);
  await store.insert([one, two]);
  expect(await entries()).toEqual(["acme", "eu", "eu", "globex"]);
  await store.change([one.id, two.id], CANCEL);
  await store.remove([one.id], ["cancelled"]);
  expect(await entries()).toEqual(["eu", "globex"]);
  await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
  expect(await entries()).toEqual([]);
});

describe.each(Object.entries(WAYS))("a transaction of %s", (_, inTransaction) => {
  test("takes jobs along when it commits, and leaves nothing when it rolls back", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const kept = jobOf({ idempotencyKey: "k\u0000", tags: ["a", '"'] }, "t", { text: "\u0000'\"\\" });
    await inTransaction(async (tx) => {
      expect(await store.within(tx)!.insert([kept, jobOf({ idempotencyKey: "k\u0000" }, "t", { text: "\u0000'\"\\" })])).toMatchObject([
        { kind: "created" },
        { kind: "known", job: { id: kept.id, payload: kept.payload, tags: ["a", '"'] } },
      ]);
      expect(await statusOf(store, kept.id)).toBeNull();
    });
    expect(await statusOf(store, kept.id)).toBe("pending");

    const dropped = jobOf({ queue: "another" });
    await expect(
      inTransaction(async (tx) => {
        await store.within(tx)!.insert([dropped]);
        throw new Error("undo");
      }),
    ).rejects.toThrow("undo");
    expect(await statusOf(store, dropped.id)).toBeNull();
    expect((await store.queues()).map(({ name }) => name)).toEqual(["default"]);
  });

  test("completes a job with it", async () => {
    const store = await openStoreOn(freshUrl(server()));
    await store.insert([jobOf()]);
    const lease = (await store.exchange([], [claimOf()])).claimed[0]![0]!;
    const transition = settle(lease, { kind: "completed", result: '"done"', runMs: 5 }, lease, 0.5);
    await inTransaction(async (tx) => {
      expect(
        await store.within(tx)!.settle([{ id: lease.id, fence: lease.fence, outcome: "completed", ifExpired: false, transition }]),
      ).toEqual(["ok"]);
      expect(await statusOf(store, lease.id)).toBe("running");
    });
    expect((await store.find([lease.id]))[0]).toMatchObject({ status: "completed", result: '"done"' });
  });
});

describe("a transaction that is kept open", () => {
  test("holds up no insert, claim, beat or figure of others, whatever new names and keys it brought", async () => {
    const store = await openStoreOn(freshUrl(server()), { deadlineMs: 5_000 });
    await store.insert([jobOf({}, "seen")]);
    const client = await poolOf().connect();
    await client.query("begin");
    await store.within(client)!.insert([jobOf({ queue: "new", idempotencyKey: "k" }, "new"), jobOf({}, "seen")]);

    expect(await store.insert([jobOf({ queue: "new" }, "new"), jobOf({ queue: "newer" }, "new")])).toMatchObject([
      { kind: "created" },
      { kind: "created" },
    ]);
    const { claimed } = await store.exchange([], [claimOf({ queues: ["default", "new", "newer"] })]);
    expect(claimed[0]).toHaveLength(3);
    expect(await store.extend(claimed[0]!.map(({ id, fence }) => ({ id, fence, leaseMs: 1_000 })))).toEqual(["ok", "ok", "ok"]);
    expect(await store.queues()).toHaveLength(3);
    await client.query("rollback");
    client.release();
  });

  test("makes no neighbour wait for the job that has its key, and that one only when it is asked for alone", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const client = await poolOf().connect();
    await client.query("begin");
    const holder = jobOf({ idempotencyKey: "held" });
    await store.within(client)!.insert([holder]);

    const held = jobOf({ idempotencyKey: "held" });
    expect(await store.insert([jobOf({ idempotencyKey: "a" }), held, jobOf({ idempotencyKey: "b" })])).toMatchObject([
      { kind: "created" },
      { kind: "locked" },
      { kind: "created" },
    ]);
    const alone = store.insert([held]);
    await client.query("commit");
    client.release();
    expect(await alone).toMatchObject([{ kind: "known", job: { id: holder.id } }]);
  });

  test("that settles a lease holds up no beat of other leases", async () => {
    const store = await openStoreOn(freshUrl(server()));
    await store.insert([jobOf(), jobOf()]);
    const [mine, other] = (await store.exchange([], [claimOf()])).claimed[0]!;
    const client = await poolOf().connect();
    await client.query("begin");
    const transition = settle(mine!, { kind: "completed", result: null, runMs: 5 }, mine!, 0.5);
    await store.within(client)!.settle([{ id: mine!.id, fence: mine!.fence, outcome: "completed", ifExpired: false, transition }]);

    const leases = [mine!, other!].map(({ id, fence }) => ({ id, fence, leaseMs: 777_000 }));
    expect(await store.extend(leases)).toEqual(["locked", "ok"]);
    await client.query("commit");
    client.release();
    expect(await store.extend(leases)).toEqual(["stale", "ok"]);
  });
});

describe("what is no transaction", () => {
  test("a pool is refused: each of its queries would be a transaction of its own", async () => {
    const store = await openStoreOn(freshUrl(server()));
    expect(() => store.within(poolOf())).toThrow(expect.objectContaining({ code: "invalid_transaction", field: "tx" }));
  });

  test("a transaction that has failed is refused", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const client = await poolOf().connect();
    await client.query("begin");
    // The driver knows of the failure when the server has answered the next time.
    for (const text of ["select 1 / 0", "select 1"]) await client.query(text).catch(() => {});
    expect(() => store.within(client)).toThrow(expect.objectContaining({ code: "invalid_transaction" }));
    await client.query("rollback");
    client.release();
  });

  test("Kysely outside of a transaction is refused", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const db = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool: poolOf() }) });
    expect(() => store.within(db)).toThrow(expect.objectContaining({ code: "invalid_transaction" }));
  });
});

test("a client with a default capacity gives a queue none in a transaction, as on SQLite", async () => {
  const url = freshUrl(server());
  await using plain = await connect(url);
  await using bounded = await connect(url, { queueCapacity: 2 });
  await WAYS["a client of pg"]!(async (tx) => {
    await plain.enqueue("t", 1, { queue: "mail", tx });
    await bounded.enqueue("t", 2, { queue: "mail", tx });
    await bounded.enqueueMany([{ type: "t", queue: "mail" }], { tx });
  });
  expect(await bounded.queues()).toMatchObject([{ name: "mail", capacity: null, counts: { pending: 3 } }]);
});
