/** Nobody waits for a stranger: what others hold, keep open, stall or leave behind delays themselves alone. */
import type pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewJob } from "../../../../src/core/job.ts";
import { deliveryOf } from "../../../../src/core/delivery.ts";
import { CANCEL, RETRY, settle } from "../../../../src/core/lifecycle.ts";
import { FUNCTIONS } from "../../../../src/store/postgres/function-set.ts";
import type { LeasedRecord, Settlement, Store } from "../../../../src/store/store.ts";
import { TcpProxy } from "../../../servers/tcp-proxy.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

const connected = (): Promise<pg.Client> => connectedTo(server());

/** A URL that leads to the same store over a wire. */
async function wired(url: string): Promise<{ wire: TcpProxy; url: string }> {
  const { hostname: host, port } = new URL(url);
  const wire = await TcpProxy.to(Number(port), { host });
  onTestFinished(() => wire.close());
  const over = new URL(url);
  over.host = `127.0.0.1:${wire.port}`;
  return { wire, url: over.href };
}

function completion(job: LeasedRecord, followUp: NewJob | null = null): Settlement {
  const transition = settle(job, { kind: "completed", result: null, runMs: 5 }, job, 0.5);
  return { id: job.id, fence: job.fence, outcome: "completed", ifExpired: false, transition, followUp };
}

function deliveryOfCompleted({ id, queue, fence }: LeasedRecord): NewJob {
  return deliveryOf({ id, queue, webhookUrl: "https://example.com/hook" }, fence, "completed")!;
}

async function claim(store: Store, limit: number, turn = 1): Promise<LeasedRecord[]> {
  return (await store.exchange([], [claimOf({ limit, turn })])).claimed[0]!;
}

/** Holds rows of ours in a transaction of its own. */
async function hold(text: string): Promise<{ rows: number; release: () => Promise<void> }> {
  const client = await connected();
  await client.query("begin");
  const { rowCount } = await client.query(text);
  return { rows: rowCount ?? 0, release: async () => void (await client.query("rollback")) };
}

const jobs = (count: number, type = "task"): NewJob[] => Array.from({ length: count }, () => jobOf({}, type));

describe("settlements that are followed by jobs", () => {
  test("are committed with the one statement that carries them, so a process that vanishes right after it holds nothing", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    const { wire, url: over } = await wired(url);
    const vanishing = await openStoreOn(over, { deadlineMs: 400 });
    await store.insert(jobs(4));
    const [first] = await claim(store, 1);
    const followUp = deliveryOfCompleted(first!);
    // Whatever it says after the exchange never arrives, and nobody is told.
    const swallowed = wire.swallowAnswerTo(/exchange/);
    const exchanging = vanishing.exchange([completion(first!, followUp)], [claimOf({ turn: 2 })]).catch((error: unknown) => error);
    await swallowed;
    wire.stall();
    expect((await store.find([first!.id, followUp.id])).map((job) => job?.status)).toEqual(["completed", "pending"]);
    await exchanging;
    wire.heal();
  });

  test("bring the job that follows once, also when they are repeated", async () => {
    const store = await openStoreOn(freshUrl(server()));
    await store.insert(jobs(1));
    const [job] = await claim(store, 1);
    const followUp = deliveryOfCompleted(job!);
    for (let time = 0; time < 2; time++) expect((await store.exchange([completion(job!, followUp)], [])).settled).toEqual(["ok"]);
    const { counts } = (await store.queues()).find(({ name }) => name === followUp.queue)!;
    expect(counts).toMatchObject([{ status: "pending", count: 1 }]);
  });
});

describe("a claim over several lanes", () => {
  test("goes past any number of heads that others hold, and gives as many as were asked for", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    for (const type of ["a", "b", "c"]) await store.insert(jobs(300, type));
    const heads = "order by run_at, seq limit 280 for update";
    const s = schemaOf(url);
    const held = await Promise.all([1, 2, 3].map((lane) => hold(`select from ${s}.ready where lane = ${lane} ${heads}`)));
    expect(held.map(({ rows }) => rows)).toEqual([280, 280, 280]);

    expect(await claim(store, 7)).toHaveLength(7);
    expect(await claim(store, 100, 2)).toHaveLength(53);
    for (const { release } of held) await release();
    expect(await claim(store, 1000, 3)).toHaveLength(840);
  });
});

describe("a row that somebody else holds", () => {
  /** Three jobs are running, and the row of the first is held. */
  async function oneHeld(): Promise<{ store: Store; schema: string; leased: LeasedRecord[]; release: () => Promise<void> }> {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    await store.insert(jobs(5));
    const leased = await claim(store, 3);
    const { release } = await hold(`select from ${schemaOf(url)}.running where id = '${leased[0]!.id}' for update`);
    return { store, schema: schemaOf(url), leased, release };
  }

  test("delays its own settlement alone: the others and the claim with them are done", async () => {
    const { store, leased, release } = await oneHeld();
    const settlements = leased.map((job) => completion(job));
    const { settled, claimed } = await store.exchange(settlements, [claimOf({ turn: 2 })]);
    expect(settled).toEqual(["locked", "ok", "ok"]);
    expect(claimed[0]).toHaveLength(2);
    await release();
    expect((await store.exchange(settlements, [])).settled).toEqual(["ok", "ok", "ok"]);
  });

  test("keeps nobody waiting who would reclaim its lease, and is reclaimed once it is free", async () => {
    const url = freshUrl(server());
    let now = Date.now();
    const store = await openStoreOn(url, { testTime: () => now });
    await store.insert(jobs(3));
    const leased = await claim(store, 3);
    now += 60_000;
    const lost = leased.map((job): Settlement => {
      const transition = settle(job, { kind: "lost" }, job, 0.5);
      return { id: job.id, fence: job.fence, outcome: "lost", ifExpired: true, transition };
    });
    const { release } = await hold(`select from ${schemaOf(url)}.running where id = '${leased[0]!.id}' for update`);
    expect((await store.exchange(lost, [])).settled).toEqual(["stale", "ok", "ok"]);
    expect((await store.exchange(lost.slice(0, 1), [])).settled).toEqual(["stale"]);
    await release();
    expect((await store.exchange(lost.slice(0, 1), [])).settled).toEqual(["ok"]);
  });

  test("delays its own renewal and its own notes alone", async () => {
    const { store, leased, release } = await oneHeld();
    expect(await store.extend(leased.map(({ id, fence }) => ({ id, fence, leaseMs: 5_000 })))).toEqual(["locked", "ok", "ok"]);
    const notes = leased.map(({ id, fence }) => ({ id, fence, progress: null, lines: ["hello"] }));
    expect(await store.note(notes)).toEqual(["locked", "ok", "ok"]);
    expect(await store.logs(leased[0]!.id, 0, 10)).toEqual([]);
    await release();
    expect(await store.note(notes.slice(0, 1))).toEqual(["ok"]);
  });

  test("delays its own cancel alone, which is waited for when it is asked for alone", async () => {
    const { store, leased, release } = await oneHeld();
    const ids = leased.map(({ id }) => id);
    expect((await store.change(ids, CANCEL)).map(({ kind }) => kind)).toEqual(["locked", "ok", "ok"]);
    const alone = store.change(ids.slice(0, 1), CANCEL);
    await release();
    expect(await alone).toMatchObject([{ kind: "ok", was: "running" }]);
  });

  test("delays its own replacement alone, which is waited for when it is asked for alone", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    const old = [jobOf(), jobOf({ delay: 60_000 }), { ...jobOf(), blocked: true }];
    await store.insert(old);
    const places = ["ready", "due", "blocked"];
    for (const [index, place] of places.entries()) {
      const next = old.map((job) => ({ ...job, payload: `"${place}"` }));
      const { release } = await hold(`select from ${schemaOf(url)}.${place} where id = '${old[index]!.id}' for update`);
      expect(await store.replace(next)).toEqual(places.map((other) => (other === place ? "locked" : "ok")));
      const alone = store.replace([next[index]!]);
      await release();
      expect(await alone).toEqual(["ok"]);
      expect((await store.find(old.map(({ id }) => id))).map((job) => job!.payload)).toEqual(next.map(({ payload }) => payload));
    }
  });

  test("delays its own removal alone", async () => {
    const { store, schema, leased, release: releaseRunning } = await oneHeld();
    await releaseRunning();
    const settlements = leased.map((job) => completion(job));
    await store.exchange(settlements, []);
    const ids = leased.map(({ id }) => id);
    const { release } = await hold(`select from ${schema}.ended where id = '${ids[0]}' for update`);
    expect((await store.remove(ids, ["completed"])).map(({ kind }) => kind)).toEqual(["locked", "ok", "ok"]);
    await release();
    expect((await store.remove(ids, ["completed"])).map(({ kind }) => kind)).toEqual(["ok", "missing", "missing"]);
  });

  test("of a key delays no other key of the batch, however many there are", async () => {
    const store = await openStoreOn(freshUrl(server()));
    const client = await connected();
    await client.query("begin");
    const held = Array.from({ length: 20 }, (_, index) => jobOf({ idempotencyKey: `held ${index}` }));
    await store.within(client)!.insert(held);
    const wanted = Array.from({ length: 50 }, (_, index) =>
      jobOf({ idempotencyKey: index % 2 === 0 ? `held ${index / 2}` : `free ${index}` }),
    );
    const kinds = (await store.insert(wanted)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "locked")).toHaveLength(20);
    expect(kinds.filter((kind) => kind === "created")).toHaveLength(30);
    await client.query("rollback");
    const again = wanted.filter((_, index) => kinds[index] === "locked");
    expect((await store.insert(again)).map(({ kind }) => kind)).toEqual(again.map(() => "created"));
  });
});

describe("a key that somebody else holds", () => {
  test("delays the retry and the removal of its own job alone", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    const keyed = ["a", "b", "c"].map((idempotencyKey) => jobOf({ idempotencyKey }));
    await store.insert(keyed);
    const ids = keyed.map(({ id }) => id);
    await store.change(ids, CANCEL);
    const { release } = await hold(`select from ${schemaOf(url)}.key where key = 'a' for update`);
    expect((await store.change(ids, RETRY)).map(({ kind }) => kind)).toEqual(["locked", "ok", "ok"]);
    await store.change(ids.slice(1), CANCEL);
    expect((await store.remove(ids, ["cancelled"])).map(({ kind }) => kind)).toEqual(["locked", "ok", "ok"]);
    const alone = store.change(ids.slice(0, 1), RETRY);
    await release();
    expect(await alone).toMatchObject([{ kind: "ok", was: "cancelled" }]);
  });

  test("makes the rest of the call no less patient than any other", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    const store = await openStoreOn(url);
    await store.configure("default", { paused: false });
    const client = await connected();
    const watcher = await connected();
    await watcher.query(`create table ${s}.seen (patience text);
      create function ${s}.see() returns trigger language plpgsql as $$ begin
        insert into ${s}.seen values (current_setting('lock_timeout'));
        return null;
      end $$;
      create trigger see after insert on ${s}.job for each statement execute function ${s}.see()`);
    await client.query("begin");
    await client.query(`insert into ${s}.key (queue, key, job, fingerprint) select id, 'held', gen_random_uuid(), '' from ${s}.queue`);
    expect(await store.insert([jobOf({ idempotencyKey: "free" }), jobOf({ idempotencyKey: "held" })])).toMatchObject([
      { kind: "created" },
      { kind: "locked" },
    ]);
    expect((await watcher.query(`select patience from ${s}.seen`)).rows).toEqual([{ patience: "100ms" }]);
    await client.query("rollback");
  });
});

describe("a claim whose commit stalls", () => {
  test("is not overtaken by its repeat: what it was granted is given again, and nothing besides", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    const client = await connected();
    const store = await openStoreOn(url, { deadlineMs: 4_000 });
    await store.insert(jobs(20));
    // The first commit that leased something does not end before somebody lets it; all later ones do at once.
    await client.query(`create table ${s}.gate (is_open boolean); insert into ${s}.gate values (false);
      create function ${s}.stall() returns trigger language plpgsql as $$ begin
        if pg_try_advisory_lock(hashtext('${s}.first')) then
          while not (select is_open from ${s}.gate) loop perform pg_sleep(0.02); end loop;
        end if;
        return null;
      end $$;
      create constraint trigger stall after insert on ${s}.running deferrable initially deferred for each row execute function ${s}.stall()`);
    await expect(claim(store, 5)).rejects.toMatchObject({ code: "store_unavailable" });
    await client.query(`update ${s}.gate set is_open = true`);
    const { claimed } = await store.exchange([], [claimOf({ limit: 5, again: true })]);
    expect(claimed[0]).toHaveLength(5);
    const { rows } = await client.query(`select count(*)::int as running from ${s}.running`);
    expect(rows).toEqual([{ running: 5 }]);
  });
});

describe("a claim that arrives after the store has made it again", () => {
  async function overWire(): Promise<{ wire: TcpProxy; store: Store }> {
    const { wire, url } = await wired(freshUrl(server()));
    return { wire, store: await openStoreOn(url) };
  }

  test("takes nothing: nobody waits for its answer", async () => {
    const { wire, store } = await overWire();
    await store.insert(jobs(20));
    const delayed = wire.delayRequest(/"turn":7/);
    const claimed = claim(store, 5, 7);
    const arrive = await delayed;
    expect(await claimed).toHaveLength(5);
    await arrive();
    expect((await store.queues())[0]!.counts).toMatchObject([
      { status: "pending", count: 15 },
      { status: "running", count: 5 },
    ]);
  });

  test("bars no later look of the same turn, of which a long poll makes several", async () => {
    const { wire, store } = await overWire();
    const swallowed = wire.swallowAnswerTo(/"turn":7/);
    const looked = claim(store, 5, 7);
    await swallowed;
    expect(await looked).toEqual([]);
    await store.insert(jobs(2));
    expect(await claim(store, 5, 7)).toHaveLength(2);
  });
});

describe("after a failover", () => {
  test("connections that take no writes are dropped, those of beats too", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    await store.insert(jobs(2));
    const [job] = await claim(store, 1);
    const client = await connected();
    await client.query("set default_transaction_read_only = off");
    const database = client.database!;
    const others = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace' and datname = '${database}'`;
    await client.query(`alter database "${database}" set default_transaction_read_only = on`);
    await client.query(others);
    onTestFinished(async () => void (await client.query(`alter database "${database}" reset default_transaction_read_only`)));
    // A connection that met the server in this state is dropped. When it leaves, the server counts what it had rolled back.
    const rolledBack = async (): Promise<number> => {
      const { rows } = await client.query<{ count: number }>(
        "select xact_rollback::int as count from pg_stat_database where datname = $1",
        [database],
      );
      return rows[0]!.count;
    };
    const before = await rolledBack();
    const lease = { id: job!.id, fence: job!.fence, leaseMs: 60_000 };
    const calls = [store.insert(jobs(1)), store.extend([lease])];
    await expect.poll(rolledBack, { timeout: 10_000 }).toBeGreaterThan(before);
    await client.query(`alter database "${database}" reset default_transaction_read_only`);
    expect(await Promise.all(calls)).toMatchObject([[{ kind: "created" }], ["ok"]]);
  });
});

describe("a queue with a capacity", () => {
  test("is counted once a call, however many jobs come in and however much is not folded yet", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    const store = await openStoreOn(url);
    await store.configure("default", { capacity: 10_000 });
    const client = await connected();
    const unfolded = 200;
    await client.query(
      `insert into ${s}.delta (at, queue, metrics, amounts) select 0, 1, '{8}', '{1}' from generate_series(1, ${unfolded})`,
    );
    const batch = jobs(100);
    await client.query("begin");
    await store.within(client)!.insert(batch);
    const read = `select seq_tup_read::int as read from pg_stat_xact_user_tables where schemaname = '${s}' and relname = 'delta'`;
    const { rows } = await client.query<{ read: number }>(read);
    await client.query("rollback");
    expect(rows[0]!.read).toBeLessThanOrEqual(4 * (unfolded + 10));
    expect(rows[0]!.read).toBeGreaterThanOrEqual(unfolded);
  });

  test("is waited for by every batch and every single job, however long another producer takes", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    let locked = 0;
    const [first, second, third] = await Promise.all([1, 2, 3].map(() => openStoreOn(url, { onLocked: () => void locked++ })));
    await first!.configure("default", { capacity: 1_000 });
    const { release } = await hold(`select from ${s}.queue where name = 'default' for update`);
    const calls = [first!.insert(jobs(100)), second!.insert(jobs(100)), third!.insert(jobs(1))];
    // They have given up waiting again and again, so all go the careful way.
    await expect.poll(() => locked, { timeout: 15_000 }).toBeGreaterThanOrEqual(3 * calls.length);
    await release();
    const kinds = (await Promise.all(calls)).flat().map(({ kind }) => kind);
    expect(kinds).toEqual(Array.from({ length: 201 }, () => "created"));
  });

  test("does not put the other queues of a batch on the careful way for good", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    const client = await connected();
    await client.query("set track_functions = 'pl'");
    await client.query(`alter database "${client.database}" set track_functions = 'pl'`);
    onTestFinished(async () => void (await client.query(`alter database "${client.database}" reset track_functions`)));
    const store = await openStoreOn(url);
    await store.configure("small", { capacity: 5 });
    await store.insert([jobOf({ queue: "small" }), jobOf({ queue: "free" })]);
    await store.insert([jobOf({ queue: "free" })]);
    // Sessions tell what they did when they end.
    await store.close();
    const [admit, enqueue] = [`admit_${FUNCTIONS.digest}`, `enqueue_${FUNCTIONS.digest}`];
    const calls = `select funcname, calls::int from pg_stat_user_functions where schemaname = $1 and funcname in ('${admit}', '${enqueue}') order by 1`;
    await expect
      .poll(async () => (await client.query({ text: calls, values: [s], rowMode: "array" })).rows, { timeout: 15_000 })
      .toEqual([
        [admit, 1],
        [enqueue, 2],
      ]);
  });
});

describe("what a caller's transaction brings", () => {
  test("is folded although nobody but such callers writes", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    const store = await openStoreOn(url);
    const client = await connected();
    for (let time = 0; time < 3; time++) {
      await client.query("begin");
      await store.within(client)!.insert(jobs(1));
      await client.query("commit");
    }
    const unfolded = `select count(*)::int as rows from ${s}.delta`;
    await expect.poll(async () => (await client.query(unfolded)).rows, { timeout: 15_000 }).toEqual([{ rows: 0 }]);
    expect((await store.queues())[0]!.counts).toMatchObject([{ status: "pending", count: 3 }]);
  });

  test("is rung for once it is committed, not before and not when it is rolled back, without a notification in the transaction", async () => {
    const url = freshUrl(server());
    const store = await openStoreOn(url);
    // A hint may come twice: from this process, and by the server.
    const rung = new Set<string>();
    onTestFinished(store.watch((hint) => void (hint.topic === "work" && rung.add(hint.queue))));
    const listener = await connected();
    const notified: string[] = [];
    listener.on("notification", ({ payload = "" }) => void notified.push(payload));
    await listener.query(`listen "${schemaOf(url)}"`);
    const client = await connected();
    for (const [queue, end] of [
      ["gone", "rollback"],
      ["kept", "commit"],
    ] as const) {
      await client.query("begin");
      await store.within(client)!.insert([jobOf({ queue })]);
      expect([...rung]).toEqual([]);
      await client.query(end);
    }
    await expect.poll(() => [...rung]).toEqual(["kept"]);
    await expect.poll(() => notified.some((payload) => payload.includes("kept"))).toBe(true);
    expect(notified.filter((payload) => payload.startsWith("-"))).toEqual([]);
  });
});

describe("under a transaction that is kept open", () => {
  test("promoting from a floor reads none of what was promoted before", async () => {
    const url = freshUrl(server());
    const s = schemaOf(url);
    let now = Date.now();
    const store = await openStoreOn(url, { testTime: () => now });
    await store.insert(Array.from({ length: 1_000 }, () => jobOf({ delay: 1_000 })));
    await store.insert(Array.from({ length: 500 }, () => jobOf({ delay: 60_000 })));
    const open = await connected();
    await open.query("begin isolation level repeatable read");
    await open.query(`select count(*) from ${s}.due`);
    now += 2_000;
    expect(await store.promote(1_000)).toMatchObject({ moved: 1_000 });
    const client = await connected();
    const read = `select pg_stat_get_xact_tuples_returned('${s}.due_time'::regclass)::int as read`;
    const entriesRead = async (floor: number | null): Promise<number> => {
      await client.query("begin");
      const before = await client.query<{ read: number }>(read);
      await client.query(`select ${s}.promote_${FUNCTIONS.digest}($1, 10, $2, false)`, [now, floor]);
      const after = await client.query<{ read: number }>(read);
      await client.query("rollback");
      return after.rows[0]!.read - before.rows[0]!.read;
    };
    expect(await entriesRead(null)).toBeGreaterThanOrEqual(1_000);
    expect(await entriesRead(now - 500)).toBeLessThan(20);
    await open.query("rollback");
  });
});
