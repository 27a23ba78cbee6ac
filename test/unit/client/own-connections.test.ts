/** Connections of the application, given to `connect` instead of a URL. */
import { DatabaseSync, type DatabaseSyncOptions } from "node:sqlite";
import { Cluster, Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../../../src/connect.ts";
import { createJob, JOB_DEFAULTS, readJobOptions } from "../../../src/core/job-options.ts";
import { partitionOf } from "../../../src/core/partition.ts";
import { idMaker } from "../../../src/lib/id.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Hint, Store } from "../../../src/store/store.ts";
import type { Client } from "../../../src/client/client.ts";
import type { OwnConnection } from "../../../src/store/own-connection.ts";
import { until } from "../../faults/until.ts";
import { type PostgresServer, startPostgres } from "../../servers/postgres.ts";
import { type RedisServer, startRedis, startRedisCluster } from "../../servers/redis.ts";
import { temporaryFile } from "../store/sqlite/temporary-file.ts";

let postgres: PostgresServer;
let redis: RedisServer;
beforeAll(async () => {
  [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
});
afterAll(() => Promise.all([postgres.stop(), redis.stop()]));

function openFile(path = temporaryFile(), options: DatabaseSyncOptions = {}): DatabaseSync {
  const db = new DatabaseSync(path, options);
  db.exec("pragma journal_mode = wal");
  onTestFinished(() => void (db.isOpen && db.close()));
  return db;
}

async function openPool(options: pg.PoolConfig = {}): Promise<pg.Pool> {
  const { url, drop } = await postgres.database();
  const pool = new pg.Pool({ connectionString: url, ...options });
  onTestFinished(async () => {
    if (!pool.ended) await pool.end();
    await drop();
  });
  return pool;
}

async function whileTaken<Answer>(pool: pg.Pool, work: (tx: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
  const tx = await pool.connect();
  try {
    return await work(tx);
  } finally {
    tx.release();
  }
}

function openRedis(options: Record<string, unknown> = {}): Redis {
  const { port } = new URL(redis.url);
  const instance = new Redis({ host: "127.0.0.1", port: Number(port), ...options });
  onTestFinished(() => instance.disconnect());
  return instance;
}

async function open(place: OwnConnection): Promise<Client> {
  const client = await connect(place);
  onTestFinished(() => client.close());
  return client;
}

/** A job goes the whole way, with a worker that is told of it. */
async function runOne(client: Client): Promise<unknown> {
  const worker = client.work({ add: async ({ a, b }: { a: number; b: number }) => a + b });
  await client.stats();
  const { id } = await client.enqueue("add", { a: 1, b: 2 }, { idempotencyKey: `k${Math.random()}` });
  const { result } = await client.wait(id, { timeout: "20s" });
  await worker.stop();
  return result;
}

describe("a connection of the application runs jobs, and stays open and as it was when the client is closed", () => {
  test("a Pool of pg with settings of its own, and no more connections than its max beside ours", async () => {
    const pool = await openPool({ max: 1, types: { getTypeParser: () => () => "theirs" } });
    const client = await open({ pg: pool, schema: "jobs" });
    expect(await runOne(client)).toBe(3);
    const { rows } = await pool.query("show lock_timeout");
    expect(rows).toEqual([{ lock_timeout: "theirs" }]);
    const settings = await pool.query({ text: "select current_setting('lock_timeout')", rowMode: "array", types: pg.types });
    expect(settings.rows).toEqual([["0"]]);
    expect(pool.totalCount).toBe(1);
    await client.close();
    const others = await pool.query({
      text: "select count(*)::int from pg_stat_activity where datname = current_database()",
      rowMode: "array",
      types: pg.types,
    });
    expect(others.rows).toEqual([[1]]);
    expect(pool.listenerCount("error")).toBe(0);
  });

  test("a Pool whose only connection is in a transaction, also for the job that is enqueued inside it", async () => {
    const pool = await openPool({ max: 1 });
    const listenersBefore = await whileTaken(pool, async (tx) => tx.listenerCount("error"));
    const client = await open({ pg: pool });
    const { id } = await whileTaken(pool, async (tx) => {
      await tx.query("begin");
      const job = await client.enqueue("mail", 1, { tx, queue: "new", idempotencyKey: "k" });
      expect(await client.get(job.id)).toBeNull();
      await tx.query("commit");
      return job;
    });
    expect(await client.get(id)).toMatchObject({ status: "pending" });
    await client.close();
    expect(await whileTaken(pool, async (tx) => tx.listenerCount("error"))).toBe(listenersBefore);
  });

  test("a Pool whose last free connection the application asked for a moment before", async () => {
    const pool = await openPool({ max: 1 });
    const client = await open({ pg: pool });
    await until(() => pool.idleCount === 1);
    const [asked, found] = [pool.connect(), client.workers()];
    const tx = await asked;
    expect(await found.finally(() => tx.release())).toEqual([]);
  });

  test("a Pool whose connections are all in use: calls do not queue up in it", async () => {
    const pool = await openPool({ max: 1 });
    const client = await open({ pg: pool });
    await whileTaken(pool, async () => {
      for (let call = 0; call < 20; call++) await client.workers();
      expect(pool.waitingCount).toBe(1);
    });
    await until(() => pool.waitingCount === 0 && pool.idleCount === 1);
    expect(await runOne(client)).toBe(3);
  });

  test("a Pool whose connections are all in use: of calls at the same time, one queues up in it, and all are answered", async () => {
    const pool = await openPool({ max: 1 });
    const client = await open({ pg: pool });
    const manyCalls = (): Promise<unknown> => Promise.all(Array.from({ length: 20 }, () => client.workers()));
    let [most, isOver] = [0, false];
    await whileTaken(pool, async () => {
      const calls = manyCalls().finally(() => (isOver = true));
      await until(() => ((most = Math.max(most, pool.waitingCount)), isOver));
      await calls;
      expect(pool.waitingCount).toBe(1);
      // The application goes first, and while it has the connection, nothing has changed for us.
      const next = pool.connect();
      await client.workers();
      expect(pool.waitingCount).toBe(2);
      void next.then((tx) => tx.release());
    });
    expect(most).toBe(1);
    await until(() => pool.waitingCount === 0 && pool.idleCount === 1);
    await manyCalls();
    expect(await runOne(client)).toBe(3);
    expect(pool.totalCount).toBe(1);
  });

  test("a Pool whose connections are all in use, and whose own timeout is short: all calls are answered", async () => {
    const pool = await openPool({ max: 1, connectionTimeoutMillis: 5 });
    const client = await open({ pg: pool });
    await until(() => pool.idleCount === 1);
    await whileTaken(pool, async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => client.workers()));
      expect(answers).toEqual([[], [], [], [], []]);
    });
    await until(() => pool.waitingCount === 0 && pool.idleCount === 1);
  });

  test("a DatabaseSync with two clients: each hears of the other's jobs", async () => {
    const db = openFile();
    const [one, other] = [await openStore({ sqlite: db }), await openStore({ sqlite: db })];
    onTestFinished(() => Promise.all([one.close(), other.close()]).then(() => {}));
    const heard: Hint[] = [];
    other.watch((hint) => heard.push(hint));
    const settings = readJobOptions({}, JOB_DEFAULTS, Date.now());
    const nextId = idMaker(Date.now);
    const insert = (verbs: Pick<Store, "insert">): Promise<unknown> =>
      verbs.insert([createJob(nextId(partitionOf("default")), "t", null, settings)]);
    // The second has its hint before the commit; the third has the commit of the application.
    for (const verbs of [one, one, null]) {
      heard.length = 0;
      if (verbs === null) {
        db.exec("begin");
        await insert(one.within(db)!);
        db.exec("commit");
      } else await insert(verbs);
      await until(() => heard.some(({ topic }) => topic === "work"));
    }
  });

  test("a Redis of ioredis that would not subscribe again: messages go on after their connection broke", async () => {
    const instance = openRedis({ autoResubscribe: false, enableReadyCheck: false });
    const client = await open({ redis: instance });
    const worker = client.work({ mail: async () => {} });
    onTestFinished(() => worker.stop());
    const subscribers = async (): Promise<string[]> =>
      String(await instance.client("LIST", "TYPE", "PUBSUB"))
        .split("\n")
        .flatMap((line) => (/name=millrace .* sub=[1-9]/.test(line) ? [/id=(\d+)/.exec(line)![1]!] : []));
    await until(async () => (await subscribers()).length > 0);
    const before = await subscribers();
    await instance.call("CLIENT", "KILL", "TYPE", "pubsub");
    await until(async () => (await subscribers()).some((id) => !before.includes(id)));
  });

  test("a Redis of ioredis that has not connected and would read numbers as texts", async () => {
    const instance = openRedis({ lazyConnect: true, stringNumbers: true, maxRetriesPerRequest: 20 });
    const client = await open({ redis: instance, prefix: "own" });
    expect(await runOne(client)).toBe(3);
    await client.close();
    expect(instance.status).toBe("wait");
    expect(await instance.ping()).toBe("PONG");
    expect((await instance.client("LIST")) as string).not.toContain("name=millrace");
  });

  test("a Cluster of ioredis", async () => {
    const servers = await startRedisCluster();
    onTestFinished(() => servers.stop());
    const cluster = new Cluster(servers.ports.map((port) => ({ host: "127.0.0.1", port })));
    onTestFinished(() => cluster.disconnect());
    const client = await open({ redis: cluster });
    expect(await runOne(client)).toBe(3);
    await client.close();
    expect(await cluster.ping()).toBe("PONG");
  });

  test.each([
    { where: ":memory:", rows: {} },
    { where: "a file", rows: {} },
    { where: "a file", rows: { returnArrays: true, readBigInts: true } },
  ])("a DatabaseSync of node:sqlite: $where $rows", async ({ where, rows }) => {
    const db = openFile(where === ":memory:" ? where : temporaryFile(), rows);
    const first = await open({ sqlite: db });
    expect(await runOne(first)).toBe(3);
    await first.close();
    // Its tables are there now.
    const client = await open({ sqlite: db });
    await client.close();
    expect(Object.values(db.prepare("pragma synchronous").get()!).map(Number)).toEqual([2]);
    expect(db.isOpen).toBe(true);
  });
});

describe("a transaction of the application on the SQLite connection that it gave", () => {
  test("makes calls that write wait, and takes jobs with it: the worker runs them after the commit, and none after a rollback", async () => {
    const db = openFile();
    const client = await open({ sqlite: db });
    const seen: unknown[] = [];
    const worker = client.work({ mail: async (payload) => void seen.push(payload) });
    onTestFinished(() => worker.stop());
    db.exec("create table orders (id integer primary key)");

    db.exec("begin immediate; insert into orders values (1)");
    const gone = await client.enqueue("mail", 1, { tx: db });
    const other = client.enqueue("mail", 3);
    expect(await client.get(gone.id)).toMatchObject({ status: "pending" });
    await new Promise((resolve) => setImmediate(resolve));
    db.exec("rollback");
    expect(await client.get(gone.id)).toBeNull();
    await client.wait((await other).id, { timeout: "20s" });

    db.exec("begin immediate; insert into orders values (2)");
    const { id } = await client.enqueue("mail", 2, { tx: db });
    db.exec("commit");
    await client.wait(id, { timeout: "20s" });
    expect(seen).toEqual([3, 2]);
    expect(db.prepare("select id from orders").all()).toEqual([{ id: 2 }]);
  });

  test("a call that waits for it fails at its deadline, says what to pass, and leaves the transaction as it is", async () => {
    const db = openFile();
    const client = await connect({ sqlite: db }, { deadline: 50 });
    onTestFinished(() => client.close());
    db.exec("begin immediate");
    const refusal = { code: "store_unavailable", message: expect.stringContaining("{ tx }") as string };
    await expect(client.enqueue("mail", 1)).rejects.toMatchObject(refusal);
    expect(db.isTransaction).toBe(true);
    db.exec("commit");
    db.close();
    await expect(client.enqueue("mail", 1)).rejects.toThrow("database is not open");
  });
});

describe("a connection that Millrace cannot work with is refused at connect, with what to do", () => {
  const refusals: Record<string, [() => unknown, string]> = {
    "a client of pg": [() => ({ pg: new pg.Client() }), "pg is a single client"],
    "not a pool": [() => ({ pg: {} }), "pg must be a Pool of the package pg"],
    "a pool with binary": [() => ({ pg: new pg.Pool({ binary: true } as pg.PoolConfig) }), "option binary"],
    "a bad schema": [() => ({ pg: new pg.Pool(), schema: "My Jobs" }), "schema must have at most 63 characters"],
    keyPrefix: [() => ({ redis: new Redis({ keyPrefix: "app:", lazyConnect: true }) }), "option keyPrefix"],
    "keyPrefix of a Cluster": [
      () => ({ redis: new Cluster([], { redisOptions: { keyPrefix: "app:" }, lazyConnect: true }) }),
      "option keyPrefix",
    ],
    "not an ioredis": [() => ({ redis: "localhost" }), "redis must be a Redis or Cluster of the package ioredis"],
    "a bad prefix": [() => ({ redis: new Redis({ lazyConnect: true }), prefix: "a b" }), "prefix must be"],
    "not a database": [() => ({ sqlite: "app.db" }), "sqlite must be a DatabaseSync of node:sqlite"],
    "better-sqlite3": [() => ({ sqlite: betterSqlite3() }), "better-sqlite3 has its own copy of SQLite"],
    "a file that is not in WAL mode": [() => ({ sqlite: new DatabaseSync(temporaryFile()) }), 'run "pragma journal_mode = wal"'],
    "a long busy timeout": [() => ({ sqlite: timeout(60_000) }), "busy timeout of 60000 ms"],
    "an open transaction": [() => ({ sqlite: begun() }), "sqlite has an open transaction"],
    "an unknown name": [() => ({ mysql: {} }), "one of { pg }, { redis } and { sqlite }"],
    "an unknown setting": [() => ({ sqlite: openFile(), prefix: "x" }), "prefix"],
  };

  test.each(Object.entries(refusals))("%s", async (_, [place, message]) => {
    await expect(connect(place() as OwnConnection)).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining(message) as string,
    });
  });

  test("a pool that was ended, and poolSize with a pool", async () => {
    const pool = await openPool();
    await expect(connect({ pg: pool }, { poolSize: 5 })).rejects.toMatchObject({ code: "invalid_input", field: "poolSize" });
    await pool.end();
    await expect(connect({ pg: pool })).rejects.toMatchObject({ code: "invalid_input", field: "pg" });
  });
});

/** What we can see of a connection of better-sqlite3. */
function betterSqlite3(): unknown {
  return { inTransaction: true, open: true, prepare: () => {}, exec: () => {}, pragma: () => {}, transaction: () => {} };
}

function timeout(ms: number): DatabaseSync {
  const db = openFile();
  db.exec(`pragma busy_timeout = ${ms}`);
  return db;
}

function begun(): DatabaseSync {
  const db = openFile();
  db.exec("begin");
  return db;
}
