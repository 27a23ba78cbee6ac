/** What durable work leaves in the file, and which processes hear of it. test/conformance proves what it does. */
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { createJob, JOB_DEFAULTS } from "../../../../src/core/job-options.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { CANCEL, type Outcome, RESTART, RETRY, settle } from "../../../../src/core/lifecycle.ts";
import { readLimits } from "../../../../src/core/limits.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import type { NewStep, Notice } from "../../../../src/core/steps.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
import type { Hint, LeasedRecord, Settlement, Store } from "../../../../src/store/store.ts";
import { TestClock } from "../../../conformance/harness.ts";
import { temporaryFile } from "./temporary-file.ts";

const newId = idMaker(() => Date.now());

const jobOf = (more: Partial<NewJob> = {}): NewJob => ({
  ...createJob(newId(partitionOf("default")), "t", null, JOB_DEFAULTS),
  ...more,
});

const stepOf = (name: string, more: Partial<NewStep> = {}): NewStep => {
  return { name, kind: "step", state: "done", value: "1", untilMs: null, detail: null, ...more };
};

const signalWait = (name: string, untilMs: number | null): NewStep => stepOf(name, { kind: "wait", state: "open", value: null, untilMs });

interface World {
  readonly path: string;
  readonly clock: TestClock;
  readonly store: Store;
  readonly db: DatabaseSync;
}

async function openStore(path: string, clock: TestClock): Promise<Store> {
  const store = await openSqliteStore(`sqlite:${path}`, { clock, deadlineMs: 1000 });
  onTestFinished(() => store.close());
  return store;
}

async function open(): Promise<World> {
  const path = temporaryFile();
  const clock = new TestClock();
  const store = await openStore(path, clock);
  const db = new DatabaseSync(path);
  onTestFinished(() => db.close());
  return { path, clock, store, db };
}

async function claim(store: Store): Promise<{ jobs: LeasedRecord[]; againInMs: number | null }> {
  const wanted = {
    workerId: "w",
    queues: ["default"],
    types: "*",
    limit: 10,
    leaseMs: 60_000,
    turn: 0,
    again: false,
    local: true,
  } as const;
  const { claimed, againInMs } = await store.exchange([], [wanted]);
  return { jobs: claimed[0]!, againInMs: againInMs?.[0] ?? null };
}

async function running(store: Store, more: Partial<NewJob> = {}): Promise<LeasedRecord> {
  await store.insert([jobOf(more)]);
  return (await claim(store)).jobs[0]!;
}

function settlementOf(lease: LeasedRecord, outcome: Outcome, more: Partial<Settlement> = {}): Settlement {
  const transition = settle(lease, outcome, { deadLetters: true }, 0.5);
  const { waits } = outcome.kind === "suspend" ? outcome : {};
  return { id: lease.id, fence: lease.fence, outcome: outcome.kind, transition, ifExpired: false, waits, ...more };
}

async function end(store: Store, settlement: Settlement): Promise<void> {
  expect((await store.exchange([settlement], [])).settled).toEqual(["ok"]);
}

const suspend = (...waits: NewStep[]): Outcome => ({ kind: "suspend", waits, calls: [] });
const COMPLETED: Outcome = { kind: "completed", result: null, runMs: 1 };
const cancelOf = (id: string): Notice => ({ kind: "cancel", id });

/** The topics that a store tells, as they come. */
function topicsOf(store: Store): Hint["topic"][] {
  const topics: Hint["topic"][] = [];
  store.watch(({ topic }) => topics.push(topic));
  return topics;
}

const countOf = (db: DatabaseSync, table: string): unknown => db.prepare(`select count(*) as count from ${table}`).get()!["count"];

test("a job that gets the sequence of a deleted one begins without the steps that an older version left there", async () => {
  const { store, db } = await open();
  const first = await running(store);
  await store.keepSteps([{ ...first, steps: [stepOf("old")] }]);
  await end(store, settlementOf(first, COMPLETED));
  // As the older version deletes it.
  db.exec("delete from millrace_job");
  const second = await running(store);
  expect((await store.readSteps(second.id, null, null))!.steps).toEqual([]);
  await store.keepSteps([{ ...second, steps: [stepOf("new")] }]);
  expect((await store.readSteps(second.id, null, null))!.steps.map(({ name }) => name)).toEqual(["new"]);
});

test("what is removed, pruned or forgotten leaves no rows", async () => {
  const { store, db, clock } = await open();
  for (const leave of [
    (id: string) => store.remove([id], ["cancelled"]),
    () => store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10),
    (id: string) => store.change([id], RESTART),
  ]) {
    const lease = await running(store);
    await store.keepSteps([{ ...lease, steps: [stepOf("a"), stepOf("b")] }]);
    expect(countOf(db, "millrace_step")).toBe(2);
    await store.change([lease.id], CANCEL);
    clock.advance(1);
    await leave(lease.id);
    expect(countOf(db, "millrace_step")).toBe(0);
  }
});

test("a job keeps its steps, its life and its parent when its payload is edited, also beside a facet with one of their names", async () => {
  const { store } = await open();
  const parent = { id: newId(partitionOf("default")), step: "call it", life: 2 };
  const lease = await running(store, { parent, facets: { steps: "x", parent: "y" } });
  expect(lease).toMatchObject({ hasSteps: false, parent });
  await store.keepSteps([{ ...lease, steps: [stepOf("a")] }]);
  await store.change([lease.id], CANCEL);
  await store.change([lease.id], { ...RESTART, edit: { payload: "2", facets: { steps: "z" } } });
  expect((await store.find([lease.id]))[0]).toMatchObject({ payload: "2", hasSteps: true, parent, facets: { steps: "z" } });
  expect(await store.readSteps(lease.id, null, null)).toMatchObject({ life: 2, steps: [] });
  await store.change([lease.id], CANCEL);
  await store.change([lease.id], { ...RETRY, edit: { payload: "3", facets: null } });
  expect((await store.find([lease.id]))[0]).toMatchObject({ payload: "3", hasSteps: true, parent, facets: null });
});

test("a facet with the name of a rare field makes no steps and no parent", async () => {
  const { store } = await open();
  const lease = await running(store, { facets: { steps: "x", parent: "y", cost: "z" } });
  expect(lease).toMatchObject({ hasSteps: false, parent: null, cost: 1 });
  expect((await store.change([lease.id], CANCEL))[0]!.kind).toBe("ok");
  expect(await store.notices(10)).toEqual([]);
});

test("a suspended job and one that waits for its time are promoted in the order of their times", async () => {
  const { store, clock } = await open();
  const leases = [await running(store), await running(store)];
  await end(store, settlementOf(leases[0]!, suspend(signalWait("s", 300))));
  await end(store, settlementOf(leases[1]!, suspend(signalWait("s", null))));
  const [early, late] = [jobOf({ delayMs: 200 }), jobOf({ delayMs: 400 })];
  await store.insert([late, early]);
  expect(await store.promote(10)).toEqual({ moved: 0, nextInMs: 200 });
  clock.advance(350);
  expect(await store.promote(1, true)).toMatchObject({ moved: 1, nextInMs: 0, jobs: [{ id: early.id }] });
  expect(await store.promote(1, true)).toMatchObject({ moved: 1, nextInMs: 50, jobs: [{ id: leases[0]!.id }] });
  clock.advance(50);
  expect(await store.promote(10, true)).toMatchObject({ moved: 1, nextInMs: null, jobs: [{ id: late.id }] });
});

test("another process hears when a suspended job is due", async () => {
  const { store, path, clock } = await open();
  const other = await openStore(path, clock);
  const hints: Hint[] = [];
  other.watch((hint) => hints.push(hint));
  await end(store, settlementOf(await running(store), suspend(signalWait("s", 5_000))));
  await vi.waitFor(() => expect(hints).toContainEqual({ topic: "due", inMs: 5_000 }));
});

test("only the process that commits notices hears of them", async () => {
  const { store, path, clock } = await open();
  const other = await openStore(path, clock);
  const [own, others] = [topicsOf(store), topicsOf(other)];
  const lease = await running(store);
  await end(store, settlementOf(lease, COMPLETED, { notice: cancelOf(lease.id) }));
  expect(own).toContain("notices");
  expect(await other.notices(10)).toMatchObject([{ notice: cancelOf(lease.id) }]);
  await store.configure("default", { capacity: 5 });
  await vi.waitFor(() => expect(others).toContain("queues"));
  expect(others).not.toContain("notices");
});

test("so does the process of a caller's transaction, once it is committed", async () => {
  const { store, path, clock, db } = await open();
  const other = await openStore(path, clock);
  const [own, others] = [topicsOf(store), topicsOf(other)];
  const lease = await running(store);
  const settlement = settlementOf(lease, COMPLETED, { notice: cancelOf(lease.id) });
  db.exec("begin immediate");
  expect(await store.within(db)!.settle([settlement])).toEqual(["ok"]);
  db.exec("rollback");
  expect(await store.notices(10)).toEqual([]);
  db.exec("begin immediate");
  expect(await store.within(db)!.settle([settlement])).toEqual(["ok"]);
  db.exec("commit");
  await vi.waitFor(() => expect(own).toContain("notices"));
  expect(await store.notices(10)).toMatchObject([{ notice: cancelOf(lease.id) }]);
  await store.configure("default", { capacity: 5 });
  await vi.waitFor(() => expect(others).toContain("queues"));
  expect(others).not.toContain("notices");
});

test("a caller's transaction suspends a job, and its rollback undoes steps and calls", async () => {
  const { store, db } = await open();
  const lease = await running(store);
  const called = jobOf({ parent: { id: lease.id, step: "c", life: 1 } });
  const wait = stepOf("c", { kind: "call", state: "open", value: null });
  const settlement = settlementOf(lease, { kind: "suspend", waits: [wait], calls: [] }, { calls: [called] });
  for (const [ending, status, steps] of [
    ["rollback", "running", []],
    ["commit", "blocked", [{ name: "c", state: "open" }]],
  ] as const) {
    db.exec("begin immediate");
    expect(await store.within(db)!.settle([settlement])).toEqual(["ok"]);
    db.exec(ending);
    expect((await store.find([lease.id]))[0]!.status).toBe(status);
    expect((await store.readSteps(lease.id, null, null))!.steps).toMatchObject(steps);
    expect((await store.find([called.id]))[0]?.parent).toEqual(ending === "commit" ? called.parent : undefined);
  }
});

test("a repeat of a settlement leaves no second notice, whichever process completed the job", async () => {
  const { store, path, clock } = await open();
  const other = await openStore(path, clock);
  for (const first of [store, other]) {
    const lease = await running(store);
    const settlement = settlementOf(lease, COMPLETED, { notice: cancelOf(lease.id) });
    await end(first, settlement);
    await end(store, settlement);
    await end(other, settlement);
    const notices = await store.notices(10);
    expect(notices.map(({ notice }) => notice)).toEqual([cancelOf(lease.id)]);
    await other.dropNotices(notices.map(({ key }) => key));
  }
});

test("the claim after a suspension takes no units: none come back if the handler never started, and a cancel changes nothing", async () => {
  const { store } = await open();
  await store.configure("default", { limits: readLimits({ rate: "1/d" }) });
  const lease = await running(store, { limitKey: "k" });
  const use = async (): Promise<unknown> => (await store.limitUse("default", []))!.rate;
  const before = await use();
  await end(store, settlementOf(lease, suspend(signalWait("s", null))));
  await store.change([lease.id], CANCEL);
  await store.change([lease.id], RETRY);
  const again = (await claim(store)).jobs[0]!;
  expect(again.id).toBe(lease.id);
  await end(store, settlementOf(again, { kind: "release" }, { unstarted: true }));
  expect(await use()).toEqual(before);
  expect(await claim(store)).toMatchObject({ jobs: [], againInMs: expect.any(Number) as number });
});
