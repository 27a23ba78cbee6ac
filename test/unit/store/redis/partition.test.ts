import { afterAll, beforeAll, expect, test } from "vitest";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { VirtualClock } from "../../../../src/testing/virtual-clock.ts";
import { admin, freshPrefix, type RedisServer, startRedis } from "../../../servers/redis.ts";
import { claim, claimOf, DONE, jobOf, openAt, prefix, settlementOf } from "./open.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

/** Names of queues that share a partition. */
function neighbours(count: number): string[] {
  const wanted = partitionOf("queue-0");
  const names: string[] = [];
  for (let number = 0; names.length < count; number++) {
    const name = `queue-${number}`;
    if (partitionOf(name) === wanted) names.push(name);
  }
  return names;
}

async function countsOf(store: Store, queue: string): Promise<Record<string, number>> {
  const state = (await store.queues()).find(({ name }) => name === queue)!;
  return Object.fromEntries(state.counts.map(({ status, count }) => [status, count]));
}

test("queues that share a partition are kept apart: jobs, keys, settings, figures, ends", async () => {
  const store = await openAt(server.url);
  const [a, b] = neighbours(2) as [string, string];
  await store.configure(a, { capacity: 2 });
  const job = jobOf({ queue: a, idempotencyKey: "k" });
  expect(await store.insert([job, jobOf({ queue: b, idempotencyKey: "k" }), jobOf({ queue: a }), jobOf({ queue: a })])).toMatchObject([
    { kind: "created" },
    { kind: "created" },
    { kind: "created" },
    { kind: "full", capacity: 2 },
  ]);
  await store.configure(b, { paused: true });
  const leases = await claim(store, { queues: [b, a] });
  expect(leases.map(({ queue }) => queue)).toEqual([a, a]);
  await store.exchange(
    leases.map((lease) => settlementOf(lease, DONE)),
    [],
  );
  expect([await countsOf(store, a), await countsOf(store, b)]).toEqual([{ completed: 2 }, { pending: 1 }]);
  expect(await store.prune([{ queue: b, ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10)).toEqual({ removed: 0 });
  expect(await store.prune([{ queue: a, ageMs: 86_400_000, count: 1, keepAtLeastMs: 0 }], 10)).toEqual({ removed: 1 });
  expect((await store.list({ queue: b, limit: 10 })).jobs.map(({ queue }) => queue)).toEqual([b]);
  expect((await store.counters({ step: "all", queue: b })).rows).toMatchObject([{ queue: b, counts: { enqueued: 1 } }]);
  await store.close();
});

test("a claim over queues of one partition and of others asks them in its order", async () => {
  const store = await openAt(server.url);
  const [a, b] = neighbours(2) as [string, string];
  const order = [a, "elsewhere", b, "nowhere"];
  for (const queue of [b, "elsewhere", a]) await store.insert([jobOf({ queue }), jobOf({ queue })]);
  expect((await claim(store, { queues: order, limit: 5 })).map(({ queue }) => queue)).toEqual([a, a, "elsewhere", "elsewhere", b]);
  await store.close();
});

test("a claim of more than one call brings is filled from one lane and from many", async () => {
  const store = await openAt(server.url);
  const jobs = Array.from({ length: 700 }, (_, index) => jobOf({ type: `t${index % 30}` }));
  await store.insert(jobs);
  expect((await claim(store, { limit: 600 })).map(({ id }) => id)).toEqual(jobs.slice(0, 600).map(({ id }) => id));
  expect(await claim(store, { limit: 600 })).toHaveLength(100);
  await store.close();
});

test("no hash has most of the jobs or keys of a queue: a Cluster would move it as one", async () => {
  const name = prefix();
  const store = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 10_000 });
  for (let batch = 0; batch < 18; batch++) {
    await store.insert(Array.from({ length: 500 }, (_, index) => jobOf({ idempotencyKey: `${batch}-${index}` })));
    await claim(store, { limit: 500 });
  }
  await admin(server.ports[0]!, async (redis) => {
    const sizes = await Promise.all(
      (await redis.keys(`${name}:{*`)).map(async (key) => ((await redis.type(key)) === "hash" ? redis.hlen(key) : 0)),
    );
    // Two buckets of 4,000 may be the same by chance, all three hardly.
    expect(Math.max(...sizes)).toBeLessThan(8_500);
  });
  await store.close();
});

test("few jobs of a status are found behind many others at once, and page by page", async () => {
  const store = await openAt(server.url);
  const old = Array.from({ length: 5 }, () => jobOf());
  await store.insert(old);
  const leases = await claim(store, { leaseMs: 3_600_000 });
  for (let batch = 0; batch < 12; batch++) await store.insert(Array.from({ length: 1_000 }, () => jobOf()));
  const page = await store.list({ status: ["running"], limit: 3 });
  expect(page.jobs.map(({ id }) => id)).toEqual(
    leases
      .map(({ id }) => id)
      .slice(2)
      .reverse(),
  );
  const rest = await store.list({ status: ["running"], limit: 3, cursor: page.cursor! });
  expect(rest.jobs.map(({ id }) => id)).toEqual([leases[1]!.id, leases[0]!.id]);
  expect(rest.cursor).toBeNull();
  await store.close();
});

test("a list of a time that is long past begins there", async () => {
  const store = await openAt(server.url);
  const early = jobOf();
  await store.insert([early]);
  const [found] = await store.find([early.id]);
  await expect.poll(async () => (await store.schedules([])).now).toBeGreaterThan(found!.createdAt);
  for (let batch = 0; batch < 11; batch++) await store.insert(Array.from({ length: 1_000 }, () => jobOf()));
  const page = await store.list({ to: found!.createdAt + 1, limit: 5 });
  expect(page.jobs.map(({ id }) => id)).toEqual([early.id]);
  expect(page.cursor).toBeNull();
  await store.close();
});

test("a claim that is told to be a repeat gets what its turn was granted, wherever that was, or claims anew if that was nothing", async () => {
  const store = await openAt(server.url);
  await store.insert([jobOf(), jobOf({ queue: "b" }), jobOf({ queue: "b" })]);
  const turn = claimOf({ queues: ["default", "b"], limit: 2 });
  const { claimed } = await store.exchange([], [turn]);
  const again = await store.exchange([], [{ ...turn, again: true }]);
  const ids = (leases: readonly { id: string }[]): string[] => leases.map(({ id }) => id).sort();
  expect(ids(again.claimed[0]!)).toEqual(ids(claimed[0]!));
  expect((await store.exchange([], [claimOf({ queues: ["b"], again: true })])).claimed[0]).toHaveLength(1);
  await store.close();
});

test("a queue whose name begins like the key of another queue's figures is kept apart from it", async () => {
  const clock = new VirtualClock(Date.UTC(2030, 0, 1));
  const store = await openRedisStore(freshPrefix(server.url), { clock, deadlineMs: 10_000 });
  const names = Array.from({ length: 20_000 }, (_, number) => `queue-${number}`);
  const queue = names.find((name) => partitionOf(name) === partitionOf(`${clock.now()}:${name}`))!;
  const alike = `${clock.now()}:${queue}`;
  await store.insert([jobOf({ queue }), jobOf({ queue: alike })]);
  const leases = await claim(store, { queues: [queue] });
  await store.exchange(
    leases.map((lease) => settlementOf(lease, DONE)),
    [],
  );
  // Waiting jobs of the other queue need new ranks from here on, and the run time of the first one moves to its hour.
  await store.configure(alike, { headStartMs: 1_000 });
  await clock.advance("4h");
  await store.sweep({ minutesMs: 86_400_000, hoursMs: 86_400_000 }, 100);
  expect((await store.counters({ step: "hour-times" })).rows).toMatchObject([{ queue, at: Date.UTC(2030, 0, 1) }]);
  expect(await store.rerank(alike, 100)).toBe(false);
  await store.close();
});
