import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { settle } from "../../../../src/core/lifecycle.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import { openPostgresStore } from "../../../../src/store/postgres/postgres-store.ts";
import type { Settlement } from "../../../../src/store/store.ts";
import { startPostgres } from "../../../servers/postgres.ts";
import { claimOf, freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

/** Cuts every connection of Millrace on the server, again and again, until it is told to stop. */
function cutConnections(): { readonly stop: () => Promise<void>; readonly cuts: () => number } {
  const stop = new AbortController();
  let cuts = 0;
  const cutting = (async () => {
    const client = new pg.Client({ connectionString: server().url });
    await client.connect();
    while (!stop.signal.aborted) {
      const cut = await client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'millrace'");
      cuts += cut.rowCount ?? 0;
      // A new connection must live long enough on a busy machine to plan what it is asked.
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 300));
    }
    await client.end();
  })();
  const end = async (): Promise<void> => {
    stop.abort();
    await cutting;
  };
  onTestFinished(end);
  return { stop: end, cuts: () => cuts };
}

describe("connections that are cut all the time", () => {
  test("lose no job and double none: each insert is answered, each job is claimed and completed once", { timeout: 120_000 }, async () => {
    const store = await openStoreOn(freshUrl(server()), { deadlineMs: 30_000 });
    await store.configure("default", { paused: false });
    const { stop } = cutConnections();
    const jobs = Array.from({ length: 2_000 }, () => jobOf());
    for (let from = 0; from < jobs.length; from += 100) {
      const halves = [jobs.slice(from, from + 50), jobs.slice(from + 50, from + 100)];
      const answers = await Promise.all(halves.map((half) => store.insert(half)));
      expect(answers.flat().filter(({ kind }) => kind !== "created")).toEqual([]);
    }

    const granted: string[] = [];
    let turn = 0;
    for (let settlements: Settlement[] = []; granted.length < jobs.length || settlements.length > 0;) {
      const { settled, claimed } = await store.exchange(settlements, [claimOf({ limit: 20, turn: ++turn })]);
      expect(settled).toEqual(settlements.map(() => "ok"));
      granted.push(...claimed[0]!.map(({ id }) => id));
      settlements = claimed[0]!.map((lease) => ({
        id: lease.id,
        fence: lease.fence,
        outcome: "completed",
        ifExpired: false,
        transition: settle(lease, { kind: "completed", result: null, runMs: 1 }, lease, 0.5),
      }));
    }
    await stop();
    expect(new Set(granted)).toEqual(new Set(jobs.map(({ id }) => id)));
    expect(granted).toHaveLength(jobs.length);
    const [queue] = await store.queues();
    expect(queue!.counts).toEqual([{ status: "completed", level: "default", count: jobs.length }]);
    const { rows } = await store.counters({ step: "all" });
    expect(rows[0]!.counts).toMatchObject({ enqueued: jobs.length, completed: jobs.length });
  });

  test("cost a watcher no more than a moment: the line listens again", async () => {
    const url = freshUrl(server());
    const [here, there] = [await openStoreOn(url), await openStoreOn(url)];
    const heard: string[] = [];
    there.watch((hint) => heard.push(hint.topic === "work" ? `work ${hint.queue}` : hint.topic));
    const { stop, cuts } = cutConnections();
    while (cuts() < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    await stop();
    await here.insert([jobOf({ queue: "mail" })]);
    while (!heard.includes("work mail")) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});

describe("a server that is away", () => {
  test("at the start: the store opens when it comes, and fails with store_unavailable when it does not", async () => {
    await expect(openPostgresStore("postgres://postgres@127.0.0.1:1/app", { clock: systemClock, deadlineMs: 300 })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("127.0.0.1:1/app") as string,
    });
  });

  test("and comes back: calls wait, and what was answered is still there", async () => {
    const own = await startPostgres({ fsync: true });
    onTestFinished(() => own.stop());
    const store = await openStoreOn(freshUrl(own), { deadlineMs: 20_000 });
    const jobs = [jobOf(), jobOf()];
    await store.insert([jobs[0]!]);
    const crashing = own.crash();
    const inserting = store.insert([jobs[1]!]);
    await crashing;
    expect(await inserting).toMatchObject([{ kind: "created" }]);
    expect((await store.find(jobs.map(({ id }) => id))).map((job) => job?.status)).toEqual(["pending", "pending"]);
  });

  test("for good: a call fails at its deadline, and the store can still be closed", async () => {
    const own = await startPostgres();
    const store = await openPostgresStore(freshUrl(own), { clock: systemClock, deadlineMs: 400 });
    const stop = store.watch(() => {});
    await own.stop();
    await expect(store.insert([jobOf()])).rejects.toMatchObject({ code: "store_unavailable" });
    stop();
    await store.close();
  });
});

describe("a pooler that hands connections from one to the next", () => {
  test("may lose what was prepared: the call is sent again without", async () => {
    const clients: pg.PoolClient[] = [];
    class WatchedPool extends pg.Pool {
      constructor(options: pg.PoolConfig) {
        super(options);
        this.on("connect", (client) => clients.push(client));
      }
    }
    const driver = { Client: pg.Client, Pool: WatchedPool } as unknown as Driver;
    const store = await openStoreOn(freshUrl(server()), { driver, poolSize: 1 });
    await store.insert([jobOf()]);
    for (const client of clients) await client.query("deallocate all");
    expect(await store.insert([jobOf()])).toMatchObject([{ kind: "created" }]);
    expect((await store.exchange([], [claimOf()])).claimed[0]).toHaveLength(2);
  });
});
