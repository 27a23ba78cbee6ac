import { expect, test } from "vitest";
import { type JobSummaryRecord, WAITING } from "../../../../src/core/job.ts";
import { CANCEL, RETRY, RUN_NOW, type Outcome } from "../../../../src/core/lifecycle.ts";
import { readLimits, readOneKeyLimits } from "../../../../src/core/limits.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { longId } from "../../../../src/store/redis/ids.ts";
import { KEY_LINE, LIMIT_KEY, LIMITED_LANE, LINE_PLACE, MEMBER } from "../../../../src/store/redis/layout.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import type { LeasedRecord, Store } from "../../../../src/store/store.ts";
import { TestClock } from "../../../conformance/harness.ts";
import { Random } from "../../../simulation/random.ts";
import { claimOf, DONE, jobOf, prefix, settlementOf } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const QUEUE = "default";
const BASE = `{${partitionOf(QUEUE)}}`;

async function storeAt(at: string, clock: TestClock): Promise<Store> {
  return openRedisStore(`${server().url}?prefix=${at}`, { clock, deadlineMs: 10_000 });
}

interface StoredLine {
  readonly ring: string;
  readonly key: string;
  readonly place: number;
  readonly size: number;
  readonly seq: Buffer;
}

interface StoredKey {
  readonly running: number;
  readonly waiting: number;
  readonly pending: number;
  readonly aside: number;
  readonly resting: number;
  readonly lines: readonly StoredLine[];
}

function readKey(key: string, bytes: Buffer): StoredKey {
  const { at } = LIMIT_KEY;
  const lines: StoredLine[] = [];
  for (let from = LIMIT_KEY.bytes; from < bytes.length; from += KEY_LINE.bytes) {
    const line = bytes.subarray(from, from + KEY_LINE.bytes);
    lines.push({
      ring: `${line.readUIntBE(KEY_LINE.at.lane, 3)} ${line.readInt8(KEY_LINE.at.priority)}`,
      key,
      place: line[KEY_LINE.at.place]!,
      size: line.readUInt32BE(KEY_LINE.at.size),
      seq: line.subarray(KEY_LINE.at.seq),
    });
  }
  return {
    running: bytes.readUInt32BE(at.running),
    waiting: bytes.readUInt32BE(at.waiting),
    pending: bytes.readUInt32BE(at.pending),
    aside: bytes.readUIntBE(at.aside, 3),
    resting: bytes[at.resting]!,
    lines,
  };
}

/** Everything that is stored of limit keys agrees with the jobs, and with each other. */
async function expectConsistent(at: string, store: Store): Promise<void> {
  const base = `${at}:${BASE}:`;
  const jobs: JobSummaryRecord[] = (await store.list({ limit: 1000, internal: true })).jobs;
  const keyed = jobs.filter(({ limitKey }) => limitKey !== null);
  const names = (await redis().keys(`${base}lk:*`)).map(
    (name) => [name, decodeURIComponent(name.slice(`${base}lk:${QUEUE} `.length))] as const,
  );
  const stored = new Map<string, StoredKey>();
  for (const [name, key] of names) stored.set(key, readKey(key, (await redis().getBuffer(name))!));

  // Counts are those of the jobs.
  const running = keyed.filter(({ status }) => status === "running");
  for (const key of new Set([...stored.keys(), ...keyed.map(({ limitKey }) => limitKey!)])) {
    const own = keyed.filter(({ limitKey }) => limitKey === key);
    const counts = {
      running: own.filter(({ status }) => status === "running").length,
      waiting: own.filter(({ status }) => WAITING.includes(status)).length,
      pending: own.filter(({ status }) => status === "pending").length,
    };
    expect(stored.get(key) ?? { running: 0, waiting: 0, pending: 0 }).toMatchObject(counts);
    expect((await store.limitUse(QUEUE, [key]))!.keys[0]).toMatchObject({ running: counts.running, waiting: counts.waiting });
  }
  const holders = Object.entries(await redis().hgetall(`${base}lh:${QUEUE}`)).map(([id, key]) => `${longId(Buffer.from(id))} ${key}`);
  expect(holders.toSorted()).toEqual(running.map(({ id, limitKey }) => `${id} ${limitKey}`).toSorted());

  // Each line has its jobs, and stands in one place.
  const lines = Array.from(stored.values()).flatMap((key) => key.lines);
  const filled = lines.filter(({ size }) => size > 0);
  const lineName = ({ ring, key }: StoredLine): string => `${base}lw:${ring} ${key.replace(/[%/]/g, encodeURIComponent)}`;
  expect((await redis().keys(`${base}lw:*`)).toSorted()).toEqual(filled.map(lineName).toSorted());
  for (const line of filled) expect(await redis().zcard(lineName(line))).toBe(line.size);
  for (const [key, { pending, aside, lines: own, resting, running: runs }] of stored) {
    expect(pending).toBe(own.reduce((sum, { size }) => sum + size, 0));
    expect(aside).toBe(own.filter(({ place }) => place === LINE_PLACE.asleep || place === LINE_PLACE.parked).length);
    expect(resting).toBe(pending === 0 && runs === 0 ? 1 : 0);
    expect((await redis().zscore(`${base}li:${QUEUE}`, key)) !== null).toBe(resting === 1);
  }
  const rings = new Set(lines.map(({ ring }) => ring));
  for (const name of await redis().keys(`${base}lr:*`)) rings.add(name.slice(`${base}lr:`.length));
  for (const ring of rings) {
    const inRing = (await redis().zrangeBuffer(`${base}lr:${ring}`, 0, "-1")).map((member) => member.toString("hex"));
    const expected = lines.filter((line) => line.ring === ring && line.place === LINE_PLACE.ring);
    const members = expected.map(({ seq, key }) => Buffer.concat([seq, Buffer.from(key)]).toString("hex"));
    expect(inRing.toSorted()).toEqual(members.toSorted());
    if (inRing.length > 0) expect(await redis().zscore(`${base}lp:${QUEUE}`, ring)).toBe(String(-Number(ring.split(" ")[1])));
  }
  const aside = [...(await redis().zrange(`${base}la:${QUEUE}`, 0, "-1")), ...(await redis().zrange(`${base}lb:${QUEUE}`, 0, "-1"))];
  const expectedAside = lines.filter(({ place }) => place === LINE_PLACE.asleep || place === LINE_PLACE.parked);
  expect(aside.toSorted()).toEqual(expectedAside.map(({ ring, key }) => `${ring} ${key}`).toSorted());
  expect(filled.every(({ place }) => place !== LINE_PLACE.nowhere)).toBe(true);

  // The lanes by rank have the same jobs.
  let pendingByRank = 0;
  for (const name of await redis().keys(`${base}w:*`)) {
    if (Number(name.slice(`${base}w:`.length)) >= LIMITED_LANE) pendingByRank += await redis().zcard(name);
  }
  expect(pendingByRank).toBe(filled.reduce((sum, { size }) => sum + size, 0));
  expect((await redis().keys(`${base}*`)).filter((name) => name.includes("/"))).toEqual([]);
}

const KEYS = ["a", "b", "with space", "a/b:c", "100 %", "ü"];
const LIMITS = [
  null,
  { perKey: { running: 1 } },
  { running: 4, perKey: { running: 2, rate: "10/s", waiting: 8 } },
  { rate: "50/s", burst: 5, perKey: { rate: "5/s", burst: 3 } },
  { running: 3 },
];

test.each([1, 2, 3, 4])("whatever happens, what is stored of limit keys agrees with the jobs (%i)", async (seed) => {
  const at = prefix();
  const clock = new TestClock();
  const store = await storeAt(at, clock);
  const random = new Random(`limit keys ${seed}`);
  const pick = (below: number): number => Math.floor(random.next() * below);
  const held: LeasedRecord[] = [];
  const known: string[] = [];
  const oneOf = <Item>(items: readonly Item[]): Item => items[pick(items.length)]!;
  const steps: (() => Promise<unknown>)[] = [
    async () => {
      const jobs = Array.from({ length: 1 + pick(6) }, () =>
        jobOf({
          limitKey: pick(5) === 0 ? null : oneOf(KEYS),
          type: oneOf(["task", "other"]),
          priority: oneOf([0, 0, 0, 10, -5]),
          cost: oneOf([1, 1, 1, 3]),
          delayMs: oneOf([0, 0, 0, 500]),
          blocked: pick(10) === 0 ? true : undefined,
          idempotencyKey: pick(6) === 0 ? `key ${pick(5)}` : null,
        }),
      );
      known.push(...jobs.map(({ id }) => id));
      return store.insert(jobs);
    },
    async () => {
      const outcomes: Outcome[] = [
        DONE,
        DONE,
        DONE,
        { kind: "release" },
        { kind: "hold", delayMs: 200 },
        { kind: "failed", error: { name: "Error", message: "no", stack: null, kind: "error" }, delayMs: pick(400), runMs: 1 },
      ];
      const ended = held.splice(0, pick(held.length + 1));
      const settlements = ended.map((lease) => {
        const outcome = oneOf(outcomes);
        const said = outcome.kind === "hold" ? { holdMs: 200 } : outcome.kind === "release" ? { unstarted: true as const } : {};
        return { ...settlementOf(lease, outcome), ...said, ...(pick(8) === 0 ? { spend: 2.5 } : {}) };
      });
      const types = oneOf(["*", ["task"], ["other", "task"], ["none"]] as const);
      const { claimed } = await store.exchange(settlements, [claimOf({ limit: 1 + pick(5), types })]);
      held.push(...claimed[0]!);
    },
    async () => {
      clock.advance(pick(300));
      await store.promote(100);
    },
    async () => store.change([oneOf([...known, jobOf().id])], oneOf([CANCEL, RETRY, RUN_NOW])),
    async () => store.configure(QUEUE, { limits: readLimits(oneOf(LIMITS)) }),
    async () => store.setKeyLimits(QUEUE, oneOf(KEYS), oneOf([null, readOneKeyLimits({ running: 1 + pick(3), weight: 2 }, "a")])),
    async () => store.sweep({ minutesMs: 1e9, hoursMs: 1e9 }, 100),
    async () => store.configure(QUEUE, { headStartMs: oneOf([2 ** 43, 2 ** 43, 60_000]) }),
  ];
  for (let count = 0; count < 150; count++) {
    await oneOf([...steps, steps[0]!, steps[1]!, steps[1]!])();
    await expectConsistent(at, store);
  }
  // In the end nothing is left of keys without jobs.
  await store.configure(QUEUE, { limits: null });
  for (const key of KEYS) await store.setKeyLimits(QUEUE, key, null);
  await store.change(known, CANCEL);
  clock.advance(3_600_000);
  await store.sweep({ minutesMs: 1e9, hoursMs: 1e9 }, 1000);
  await expectConsistent(at, store);
  expect((await redis().keys(`${at}:${BASE}:l[kwrhabi]:*`)).toSorted()).toEqual([]);
  await store.sweep({ minutesMs: 1e9, hoursMs: 1e9 }, 1000);
  expect(await redis().hget(`${at}:${BASE}:qs:${QUEUE}`, "keyed")).toBeNull();
  await store.close();
});

test.each([1, 2, 3, 4])("the short way of a claim leaves all as the whole way does, and keeps limits and turns (%i)", async (seed) => {
  const at = prefix();
  const clock = new TestClock();
  const store = await storeAt(at, clock);
  const random = new Random(`first jobs of lines ${seed}`);
  const pick = (below: number): number => Math.floor(random.next() * below);
  const most = 1 + pick(2);
  await store.configure(QUEUE, { limits: readLimits({ perKey: { running: most } }) });
  const keys = Array.from({ length: 12 }, (_, index) => `key ${index}${index % 4 === 0 ? "/%" : ""}`);
  await store.setKeyLimits(QUEUE, keys[seed]!, readOneKeyLimits({ running: 1, weight: 2 }, "key"));
  const starts = new Map<string, number>();
  let held: LeasedRecord[] = [];
  let left = 0;
  const insert = async (): Promise<void> => {
    const jobs = Array.from({ length: 1 + pick(40) }, () =>
      jobOf({ limitKey: keys[pick(keys.length)]!, priority: pick(8) === 0 ? 10 : 0 }),
    );
    left += jobs.length;
    await store.insert(jobs);
  };
  /** How many jobs have not ended after it. */
  const exchange = async (limit: number): Promise<number> => {
    const ended = held.filter(() => pick(2) === 0);
    held = held.filter((lease) => !ended.includes(lease));
    // A failure sends all of them down the whole way.
    const outcome: Outcome = pick(5) === 0 ? { kind: "release" } : DONE;
    const { claimed } = await store.exchange(
      ended.map((lease) => settlementOf(lease, outcome)),
      [claimOf({ limit, types: ["task"] })],
    );
    if (outcome === DONE) left -= ended.length;
    held.push(...claimed[0]!);
    for (const { limitKey } of claimed[0]!) starts.set(limitKey!, (starts.get(limitKey!) ?? 0) + 1);
    for (const key of keys) expect(held.filter(({ limitKey }) => limitKey === key).length).toBeLessThanOrEqual(most);
    return left;
  };
  for (let count = 0; count < 60; count++) {
    if (pick(3) === 0) await insert();
    await exchange(1 + pick(8));
    clock.advance(pick(20));
    await expectConsistent(at, store);
  }
  for (let count = 0; (await exchange(1 + pick(8))) > 0; count++) expect(count).toBeLessThan(2000);
  await expectConsistent(at, store);
  expect(starts.size).toBe(keys.length);
  await store.close();
});

test("while all keys have jobs, the short way starts as many of each", async () => {
  const clock = new TestClock();
  const store = await storeAt(prefix(), clock);
  await store.configure(QUEUE, { limits: readLimits({ perKey: { running: 3 } }) });
  const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
  await store.insert(Array.from({ length: 400 }, (_, index) => jobOf({ limitKey: keys[index % 20]! })));
  const starts = new Map(keys.map((key) => [key, 0]));
  let held: LeasedRecord[] = [];
  for (let count = 0; count < 40; count++) {
    const { claimed } = await store.exchange(
      held.map((lease) => settlementOf(lease, DONE)),
      [claimOf({ limit: 7 })],
    );
    held = claimed[0]!;
    expect(held).toHaveLength(7);
    for (const { limitKey } of held) starts.set(limitKey!, starts.get(limitKey!)! + 1);
    expect(Math.max(...starts.values()) - Math.min(...starts.values())).toBeLessThanOrEqual(1);
  }
  await store.close();
});

/** How many commands a server carries out meanwhile. */
async function commandsDuring(work: () => Promise<unknown>): Promise<number> {
  const count = async (): Promise<number> => {
    const stats = await redis().info("commandstats");
    return Array.from(stats.matchAll(/cmdstat_(?!info|ping)[^:]+:calls=(\d+)/g)).reduce((sum, [, calls]) => sum + Number(calls), 0);
  };
  const before = await count();
  await work();
  return (await count()) - before;
}

test("a claim costs the same whatever the number of keys, and of waiting jobs of a key at its limit", async () => {
  const costs: number[] = [];
  for (const many of [50, 2000]) {
    const at = prefix();
    const clock = new TestClock();
    const store = await storeAt(at, clock);
    await store.configure(QUEUE, { limits: readLimits({ perKey: { running: 1 } }) });
    const insert = async (keyOf: (index: number) => string): Promise<void> => {
      for (let from = 0; from < many; from += 250) {
        await store.insert(Array.from({ length: Math.min(250, many - from) }, (_, index) => jobOf({ limitKey: keyOf(from + index) })));
      }
    };
    // Two of each key, so that each line stands aside when its first job was taken.
    await insert(() => "full");
    await store.exchange([], [claimOf({ limit: 1 })]);
    await insert((index) => `key ${index}`);
    await insert((index) => `key ${index}`);
    clock.advance(1);
    await store.exchange([], [claimOf({ limit: 10 })]);
    // The store's own checks (whether somebody listens) may fall into one of them.
    const claims: number[] = [];
    for (let nth = 0; nth < 3; nth++) claims.push(await commandsDuring(() => store.exchange([], [claimOf({ limit: 10 })])));
    costs.push(Math.min(...claims));
    await store.close();
  }
  expect(costs[1]).toBe(costs[0]);
});

test("the place of a seq in a ring's member is that of a job's member", () => {
  expect(MEMBER.bytes).toBe(KEY_LINE.bytes - KEY_LINE.at.seq);
});
