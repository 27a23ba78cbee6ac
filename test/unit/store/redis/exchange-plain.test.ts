import { expect, test } from "vitest";
import type { AttemptError } from "../../../../src/core/job.ts";
import type { Outcome } from "../../../../src/core/lifecycle.ts";
import { readLimits, readOneKeyLimits } from "../../../../src/core/limits.ts";
import { listOf, readGranted } from "../../../../src/store/redis/codec.ts";
import { type Look, plainCall, readAnswer, wholeCall } from "../../../../src/store/redis/exchange-calls.ts";
import type { ScriptCall } from "../../../../src/store/redis/session.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import type { Claim, LeasedRecord, Settlement, Store } from "../../../../src/store/store.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { contentsOf } from "./contents.ts";
import { claim, claimOf, elsewhere, jobOf, prefix, settlementOf } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const PARTITION = partitionOf("default");
const BOOM: AttemptError = { name: "Error", message: "no", stack: null, kind: "error" };
const FAILED: Outcome = { kind: "failed", error: BOOM, delayMs: 0, runMs: 1 };
const done = (result: string | null, runMs: number): Outcome => ({ kind: "completed", result, runMs });

async function storeAt(at: string): Promise<Store> {
  return openRedisStore(`${server().url}?prefix=${at}`, { clock: systemClock, deadlineMs: 10_000 });
}

async function run(at: string, now: number, call: ScriptCall): Promise<ReturnType<typeof readAnswer>> {
  const base = `${at}:{${PARTITION}}`;
  const reply = await redis().callBuffer("EVAL", call.script.text, "2", `${base}:v`, `${base}:none`, String(now), ...call.args);
  return readAnswer(call.script, reply as Parameters<typeof readAnswer>[1]);
}

/** Copies everything under one prefix to another. */
async function copy(from: string, to: string): Promise<void> {
  for (const key of await redis().keys(`${from}:*`)) await redis().copy(key, to + key.slice(from.length));
}

const lookOf = (wanted: Partial<Claim>): Look => {
  const claim = claimOf(wanted);
  return { claim, turn: String(claim.turn), asker: "", queues: ["default"], taken: [] };
};

/** Makes the same exchange by both scripts, on two copies of a store. Returns the answer of both, if it is the same. */
async function byBoth(
  at: string,
  now: number,
  settlements: readonly Settlement[],
  looks: readonly Look[],
): Promise<{ letters: string; jobs: LeasedRecord[] }> {
  const other = prefix();
  await copy(at, other);
  const plain = plainCall(settlements, looks, "try");
  expect(plain).not.toBeNull();
  const read = (answer: ReturnType<typeof readAnswer>) => ({
    letters: answer.letters,
    jobs: looks.flatMap((look, index) => readGranted(answer.claims[index]!, look.claim, answer)),
  });
  const answer = read(await run(at, now, plain!));
  expect(answer).toEqual(read(await run(other, now, wholeCall(settlements, looks, "try", "n"))));
  expect(await contentsOf(redis(), at)).toEqual(await contentsOf(redis(), other));
  return answer;
}

test("the script for usual exchanges writes and answers exactly what the other one does", async () => {
  const at = prefix();
  const store = await storeAt(at);
  const kinds = [{}, { type: "other", priority: 20 }, { priority: -20 }, { delayMs: 1 }, { idempotencyKey: "k" }];
  await store.insert(Array.from({ length: 120 }, (_, index) => elsewhere(jobOf(index < 5 ? kinds[index] : kinds[index % 3]), index)));
  // Some were tried before, and have an error; some were settled, and some are gone.
  const tried = await claim(store, { limit: 4 });
  await store.exchange(
    tried.slice(0, 2).map((lease) => settlementOf(lease, FAILED)),
    [],
  );
  const now = Date.now() + 60_000;
  await store.promote(10);
  const held = await claim(store, { limit: 20 });
  await store.note([{ id: held[5]!.id, fence: held[5]!.fence, progress: { percent: 5, note: null }, lines: [] }]);
  const ended = held.map((lease, index) => ({
    ...settlementOf(lease, done(index % 3 === 0 ? null : `"${index}"`, index / 7)),
    heldMs: index % 4 === 0 ? index : 0,
  }));
  const stale = { ...ended[7]!, fence: 9 };
  const missing = { ...ended[8]!, id: jobOf().id };
  await store.exchange([ended[19]!], []);
  await store.close();

  const first = [...ended.slice(0, 7), stale, missing, ...ended.slice(9)];
  const some = await byBoth(at, now, first, [lookOf({ limit: 3, types: ["task"] })]);
  expect(some.letters).toBe("ooooooossooooooooooo");
  expect(some.jobs).toHaveLength(3);
  // Equal ones are sent once.
  const equal = some.jobs.map((lease) => settlementOf(lease, done(null, 0)));
  const many = await byBoth(at, now + 5, equal, [lookOf({ limit: 60 })]);
  expect(many.jobs).toHaveLength(60);
  expect(await redis().object("ENCODING", `${at}:{${PARTITION}}:r`)).toBe("skiplist");
  expect(await byBoth(at, now + 6, [], [lookOf({ limit: 5, types: ["none"] })])).toEqual({ letters: "", jobs: [] });
  expect(
    (
      await byBoth(
        at,
        now + 7,
        many.jobs.map((lease) => settlementOf(lease, done("[]", 1))),
        [],
      )
    ).letters,
  ).toBe("o".repeat(60));
});

test("an end is an end, whatever its outcome is called, and is repeated only under that name", async () => {
  const at = prefix();
  const store = await storeAt(at);
  await store.insert(Array.from({ length: 4 }, () => jobOf()));
  const held = await claim(store, { limit: 4 });
  await store.close();
  const names = ["completed", "failed", "failed", "release"] as const;
  const ends = held.map((lease, index) => ({ ...settlementOf(lease, done(`"${index}"`, 1)), outcome: names[index]! }));
  const now = Date.now();
  expect((await byBoth(at, now, ends, [])).letters).toBe("oooo");
  const repeats = [ends[0]!, ends[1]!, { ...ends[2]!, outcome: "completed" as const }, ends[3]!];
  expect((await byBoth(at, now, repeats, [])).letters).toBe("ooso");
});

test("it takes nothing for a try or a turn that was repeated, nor from a paused queue", async () => {
  const at = prefix();
  const store = await storeAt(at);
  await store.insert([jobOf(), jobOf()]);
  const now = Date.now();
  const look = lookOf({ limit: 1 });
  const base = `${at}:{${PARTITION}}`;
  for (const mark of ["try", `${look.claim.workerId} ${look.turn}`]) {
    await redis().set(`${base}:y:${mark}`, "later");
    expect((await byBoth(at, now, [], [look])).jobs).toEqual([]);
    await redis().del(`${base}:y:${mark}`);
  }
  await store.configure("default", { paused: true });
  expect((await byBoth(at, now, [], [look])).jobs).toEqual([]);
  await store.configure("default", { paused: false });
  expect((await byBoth(at, now, [], [look])).jobs).toHaveLength(1);
  await store.close();
});

test("it applies limits and takes turns as the other one does", async () => {
  const at = prefix();
  const store = await storeAt(at);
  const perKey = { running: 3, rate: "100/s", burst: 2 };
  const keys = [null, "a", "b", "c/d", "e"];
  await store.insert(
    Array.from({ length: 100 }, (_, index) => jobOf({ limitKey: keys[index % 5]!, cost: 1 + (index % 2), priority: index % 3 })),
  );
  await store.setKeyLimits("default", "a", readOneKeyLimits({ running: 10, rate: null, weight: 3 }, "a"));
  let now = Date.now();
  const held: LeasedRecord[] = [];
  for (const limits of [null, { perKey }, { running: 12, perKey }, { running: 12, rate: "200/s", burst: 3 }, null]) {
    await store.configure("default", { limits: readLimits(limits) });
    for (const ended of [0, 2, 5]) {
      const settlements = held.splice(0, ended).map((lease) => settlementOf(lease, done(null, 1)));
      held.push(...(await byBoth(at, (now += 7), settlements, [lookOf({ limit: 6, types: ["task"] })])).jobs);
    }
  }
  expect(held.length).toBeGreaterThan(10);
  const last = held.map((lease) => settlementOf(lease, done(null, 1)));
  expect((await byBoth(at, now + 10_000, last, [lookOf({ limit: 100 })])).jobs.length).toBeGreaterThan(0);
  await store.close();
});

test("it rings when a queue that had no room for a lease has some again, and when a key has", async () => {
  const at = prefix();
  const store = await storeAt(at);
  const now = Date.now();
  await store.insert([jobOf(), jobOf({ limitKey: "k" }), jobOf({ limitKey: "k" })]);
  await store.configure("default", { limits: readLimits({ running: 2, perKey: { running: 1 } }) });
  const held = await run(at, now, plainCall([], [lookOf({ limit: 3 })], "try")!);
  const [first, second] = readGranted(held.claims[0]!, claimOf(), held);
  const rungBy = async (lease: LeasedRecord): Promise<string[]> =>
    (listOf((await run(at, now, plainCall([settlementOf(lease, done(null, 1))], [], "")!)).hints).slice(2) as Buffer[]).map(String);
  expect(held.claims[0]!.jobs).toHaveLength(4);
  expect(await rungBy(first!)).toEqual(["default"]);
  // The queue has room already: only the end of the key's lease lets another job start.
  expect(await rungBy(second!)).toEqual([first, second].findIndex((lease) => lease!.limitKey === "k") === 1 ? ["default"] : []);
  await store.close();
});

test("a failed job among many completed ones goes apart, and each gets its own answer", async () => {
  const store = await storeAt(prefix());
  await store.insert(Array.from({ length: 60 }, () => jobOf()));
  const held = await claim(store, { limit: 30 });
  const settlements = held.map((lease, index) => settlementOf(lease, index === 7 ? { ...FAILED, delayMs: 60_000 } : done(null, 1)));
  settlements[9] = { ...settlements[9]!, fence: 9 };
  const { settled, claimed } = await store.exchange(settlements, [claimOf({ limit: 50 })]);
  expect(settled).toEqual(held.map((_, index) => (index === 9 ? "stale" : "ok")));
  expect(claimed[0]).toHaveLength(30);
  const jobs = await store.find(held.map(({ id }) => id));
  expect(jobs.map((job) => job!.status)).toEqual(held.map((_, index) => ({ 7: "retrying", 9: "running" })[index] ?? "completed"));
  // Given twice, the first settlement counts.
  const [twice] = claimed[0]!;
  const both = [done(null, 1), FAILED].map((outcome) => settlementOf(twice!, outcome));
  const others = claimed[0]!.slice(1).map((lease) => settlementOf(lease, done(null, 1)));
  const { settled: answers } = await store.exchange([...others, ...both], []);
  expect(answers.slice(-2)).toEqual(["ok", "stale"]);
  await store.close();
});

test("what is not usual goes to the other script", async () => {
  const lease = { ...jobOf(), id: jobOf().id, fence: 1 } as unknown as LeasedRecord;
  const end = settlementOf(lease, done(null, 1));
  expect(plainCall([end], [], "")).not.toBeNull();
  expect(plainCall([end, end], [], "")).toBeNull();
  expect(plainCall([{ ...end, ifExpired: true }], [], "")).toBeNull();
  expect(plainCall([{ ...end, followUp: jobOf() }], [], "")).toBeNull();
  for (const said of [{ unstarted: true }, { holdMs: 0 }, { spend: 1 }] as const)
    expect(plainCall([{ ...end, ...said }], [], "")).toBeNull();
  expect(plainCall([settlementOf(lease, { kind: "release" })], [], "")).toBeNull();
  expect(plainCall([], [{ ...lookOf({}), asker: "again" }], "")).toBeNull();
  expect(plainCall([], [{ ...lookOf({}), queues: ["a", "b"] }], "")).toBeNull();
  expect(plainCall([], [lookOf({}), lookOf({})], "")).toBeNull();
});
