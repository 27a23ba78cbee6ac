import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { JOB_DEFAULTS, createJob } from "../../../../src/core/job-options.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { BUSY_TIMEOUT_MS, openDatabase } from "../../../../src/store/sqlite/database.ts";
import { storeOver } from "../../../../src/store/sqlite/sqlite-store.ts";
import type { Claim, Store } from "../../../../src/store/store.ts";
import { temporaryFile } from "./temporary-file.ts";

const newId = idMaker(() => Date.now());
const newJob = (payload: unknown = null): ReturnType<typeof createJob> =>
  createJob(newId(partitionOf("default")), "t", payload, JOB_DEFAULTS);

async function open(deadlineMs = 10_000, onLocked?: () => void): Promise<{ store: Store; db: DatabaseSync; other: DatabaseSync }> {
  const path = temporaryFile();
  const { db, release } = await openDatabase({ path, synchronous: "full", sqliteVersion: "3.53.0" });
  const store = storeOver({ db, isGiven: false, path, clock: systemClock, deadlineMs, fullSync: true, shareable: true, release, onLocked });
  const other = new DatabaseSync(path);
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  return { store, db, other };
}

const commitsOf = (db: DatabaseSync): number => Number(db.prepare("pragma data_version").get()?.["data_version"]);

describe("group commit", () => {
  test("what is asked for in one tick is one transaction", async () => {
    const { store, other } = await open();
    const before = commitsOf(other);
    await Promise.all([store.insert([newJob()]), store.insert([newJob()]), store.configure("q", { capacity: 5 }), store.promote(10)]);
    // data_version rises once for each commit of another connection that was seen.
    expect(commitsOf(other)).toBe(before + 1);
    expect(other.prepare("select count(*) as jobs from millrace_job").get()).toEqual({ jobs: 2 });
  });

  test("a piece of work that fails fails alone, and leaves nothing", async () => {
    const { store, other } = await open();
    const bad = { ...newJob(), payload: Symbol("not text") as unknown as string };
    const results = await Promise.allSettled([store.insert([newJob()]), store.insert([newJob(), bad]), store.insert([newJob()])]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(other.prepare("select count(*) as jobs from millrace_job").get()).toEqual({ jobs: 2 });
    expect((await store.queues())[0]?.counts).toEqual([{ status: "pending", level: "default", count: 2 }]);
  });
});

describe("a worker that hears of an insert", () => {
  const claim: Claim = { workerId: "w", queues: ["default"], types: "*", limit: 9, leaseMs: 30_000, turn: 1, again: false, local: true };

  test("claims in the transaction of the insert, and needs no second hint", async () => {
    const { store, other } = await open();
    await store.insert([newJob()]);
    const before = commitsOf(other);
    const claims: ReturnType<Store["exchange"]>[] = [];
    store.watch(() => claims.push(store.exchange([], [claim])));
    const job = newJob();
    const [answer] = await store.insert([job]);
    expect(answer).toMatchObject({ kind: "created", status: "pending" });
    const [answered] = await Promise.all(claims);
    expect(answered!.claimed[0]!.map(({ id }) => id)).toContain(job.id);
    expect(claims).toHaveLength(1);
    expect(commitsOf(other)).toBe(before + 1);
  });

  test("hears of it again if it had to wait for the file, or if the queue is new", async () => {
    const locked = Promise.withResolvers<void>();
    const { store, other } = await open(10_000, locked.resolve);
    let hints = 0;
    store.watch(() => hints++);
    await store.insert([newJob()]);
    expect(hints).toBe(1);
    other.exec("begin immediate");
    const inserted = store.insert([newJob()]);
    await locked.promise;
    expect(hints).toBe(2);
    other.exec("rollback");
    await inserted;
    expect(hints).toBe(3);
  });
});

test("what a listener asks for when a commit rings it is done in the next tick, not with the next write", async () => {
  const { store } = await open();
  const asked = Promise.withResolvers<unknown>();
  store.watch(() => asked.resolve(store.promote(1)));
  await store.insert([newJob()]);
  expect(await asked.promise).toEqual({ moved: 0, nextInMs: null });
});

describe("the disk", () => {
  const levelOf = (db: DatabaseSync): unknown => db.prepare("pragma synchronous").get()?.["synchronous"];

  test("is waited for again after a soft write that failed, whose error is its own", async () => {
    const { store, db } = await open();
    await store.promote(1);
    expect(levelOf(db)).toBe(1);
    const bad = [{ id: newJob().id, fence: 1, leaseMs: Number.NaN }] as const;
    const error: unknown = await store.register({ id: Symbol("not text") } as never, 1).catch((failure: unknown) => failure);
    expect(String(error)).not.toContain("Safety level");
    await store.extend(bad).catch(() => {});
    await store.insert([newJob()]);
    expect(levelOf(db)).toBe(2);
  });
});

test("a call that follows an answer while the store closes is refused, and nothing is thrown into the void", async () => {
  const path = temporaryFile();
  const { db, release } = await openDatabase({ path, synchronous: "full", sqliteVersion: "3.53.0" });
  const store = storeOver({ db, isGiven: false, path, clock: systemClock, deadlineMs: 1000, fullSync: true, shareable: true, release });
  const second = store.configure("q", {}).then(() => store.configure("q", {}));
  await store.close();
  await expect(second).rejects.toMatchObject({ code: "closed" });
});

test("more than 10,000 calls do not wait: the next is refused at once", async () => {
  const { store, other } = await open();
  other.exec("begin immediate");
  const waiting = Array.from({ length: 10_000 }, () => store.promote(1));
  await expect(store.promote(1)).rejects.toMatchObject({ code: "store_unavailable" });
  other.exec("rollback");
  await Promise.all(waiting);
});

describe("while another process holds the write lock", () => {
  test("the event loop goes on, and the work is done once the lock is free", async () => {
    expect(BUSY_TIMEOUT_MS).toBeLessThanOrEqual(100);
    const { store, other } = await open();
    other.exec("begin immediate");
    const insert = store.insert([newJob()]);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
    other.exec("rollback");
    expect((await insert)[0]).toMatchObject({ kind: "created" });
  });

  test("a call fails with store_unavailable at its deadline, and has changed nothing", async () => {
    const { store, other } = await open(30);
    other.exec("begin immediate");
    await expect(store.insert([newJob()])).rejects.toMatchObject({ code: "store_unavailable" });
    other.exec("rollback");
    expect(other.prepare("select count(*) as jobs from millrace_job").get()).toEqual({ jobs: 0 });
    expect((await store.insert([newJob()]))[0]).toMatchObject({ kind: "created" });
  });

  test("jobs can be read", async () => {
    const { store, other } = await open();
    const job = newJob({ a: 1 });
    await store.insert([job]);
    other.exec("begin immediate");
    expect((await store.find([job.id]))[0]?.payload).toBe('{"a":1}');
    other.exec("rollback");
  });
});

describe("a full disk", () => {
  test("refuses the insert with store_full, keeps what was accepted, and goes on when there is space", async () => {
    const { store, db } = await open();
    const accepted = newJob("before");
    await store.insert([accepted]);
    const pages = Number(db.prepare("pragma page_count").get()?.["page_count"]);
    db.exec(`pragma max_page_count = ${pages + 2}`);
    await expect(store.insert([newJob("x".repeat(100_000))])).rejects.toMatchObject({ code: "store_full" });
    db.exec("pragma max_page_count = 1000000");
    expect((await store.insert([newJob("after")]))[0]).toMatchObject({ kind: "created" });
    expect((await store.find([accepted.id]))[0]?.payload).toBe('"before"');
    expect((await store.queues())[0]?.counts).toEqual([{ status: "pending", level: "default", count: 2 }]);
    expect(db.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  });
});

test("a store that is closed gives up, when it is told to, what waits for a file that stays locked", async () => {
  const { store, other } = await open();
  other.exec("begin immediate");
  const inserting = store.insert([newJob()]).catch((error: unknown) => error);
  const giveUp = new AbortController();
  const closing = store.close(giveUp.signal);
  giveUp.abort();
  await closing;
  expect(await inserting).toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("when the client was closed") as string,
  });
  other.exec("commit");
  expect(other.prepare("select count(*) as jobs from millrace_job").get()).toEqual({ jobs: 0 });
});
