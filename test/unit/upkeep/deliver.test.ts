/** Notices are delivered at least once, and late: what happened meanwhile counts. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { CANCEL, type Outcome } from "../../../src/core/lifecycle.ts";
import { CALLERS, MAX_STEP_BYTES, type Notice } from "../../../src/core/steps.ts";
import type { Store } from "../../../src/store/store.ts";
import type { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { deliverDuty } from "../../../src/upkeep/deliver.ts";
import { RESTS_MS } from "../../../src/upkeep/duty.ts";
import { claim, openClient } from "../client/open-client.ts";

let client: Client;
let store: Store;
let clock: VirtualClock;
let deliver: () => Promise<unknown>;

beforeEach(async () => {
  const opened = await openClient({ upkeep: false });
  ({ client, store, clock } = opened);
  const duty = deliverDuty({
    store,
    clock: opened.clock,
    random: () => 0.5,
    announce: { wanted: () => false, publish: () => {}, settled: () => {}, ended: () => {} },
    restsMs: RESTS_MS,
    beforeReclaim: async () => {},
    onLost: () => {},
    hoursMs: 0,
    isStopping: () => false,
  });
  deliver = () => duty.turn();
});

/** Claims the one pending job and reports this outcome of it. */
async function runNext(outcome: Outcome): Promise<string> {
  const [lease] = (await claim(client, 1)).jobs;
  const { job, fence, facts } = lease!;
  expect((await client.leases.exchange([{ id: job.id, fence, facts, outcome }], null)).results).toEqual(["ok"]);
  return job.id;
}

const callPart: Outcome = {
  kind: "suspend",
  waits: [{ name: "part", kind: "call", state: "open", value: null, untilMs: null, detail: null }],
  calls: [{ step: "part", type: "part", payload: "{}", options: {} }],
};
const failure: Outcome = { kind: "discard", error: { name: "Error", message: "no", stack: null, kind: "error" }, runMs: 1 };
const success: Outcome = { kind: "completed", result: '"made"', runMs: 1 };

/** A job that waits for one that it called. */
async function startCaller(): Promise<{ readonly caller: string; readonly child: string }> {
  const caller = (await client.enqueue("order")).id;
  await runNext(callPart);
  const { jobs } = await client.list({ type: "part" });
  return { caller, child: jobs[0]!.id };
}

const statusesOf = async (...ids: readonly string[]): Promise<unknown[]> => (await store.find(ids)).map((job) => job?.status);
const stepOf = async (id: string): Promise<unknown> => (await client.steps(id))[0]?.state;
const noticesLeft = async (): Promise<number> => (await store.notices(1000)).length;

/** The first answers of a verb, as while a transaction of somebody else holds the jobs. */
function lockOnce(verb: "endSteps" | "change", skip = 0): void {
  const original = store[verb].bind(store) as (...args: unknown[]) => Promise<unknown>;
  let calls = 0;
  Object.assign(store, {
    [verb]: async (items: readonly unknown[], ...more: unknown[]) =>
      calls++ === skip ? items.map(() => ({ kind: "locked" })) : original(items, ...more),
  });
}

/** From now on the store has these notices alone, until they are dropped. */
function giveNotices(...notices: readonly Notice[]): void {
  const given = new Map(notices.map((notice, index) => [String(index), notice]));
  store.notices = async (limit, except = []) =>
    Array.from(given, ([key, notice]) => ({ key, notice }))
      .filter(({ key }) => !except.includes(key))
      .slice(0, limit);
  store.dropNotices = async (keys) => keys.forEach((key) => given.delete(key));
}

describe("a notice of a job that somebody else holds is delivered later", () => {
  test("of an end", async () => {
    const { caller } = await startCaller();
    await runNext(success);
    lockOnce("endSteps");
    await deliver();
    expect([await noticesLeft(), await stepOf(caller)]).toEqual([1, "open"]);
    await deliver();
    expect([await noticesLeft(), await stepOf(caller), ...(await statusesOf(caller))]).toEqual([0, "done", "pending"]);
  });

  test("of a result that does not fit", async () => {
    const { caller } = await startCaller();
    const value = `"${"x".repeat(MAX_STEP_BYTES - 2)}"`;
    for (let number = 1; number <= 8; number++) await client.signal(caller, `s${number}`, JSON.parse(value) as string);
    await runNext(success);
    lockOnce("endSteps", 1);
    await deliver();
    expect(await noticesLeft()).toBe(1);
    await deliver();
    const part = (await client.steps(caller)).find(({ name }) => name === "part");
    expect([await noticesLeft(), part, ...(await statusesOf(caller))]).toMatchObject([
      0,
      { state: "failed", error: { name: "TooLarge" } },
      "pending",
    ]);
  });

  test("of a call of a job that had ended before", async () => {
    const { caller, child } = await startCaller();
    await runNext(success);
    await store.dropNotices((await store.notices(10)).map(({ key }) => key));
    const [job] = await store.find([child]);
    giveNotices({ kind: "insert", job: { ...job!, delayMs: 0, runAt: null, keyTtlMs: 0, fingerprint: null } });
    lockOnce("endSteps");
    await deliver();
    expect([await noticesLeft(), await stepOf(caller)]).toEqual([1, "open"]);
    await deliver();
    expect([await noticesLeft(), await stepOf(caller)]).toEqual([0, "done"]);
  });

  test("of a cancel", async () => {
    const { caller, child } = await startCaller();
    await client.cancel(caller);
    lockOnce("change");
    await deliver();
    expect(await statusesOf(child)).toEqual(["pending"]);
    await deliver();
    expect([...(await statusesOf(child)), await noticesLeft()]).toEqual(["cancelled", 0]);
  });
});

describe("a called job that goes to a node that is away", () => {
  /** The notice of a job of this caller that goes to the queue `away`, whose inserts do what the test says. */
  async function callAway(caller: string, insert: () => Promise<void>): Promise<Notice> {
    const { child } = await startCaller();
    const [job] = await store.find([child]);
    await store.dropNotices((await store.notices(10)).map(({ key }) => key));
    const original = store.insert.bind(store);
    store.insert = async (jobs) => {
      if (jobs.some(({ queue }) => queue === "away")) await insert();
      return original(jobs);
    };
    const parent = { id: caller, step: "far", life: 1 };
    const id = `${child.slice(0, -4)}ffff`;
    return { kind: "insert", job: { ...job!, id, queue: "away", parent, delayMs: 0, runAt: null, keyTtlMs: 0, fingerprint: null } };
  }

  const endOf = (id: string): Notice => {
    return { kind: "end", end: { id, name: "part", kind: "call", state: "done", value: "1", life: 1, from: CALLERS, by: "x 1" } };
  };

  test("holds up no other notice when it cannot be inserted, and is reported after them", async () => {
    const { caller } = await startCaller();
    const away = await callAway(caller, async () => {
      throw new MillraceError("store_unavailable", "the node is away");
    });
    giveNotices(away, endOf(caller));
    await expect(deliver()).rejects.toMatchObject({ code: "store_unavailable" });
    expect([await noticesLeft(), await stepOf(caller)]).toEqual([1, "done"]);
  });

  test("holds up neither this turn nor the next while its node does not answer, and is not sent twice meanwhile", async () => {
    const { caller } = await startCaller();
    const other = await startCaller();
    const answer = Promise.withResolvers<void>();
    let inserts = 0;
    const away = await callAway(caller, () => (inserts++, answer.promise));
    giveNotices(away, endOf(caller));
    const turn = deliver();
    await clock.settle();
    expect([await noticesLeft(), await stepOf(caller)]).toEqual([1, "done"]);
    await clock.advance("1s");
    await turn;
    giveNotices(away, endOf(other.caller));
    await deliver();
    expect([await noticesLeft(), await stepOf(other.caller), inserts]).toEqual([1, "done", 1]);
    answer.resolve();
    await clock.settle();
    expect(await noticesLeft()).toBe(0);
  });

  test("is cancelled with its caller, although that is told first", async () => {
    const { caller } = await startCaller();
    const answer = Promise.withResolvers<void>();
    const away = await callAway(caller, () => answer.promise);
    await client.cancel(caller);
    giveNotices(away, { kind: "cancel", id: caller });
    const turn = deliver();
    await clock.advance("1s");
    await turn;
    expect(await noticesLeft()).toBe(2);
    answer.resolve();
    await clock.settle();
    expect(await noticesLeft()).toBe(1);
    await deliver();
    expect(await noticesLeft()).toBe(0);
  });
});

test("notices of a job that somebody else holds keep none behind them, however many they are", async () => {
  const held = await startCaller();
  const free = await startCaller();
  const end = { name: "part", kind: "call", state: "done", value: "1", life: 1, from: CALLERS } as const;
  const ends = [
    ...Array.from({ length: 450 }, (_, index) => ({ ...end, id: held.caller, by: `x ${index}` })),
    { ...end, id: free.caller, by: "y 1" },
  ];
  giveNotices(...ends.map((each): Notice => ({ kind: "end", end: each })));
  const endSteps = store.endSteps.bind(store);
  store.endSteps = async (given) => {
    const answers = await endSteps(given.filter(({ id }) => id !== held.caller));
    return given.map(({ id }) => (id === held.caller ? { kind: "locked" } : answers.shift()!));
  };
  await deliver();
  expect([await stepOf(held.caller), await stepOf(free.caller), await noticesLeft()]).toEqual(["open", "done", 450]);
});

describe("a notice that comes late changes nothing", () => {
  test("of a cancel, if the job was retried since", async () => {
    const { caller, child } = await startCaller();
    await client.cancel(caller);
    await client.retry(caller);
    await deliver();
    expect(await statusesOf(caller, child)).toEqual(["pending", "pending"]);
  });

  test("of a failure, if the called job was retried since: the caller waits for its next end", async () => {
    const { caller, child } = await startCaller();
    await runNext(failure);
    await client.retry(child);
    await deliver();
    expect([await noticesLeft(), await stepOf(caller), ...(await statusesOf(caller))]).toEqual([0, "open", "blocked"]);
    await runNext(success);
    await deliver();
    expect([await stepOf(caller), ...(await statusesOf(caller))]).toEqual(["done", "pending"]);
  });

  test("of a failure that a retry of the caller has forgotten", async () => {
    const { caller } = await startCaller();
    await runNext(failure);
    const again = await store.notices(10);
    await deliver();
    await runNext(failure);
    await client.retry(caller);
    expect(await client.steps(caller)).toEqual([]);
    giveNotices(again[0]!.notice);
    await deliver();
    expect(await client.steps(caller)).toEqual([]);
  });
});

describe("a retry of the caller", () => {
  test("retries a called job whose failure it was not told yet", async () => {
    const { caller, child } = await startCaller();
    await client.cancel(caller);
    await store.change([child], CANCEL);
    await client.retry(caller);
    expect(await statusesOf(caller, child)).toEqual(["pending", "pending"]);
    await deliver();
    expect([await stepOf(caller), ...(await statusesOf(child))]).toEqual(["open", "pending"]);
  });

  test("retries no called job if its new payload is refused", async () => {
    const { caller, child } = await startCaller();
    await runNext(failure);
    await deliver();
    await runNext(failure);
    await expect(client.retry(caller, { payload: 1n })).rejects.toMatchObject({ code: "invalid_input", field: "payload" });
    expect(await statusesOf(caller, child)).toEqual(["dead", "dead"]);
    await client.retry(caller, { payload: 1 });
    expect(await statusesOf(caller, child)).toEqual(["pending", "pending"]);
  });
});
