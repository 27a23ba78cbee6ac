import pg from "pg";
import { expect, test } from "vitest";
import { readLimits } from "../../../../src/core/limits.ts";
import type { Settlement, Store } from "../../../../src/store/store.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/url.ts";
import { settlementOf } from "../../../conformance/world.ts";
import { claimOf, connectedTo, freshUrl, jobOf, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

/**
 * Producers in their own and in callers' transactions, some of which are killed, race with claimers, while somebody takes snapshots. At no time
 * has a key more leases than it may have, and each waiting job has a turn, a recheck, or a key that stands aside. At the end none is left.
 */
const server = serverOfThisFile();

const KEYS = 12;
const CAP = 2;
const JOBS_OF_PRODUCER = 300;
const TYPES = ["a", "b"] as const;

const keyedJob = (number: number) =>
  jobOf({ limitKey: `k${number % KEYS}`, priority: number % 5 === 0 ? 10 : 0 }, TYPES[number % 3 === 0 ? 1 : 0]);

async function produce(store: Store): Promise<number> {
  for (let number = 0; number < JOBS_OF_PRODUCER; number += 3) {
    const answers = await store.insert([keyedJob(number), keyedJob(number + 1), keyedJob(number + 2)]);
    expect(answers.every(({ kind }) => kind === "created")).toBe(true);
  }
  return JOBS_OF_PRODUCER;
}

/** Enqueues in transactions of the caller. Every fourth client is killed in the middle. Answers how many jobs were committed. */
async function produceWithin(store: Store, connectionString: string): Promise<number> {
  let committed = 0;
  for (let number = 0; number < JOBS_OF_PRODUCER / 5; number++) {
    const client = new pg.Client({ connectionString });
    client.on("error", () => {});
    await client.connect();
    await client.query("begin");
    await store.within(client)!.insert([keyedJob(number)]);
    if (number % 4 === 3) {
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      continue;
    }
    await client.query(number % 7 === 6 ? "rollback" : "commit");
    if (number % 7 !== 6) committed++;
    await client.end();
  }
  return committed;
}

/** Claims and settles until told to stop. Some are given back, some in a transaction of the caller. */
async function work(store: Store, worker: string, connectionString: string, over: { stop: boolean; done: number }): Promise<void> {
  let reports: Settlement[] = [];
  const client = new pg.Client({ connectionString });
  await client.connect();
  for (let turn = 1; !over.stop || reports.length > 0; turn++) {
    const limit = over.stop ? 0 : 1 + (turn % 7);
    const { settled, claimed } = await store.exchange(
      reports,
      limit === 0 ? [] : [claimOf({ workerId: worker, turn, limit, types: [...TYPES] })],
    );
    expect(settled.every((answer) => answer === "ok")).toBe(true);
    over.done += reports.filter(({ outcome }) => outcome === "completed").length;
    const leases = claimed[0] ?? [];
    const [inTransaction, ...others] = leases;
    reports = others.map((lease, index) =>
      settlementOf(lease, index % 9 === 8 ? { kind: "release" } : { kind: "completed", result: null, runMs: 1 }),
    );
    if (inTransaction === undefined) continue;
    await client.query("begin");
    expect(await store.within(client)!.settle([settlementOf(inTransaction, { kind: "completed", result: null, runMs: 1 })])).toEqual([
      "ok",
    ]);
    await client.query("commit");
    over.done++;
  }
  await client.end();
}

/** What one snapshot must never show. */
const violations = (s: string): string => `
  select 'above its cap' as what, h.key, count(*) from ${s}.limit_holding h group by h.key having count(*) > ${CAP}
  union all select 'running without a holding', null, count(*) from ${s}.running r where not exists (select from ${s}.limit_holding h where h.id = r.id) having count(*) > 0
  union all select 'holding without a lease', null, count(*) from ${s}.limit_holding h where not exists (select from ${s}.running r where r.id = h.id) having count(*) > 0
  union all select 'pending and not in line', null, count(*) from ${s}.ready r where r.lane < 0 and not exists (select from ${s}.limit_lined d where d.id = r.id) having count(*) > 0
  union all select 'in line and not pending', null, count(*) from ${s}.limit_lined d where not exists (select from ${s}.ready r where r.id = d.id) having count(*) > 0
  union all select 'waits in vain', d.key, count(*) from ${s}.limit_lined d
    left join ${s}.limit_line l on l.lane = d.lane and l.key = d.key
    where coalesce(l.place, 0) <> 1
      and not exists (select from ${s}.limit_recheck k where k.key = d.key and (k.lane is null or k.lane = d.lane))
      and not (l.place = 2 and (select count(*) from ${s}.limit_holding h where h.key = d.key) >= ${CAP})
    group by d.key`;

test("racing producers, killed clients and claimers: no key is ever above its cap, and no job waits in vain", async () => {
  const url = freshUrl(server());
  const { connectionString } = parsePostgresUrl(url);
  const stores = await Promise.all([openStoreOn(url), openStoreOn(url), openStoreOn(url)]);
  await stores[0].configure("default", { limits: readLimits({ perKey: { running: CAP } }) });
  const over = { stop: false, done: 0 };
  const watcher = await connectedTo(server());
  let snapshots = 0;
  const watching = (async () => {
    while (!over.stop) {
      const { rows } = await watcher.query(violations(schemaOf(url)));
      expect(rows).toEqual([]);
      snapshots++;
    }
  })();
  const workers = stores.flatMap((store, number) => [0, 1].map((nth) => work(store, `w${number}${nth}`, connectionString, over)));
  const made = await Promise.all([
    ...stores.map((store) => produce(store)),
    ...stores.map((store) => produceWithin(store, connectionString)),
  ]);
  const all = made.reduce((sum, some) => sum + some, 0);
  await expect.poll(() => over.done, { timeout: 30_000 }).toBe(all);
  over.stop = true;
  await Promise.all([...workers, watching]);
  expect(snapshots).toBeGreaterThan(10);
  expect((await stores[0].busiestKeys("default", 10)).length).toBe(0);
}, 60_000);
