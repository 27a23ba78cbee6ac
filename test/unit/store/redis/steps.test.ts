import { expect, test } from "vitest";
import type { NewJob } from "../../../../src/core/job.ts";
import { CANCEL, RETRY } from "../../../../src/core/lifecycle.ts";
import { readLimits } from "../../../../src/core/limits.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import type { NewStep, Notice } from "../../../../src/core/steps.ts";
import { plainCall, wholeCall } from "../../../../src/store/redis/exchange-calls.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { EXCHANGE, EXCHANGE_FOLLOWED } from "../../../../src/store/redis/statements/exchange.ts";
import { EXCHANGE_STEPS } from "../../../../src/store/redis/statements/exchange-steps.ts";
import type { LeasedRecord, Settlement, Store } from "../../../../src/store/store.ts";
import { TestClock } from "../../../conformance/harness.ts";
import { contentsOf } from "./contents.ts";
import { claim, claimOf, DONE, jobOf, prefix, settlementOf } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const BASE = `{${partitionOf("default")}}`;

interface Opened {
  readonly at: string;
  readonly clock: TestClock;
  readonly store: Store;
}

async function opened(): Promise<Opened> {
  const [at, clock] = [prefix(), new TestClock()];
  return { at, clock, store: await openRedisStore(`${server().url}?prefix=${at}`, { clock, deadlineMs: 10_000 }) };
}

const wait = (name: string, untilMs: number | null = null): NewStep => {
  return { name, kind: "wait", state: "open", value: null, untilMs, detail: null };
};

function suspension(lease: LeasedRecord, waits: readonly NewStep[], calls: readonly NewJob[] = []): Settlement {
  return { ...settlementOf(lease, { kind: "suspend", waits, calls: [] }), waits, calls };
}

async function running(store: Store, wishes: Partial<NewJob> = {}): Promise<LeasedRecord> {
  await store.insert([jobOf(wishes)]);
  return (await claim(store, { queues: [wishes.queue ?? "default"], limit: 1 }))[0]!;
}

async function suspended(store: Store, ...waits: NewStep[]): Promise<LeasedRecord> {
  const lease = await running(store);
  expect((await store.exchange([suspension(lease, waits)], [])).settled).toEqual(["ok"]);
  return lease;
}

const keysOf = async (at: string, ...names: string[]): Promise<string[]> => {
  const keys = (await redis().keys(`${at}:*`)).map((key) => key.slice(key.indexOf("}:") + 2));
  return keys.filter((key) => names.some((name) => key === name || key.startsWith(`${name}:`)));
};

test("a settlement that leaves a notice writes and answers what any other does, beside the notice", async () => {
  const { at, store, clock } = await opened();
  const [one, two] = [await running(store), await running(store, { limitKey: "k" })];
  const failed = { name: "Error", message: "no", stack: null, kind: "error" } as const;
  const settlements = [settlementOf(one, DONE), settlementOf(two, { kind: "failed", error: failed, runMs: 1 })];
  const notice: Notice = { kind: "cancel", id: jobOf().id };
  const other = prefix();
  for (const key of await redis().keys(`${at}:*`)) await redis().copy(key, other + key.slice(at.length));

  const run = async (name: string, some: readonly Settlement[]): Promise<string> => {
    const { script, args } = wholeCall(some, [], "", "n");
    const keys = [`${name}:${BASE}:v`, `${name}:${BASE}:none`];
    const reply = (await redis().callBuffer("EVAL", script.text, "2", ...keys, String(clock.now()), ...args)) as Buffer[];
    return `${script.name} ${String(reply[1])}`;
  };
  expect(await run(at, settlements)).toBe(`${EXCHANGE.name} oo`);
  const noted = settlements.map((settlement) => ({ ...settlement, notice }));
  expect(await run(other, noted)).toBe(`${EXCHANGE_STEPS.name} oo`);
  expect(await redis().zcard(`${other}:${BASE}:nt`)).toBe(2);
  // A repeat leaves none.
  expect(await run(other, noted)).toBe(`${EXCHANGE_STEPS.name} oo`);
  expect(await redis().zcard(`${other}:${BASE}:nt`)).toBe(2);
  await redis().del(`${other}:${BASE}:nt`);
  await redis().hdel(`${other}:${BASE}:v`, "notices");
  expect(await contentsOf(redis(), other)).toEqual(await contentsOf(redis(), at));
  await store.close();
});

test("the usual scripts are left to settlements without steps", async () => {
  const { store } = await opened();
  const lease = await running(store);
  const end = settlementOf(lease, DONE);
  const followed = { ...end, followUp: jobOf() };
  expect(plainCall([end], [], "")).not.toBeNull();
  expect(plainCall([{ ...end, waits: [], calls: [] }], [], "")).not.toBeNull();
  expect(wholeCall([end], [], "", "n").script).toBe(EXCHANGE);
  expect(wholeCall([followed], [], "", "n").script).toBe(EXCHANGE_FOLLOWED);
  expect(plainCall([{ ...end, notice: { kind: "cancel", id: lease.id } }], [], "")).toBeNull();
  expect(wholeCall([followed, suspension(lease, [wait("w")])], [], "", "n").script).toBe(EXCHANGE_STEPS);
  await store.close();
});

test("jobs that are called in the same partition are inserted at once, as many as fit; all others leave a notice", async () => {
  const { store } = await opened();
  const lease = await running(store);
  const parent = { id: lease.id, step: "call", life: 1 };
  // Each is of a kind of its own.
  const here = Array.from({ length: 600 }, (_, index) => jobOf({ type: `t${index}`, parent }));
  const there = jobOf({ queue: "elsewhere", parent, payload: '{"a":"é\\n"}', tags: ["x"] });
  expect(partitionOf("elsewhere")).not.toBe(partitionOf("default"));
  const wanted = [...here, there];
  const settlement = suspension(lease, [wait("call")], wanted);
  const follower = await running(store);
  const followUp = jobOf({ type: "follow" });
  const hints: string[] = [];
  store.watch(({ topic }) => hints.push(topic));
  const { settled } = await store.exchange([settlement, { ...settlementOf(follower, DONE), followUp }], []);
  expect(settled).toEqual(["ok", "ok"]);
  expect(hints).toContain("notices");
  const found = await store.find([...wanted, followUp].map(({ id }) => id));
  const inserted = found.slice(0, 600).filter((job) => job !== null);
  expect(inserted.length).toBeGreaterThan(400);
  expect(inserted.every((job) => job.parent?.id === lease.id && job.parent.step === "call")).toBe(true);
  expect(found.slice(-2)).toMatchObject([null, { type: "follow", parent: null }]);

  const notices = await store.notices(1_000);
  expect(notices.map(({ notice }) => notice)).toEqual(
    wanted.filter((_, index) => found[index] === null).map((job) => ({ kind: "insert", job })),
  );
  await store.dropNotices(notices.map(({ key }) => key));
  await store.exchange([settlement], []);
  expect(await store.notices(10)).toEqual([]);
  await store.close();
});

test("notices of several partitions are read in turns, and one of several MiB does not hold back the others for good", async () => {
  const { store } = await opened();
  const leave = async (queue: string, value: string): Promise<void> => {
    const lease = await running(store, { queue });
    const notice: Notice = {
      kind: "end",
      end: { id: lease.id, name: "s", kind: "call", state: "done", value, by: "x", life: 1, from: ["blocked"] },
    };
    await store.exchange([{ ...settlementOf(lease, DONE), notice }], []);
  };
  for (let index = 0; index < 5; index++) await leave("default", `"${"x".repeat(1024 * 1024)}"`);
  for (let index = 0; index < 3; index++) await leave("other", "1");
  const sizes = async (limit: number): Promise<number[]> =>
    (await store.notices(limit))
      .map(({ notice }) => (notice.kind === "end" ? notice.end.value!.length : 0))
      .map((size) => Math.min(size, 2))
      .sort((a, b) => a - b);
  expect(await sizes(2)).toEqual([1, 2]);
  expect(await sizes(100)).toEqual([1, 1, 1, 2, 2, 2]);
  for (let left = 8; left > 0;) {
    const some = await store.notices(100);
    await store.dropNotices(some.map(({ key }) => key));
    left -= some.length;
    expect(some.length).toBeGreaterThan(0);
  }
  expect(await store.notices(100)).toEqual([]);
  await store.close();
});

test("a job with steps that is removed or pruned leaves no key behind", async () => {
  const { at, store, clock } = await opened();
  const value = (name: string): NewStep => ({ name, kind: "step", state: "done", value: "1", untilMs: null, detail: null });
  for (const end of ["prune", "remove"] as const) {
    const lease = await suspended(store, wait("w", 1_000), wait("v"));
    clock.advance(1_000);
    expect((await store.promote(10, true)).jobs).toMatchObject([{ id: lease.id }]);
    const [again] = await claim(store);
    expect(again).toMatchObject({ id: lease.id, hasSteps: true });
    await store.keepSteps([{ ...again!, steps: [value("a"), value("b")] }]);
    expect((await keysOf(at, "st", "sv")).length).toBe(2);
    await store.exchange([settlementOf(again!, DONE)], []);
    expect(await store.find([lease.id])).toMatchObject([{ status: "completed", hasSteps: true }]);
    clock.advance(1);
    if (end === "prune") await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
    else await store.remove([lease.id], ["completed"]);
    expect(await store.find([lease.id])).toEqual([null]);
    expect(await keysOf(at, "st", "sv", "b", "bd")).toEqual([]);
  }
  await store.close();
});

test("a suspended job that an older version has moved or removed is not found again when its time comes", async () => {
  const { at, store, clock } = await opened();
  const leases = [
    await suspended(store, wait("w", 1_000)),
    await suspended(store, wait("w", 1_000)),
    await suspended(store, wait("w", 2_000)),
  ];
  const [cancelled, removed, stays] = leases.map(({ id }) => id);
  const due = `${at}:${BASE}:bd`;
  const members = (await redis().callBuffer("ZRANGE", due, "0", "1")) as Buffer[];
  await store.change([cancelled!, removed!], CANCEL);
  await store.remove([removed!], ["cancelled"]);
  expect(await redis().zcard(due)).toBe(1);
  // It knows nothing of this set.
  for (const member of members) await redis().call("ZADD", due, String(clock.now() + 1_000), member);
  clock.advance(1_000);
  expect(await store.promote(1)).toEqual({ moved: 0, nextInMs: 1_000 });
  expect(await redis().zcard(due)).toBe(1);
  clock.advance(1_000);
  expect(await store.promote(1)).toEqual({ moved: 1, nextInMs: null });
  expect(await store.find([cancelled!, stays!])).toMatchObject([{ status: "cancelled" }, { status: "pending" }]);
  await store.close();
});

test("jobs that wait for their time and suspended ones become pending in the order of their times", async () => {
  const { store, clock } = await opened();
  const first = await suspended(store, wait("w", 1_000));
  const third = await suspended(store, wait("w", 3_000));
  const [second, fourth] = [jobOf({ delayMs: 2_000 }), jobOf({ delayMs: 4_000 })];
  await store.insert([fourth, second]);
  expect((await store.list({ limit: 10, status: ["scheduled", "retrying"], sort: "state" })).jobs).toHaveLength(2);
  expect((await store.list({ limit: 10, status: ["blocked"], sort: "state" })).jobs).toHaveLength(2);
  clock.advance(3_500);
  for (const id of [first.id, second.id, third.id]) expect((await store.promote(1, true)).jobs).toMatchObject([{ id }]);
  expect(await store.promote(1)).toEqual({ moved: 0, nextInMs: 500 });
  expect((await claim(store)).map(({ id }) => id)).toEqual([first.id, second.id, third.id]);
  await store.close();
});

test("the first step of a job marks its body, whatever it has, and nothing else of it changes", async () => {
  const { store } = await opened();
  const wishes: Partial<NewJob> = {
    payload: `"${"é\\n".repeat(1000)}"`,
    idempotencyKey: "key",
    facets: { customer: "7" },
    limitKey: "limited",
    cost: 3,
    tags: ["a"],
    delayMs: 0,
    parent: { id: jobOf().id, step: 'a "step"\n', life: 1 },
  };
  for (const extra of [{}, wishes, { ...wishes, idempotencyKey: "later", delayMs: 1_000 }]) {
    const job = jobOf(extra);
    await store.insert([job]);
    const [before] = await store.find([job.id]);
    expect(before).toMatchObject({ hasSteps: false, parent: job.parent ?? null, payload: job.payload });
    const end = {
      id: job.id,
      name: "early",
      kind: "wait",
      state: "done",
      value: "1",
      by: "s",
      life: null,
      from: ["pending", "scheduled"],
    } as const;
    expect(await store.endSteps([end])).toMatchObject([{ kind: "ok", woke: false }]);
    expect(await store.find([job.id])).toEqual([{ ...before!, hasSteps: true }]);
  }
  await store.close();
});

test("who called a job is told its end by a move, whatever its name, key and limit key are", async () => {
  const { store } = await opened();
  const parent = { id: jobOf().id, step: 'é "x"\n\\', life: 3 };
  const children = [
    jobOf({ parent }),
    jobOf({ parent, idempotencyKey: "a\nb", limitKey: "c\nd", cost: 2, delayMs: 1_000, facets: { parent: "x" }, meta: '{"parent":1}' }),
  ];
  await store.insert(children);
  await store.change(
    children.map(({ id }) => id),
    CANCEL,
  );
  const notices = (await store.notices(10)).map(({ notice }) => notice);
  expect(notices).toMatchObject(
    children.map(({ id }) => ({
      kind: "end",
      end: { id: parent.id, name: parent.step, kind: "call", ...CANCEL.ending, by: `${id} 1`, life: 3 },
    })),
  );
  // Another life ends under another fence.
  await store.change([children[0]!.id], RETRY);
  await store.change([children[0]!.id], CANCEL);
  expect((await store.notices(10)).at(-1)!.notice).toMatchObject({ end: { by: `${children[0]!.id} 2` } });
  await store.close();
});

test("the claim after a suspension takes no units, of neither the queue's rate nor the key's", async () => {
  const { store, clock } = await opened();
  await store.configure("default", { limits: readLimits({ rate: "2/h", perKey: { rate: "2/h" } }) });
  const lease = await running(store, { limitKey: "k", cost: 2 });
  await store.exchange([suspension(lease, [wait("w", 1_000)])], []);
  clock.advance(1_000);
  await store.promote(10);
  clock.advance(1);
  await store.insert([jobOf({ limitKey: "k" }), jobOf()]);
  const use = await store.limitUse("default", ["k"]);
  const { claimed } = await store.exchange([], [claimOf()]);
  expect(claimed[0]!.map(({ id }) => id)).toEqual([lease.id]);
  expect(await store.limitUse("default", ["k"])).toMatchObject({ rate: use!.rate, keys: [{ rate: use!.keys[0]!.rate }] });
  // That claim was the only one.
  await store.exchange([settlementOf(claimed[0]![0]!, { kind: "snooze", delayMs: 1_000 })], []);
  clock.advance(1_000);
  await store.promote(10);
  expect(await claim(store)).toEqual([]);
  await store.close();
});
