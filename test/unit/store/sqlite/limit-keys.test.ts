/** What limits leave in the file, and that nothing is stranded there. test/conformance proves what they do. */
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createJob, JOB_DEFAULTS } from "../../../../src/core/job-options.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { CANCEL, type Outcome, RETRY, settle } from "../../../../src/core/lifecycle.ts";
import { type LimitOptions, readLimits } from "../../../../src/core/limits.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { keyedLane } from "../../../../src/store/sqlite/lane-numbers.ts";
import { PLACE } from "../../../../src/store/sqlite/line-numbers.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
import type { LeasedRecord, Settlement, Store } from "../../../../src/store/store.ts";
import { STATE } from "../../../../src/store/numbers.ts";
import { TestClock } from "../../../conformance/harness.ts";
import { temporaryFile } from "./temporary-file.ts";

const newId = idMaker(() => Date.now());
const LEASE_MS = 60_000;
const KEEP = { minutesMs: 60_000, hoursMs: 3_600_000 };

function jobOf(limitKey: string | null, more: Partial<NewJob> = {}, type = "t"): NewJob {
  return { ...createJob(newId(partitionOf("default")), type, null, JOB_DEFAULTS), limitKey, ...more };
}

interface World {
  readonly path: string;
  readonly clock: TestClock;
  readonly store: Store;
  readonly db: DatabaseSync;
}

async function open(limits: LimitOptions | null = null): Promise<World> {
  const path = temporaryFile();
  const clock = new TestClock();
  const store = await openSqliteStore(`sqlite:${path}`, { clock, deadlineMs: 1000 });
  const db = new DatabaseSync(path);
  onTestFinished(async () => {
    db.close();
    await store.close();
  });
  if (limits !== null) await store.configure("default", { limits: readLimits(limits) });
  return { path, clock, store, db };
}

async function claim(store: Store, limit = 100): Promise<LeasedRecord[]> {
  const wanted = { workerId: "w", queues: ["default"], types: "*", limit, leaseMs: LEASE_MS, turn: 0, again: false, local: true } as const;
  return (await store.exchange([], [wanted])).claimed[0]!;
}

const COMPLETED: Outcome = { kind: "completed", result: null, runMs: 1 };

function settlementOf(lease: LeasedRecord, outcome: Outcome): Settlement {
  const policy = { deadLetters: true };
  return { id: lease.id, fence: lease.fence, outcome: outcome.kind, transition: settle(lease, outcome, policy, 0.5), ifExpired: false };
}

async function end(store: Store, lease: LeasedRecord, outcome: Outcome = COMPLETED): Promise<void> {
  expect((await store.exchange([settlementOf(lease, outcome)], [])).settled).toEqual(["ok"]);
}

function count(db: DatabaseSync, what: string): number {
  return Number(Object.values(db.prepare(`select count(*) from ${what}`).get()!)[0]);
}

test("jobs without a key leave nothing in the tables of keys, and their queue stays unmarked", async () => {
  const { store, db } = await open();
  await store.insert([jobOf(null), jobOf(null)]);
  for (const lease of await claim(store)) await end(store, lease);
  expect(["limit_key", "line", "ring", "queue_rate"].map((table) => count(db, `millrace_${table}`))).toEqual([0, 0, 0, 0]);
  expect(count(db, "millrace_queue where keyed <> 0")).toBe(0);
  expect(count(db, "millrace_job where line is not null")).toBe(0);
});

test("a sweep drops what is remembered of keys without jobs, and jobs that come later find their way", async () => {
  const { store, db, clock } = await open({ perKey: { running: 1 } });
  const [first, dead] = [jobOf("a"), jobOf("b", { maxRetries: 0 })];
  await store.insert([first, dead, jobOf("c", { delayMs: 10_000 })]);
  const leases = await claim(store);
  expect((await store.sweep(KEEP, 100)).removed).toBe(0);
  await end(
    store,
    leases.find(({ id }) => id === first.id)!,
  );
  const error = { name: "Error", message: "no", stack: null } as never;
  await end(
    store,
    leases.find(({ id }) => id === dead.id)!,
    { kind: "discard", error, runMs: 1 },
  );
  await store.sweep(KEEP, 100);
  expect(db.prepare("select key from millrace_limit_key").all()).toEqual([{ key: "c" }]);
  expect(await store.change([dead.id], RETRY)).toMatchObject([{ kind: "ok" }]);
  clock.advance(10_000);
  await store.promote(10);
  await store.insert([jobOf("a")]);
  const again = await claim(store);
  expect(new Set(again.map(({ limitKey }) => limitKey))).toEqual(new Set(["a", "b", "c"]));
  for (const lease of again) await end(store, lease);
  await store.sweep(KEEP, 100);
  expect(["limit_key", "line", "ring"].map((table) => count(db, `millrace_${table}`))).toEqual([0, 0, 0]);
  expect(count(db, "millrace_queue where keyed & 3 <> 0")).toBe(0);
});

test("a sweep goes on where the last one stopped, and looks at every key in the end", async () => {
  const { store, db } = await open();
  await store.insert(Array.from({ length: 25 }, (_, key) => jobOf(`k${key}`)));
  for (const lease of await claim(store)) await end(store, lease);
  await store.insert([jobOf("k3", { delayMs: 10_000 })]);
  for (let sweeps = 0; sweeps < 10; sweeps++) await store.sweep(KEEP, 4);
  expect(db.prepare("select key from millrace_limit_key").all()).toEqual([{ key: "k3" }]);
});

test("a job that comes after the claim that emptied its line is not stranded, also in one transaction", async () => {
  const { store } = await open();
  const [inserted, claimed, later] = await Promise.all([
    store.insert([jobOf("k")]),
    claim(store),
    store.insert([jobOf("k")]),
    store.insert([jobOf("k")]),
  ]);
  expect([inserted, later].flat().map(({ kind }) => kind)).toEqual(["created", "created"]);
  expect(claimed).toHaveLength(1);
  expect(await claim(store)).toHaveLength(2);
});

test("a lease that another process granted gives its place back, by the fast end and by the slow one", async () => {
  const { store, path, clock } = await open({ perKey: { running: 1 } });
  const other = await openSqliteStore(`sqlite:${path}`, { clock, deadlineMs: 1000 });
  await store.insert([jobOf("k"), jobOf("k"), jobOf("k")]);
  const [first] = await claim(store);
  expect(await claim(other)).toEqual([]);
  await end(other, first!);
  const [second] = await claim(other);
  await end(store, second!, { kind: "release" });
  expect(await claim(store)).toHaveLength(1);
  await other.close();
});

test("inside a caller's transaction a place comes back with its commit, and not with its rollback", async () => {
  const { store, db } = await open({ perKey: { running: 1, waiting: 2 } });
  await store.insert([jobOf("k"), jobOf("k")]);
  const [lease] = await claim(store);
  db.exec("begin immediate");
  expect(await store.within(db)!.insert([jobOf("k"), jobOf("k"), jobOf("new")])).toMatchObject([
    { kind: "created" },
    { kind: "full", capacity: 2, limitKey: "k" },
    { kind: "created" },
  ]);
  expect(await store.within(db)!.settle([settlementOf(lease!, COMPLETED)])).toEqual(["ok"]);
  db.exec("rollback");
  expect(await claim(store)).toEqual([]);
  expect(count(db, "millrace_limit_key where key = 'new'")).toBe(0);
  db.exec("begin immediate");
  await store.within(db)!.settle([settlementOf(lease!, COMPLETED)]);
  await store.within(db)!.insert([jobOf("new")]);
  db.exec("commit");
  expect(new Set((await claim(store)).map(({ limitKey }) => limitKey))).toEqual(new Set(["k", "new"]));
});

test("an end rings only where something waited for it", async () => {
  const { store } = await open({ running: 10, perKey: { running: 1 } });
  const hints: string[] = [];
  await store.insert([jobOf("a"), jobOf("b"), jobOf("b"), jobOf(null)]);
  const leases = await claim(store);
  expect(leases).toHaveLength(3);
  onTestFinished(store.watch(({ topic }) => hints.push(topic)));
  const of = (key: string | null): LeasedRecord => leases.find(({ limitKey }) => limitKey === key)!;
  await end(store, of("a"));
  await end(store, of(null));
  expect(hints).toEqual([]);
  await end(store, of("b"));
  expect(hints).toEqual(["work"]);
});

/** A small generator, so that a failure can be tried again. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test.each([1, 2, 3])("after any mixture of calls every pending job stands in a line that a claim can find (seed %d)", async (seed) => {
  const random = randomFrom(seed);
  const { store, db, clock } = await open({ running: 12, perKey: { running: 2, rate: "50/s", burst: 5, waiting: 15 } });
  const ids: string[] = [];
  const leases: LeasedRecord[] = [];
  const steps: (() => Promise<unknown>)[] = [
    async () => {
      const jobs = Array.from({ length: 1 + random(8) }, () => {
        const key = random(5) === 0 ? null : `k${random(4)}`;
        return jobOf(key, { priority: random(3), delayMs: random(3) === 0 ? random(500) : 0, cost: 1 + random(3) }, `t${random(2)}`);
      });
      await store.insert(jobs);
      ids.push(...jobs.map(({ id }) => id));
    },
    async () => leases.push(...(await claim(store, 1 + random(6)))),
    async () => {
      const outcomes: Outcome[] = [
        COMPLETED,
        { kind: "release" },
        { kind: "snooze", delayMs: 100 },
        { kind: "hold", delayMs: 50 },
        { kind: "lost" },
      ];
      const some = leases.splice(0, 1 + random(4));
      const settlements = some.map((lease) => ({ ...settlementOf(lease, outcomes[random(outcomes.length)]!), spend: random(3) }));
      await store.exchange(
        settlements.map((one) => (one.outcome === "hold" ? { ...one, holdMs: 50 } : one)),
        [],
      );
    },
    () => store.change([ids[random(ids.length)]!, ids[random(ids.length)]!], random(2) === 0 ? CANCEL : RETRY),
    () => store.promote(10),
    () => store.sweep(KEEP, 5),
    () => store.configure("default", { limits: readLimits({ running: 12, perKey: { running: 1 + random(3), waiting: 15 } }) }),
    async () => clock.advance(random(100)),
  ];
  await steps[0]!();
  for (let step = 0; step < 400; step++) {
    await steps[random(steps.length)]!();
    expectSound(db);
  }
});

/** What has to hold between any two transactions. */
function expectSound(db: DatabaseSync): void {
  const inLine = `millrace_job j left join millrace_line l on l.id = j.line left join millrace_limit_key k on k.id = l.limit_key`;
  const isKeyed = `j.lane < 0 and j.state <= ${STATE.running}`;
  const isOther = `l.lane is null or l.priority <> j.priority or k.key <> json_extract(j.extra, '$.limitKey') or j.lane <> ${keyedLane(0)} - l.lane`;
  expect(count(db, `${inLine} where ${isKeyed} and (${isOther})`), "jobs in a line of others, or in none").toBe(0);
  const pending = `exists (select 1 from millrace_job j where j.line = l.id and j.state = ${STATE.pending})`;
  expect(count(db, `millrace_line l where l.place = ${PLACE.empty} and ${pending}`), "lines with jobs that count as empty").toBe(0);
  const leased = `exists (select 1 from millrace_line o join millrace_job j on j.line = o.id where o.limit_key = l.limit_key and j.state = ${STATE.running})`;
  expect(count(db, `millrace_line l where l.place = ${PLACE.parked} and not ${leased}`), "parked lines without a lease").toBe(0);
  const waiting = `(select count(*) from millrace_line o join millrace_job j on j.line = o.id where o.limit_key = k.id and j.state < ${STATE.running})`;
  expect(count(db, `millrace_limit_key k where k.waiting <> ${waiting}`), "keys whose waiting jobs are miscounted").toBe(0);
  const ring = `exists (select 1 from millrace_ring r where r.queue = l.queue and r.lane = l.lane and r.priority = l.priority)`;
  expect(count(db, `millrace_line l where not ${ring}`), "lines without a ring").toBe(0);
}
