import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Facets } from "../../../../src/core/facets.ts";
import type { NewJob } from "../../../../src/core/job.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { MAX_CANDIDATES } from "../../../../src/store/store.ts";
import { admin, type RedisServer, startRedis } from "../../../servers/redis.ts";
import { openRedisStore } from "../../../../src/store/redis/redis-store.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { shortId } from "../../../../src/store/redis/ids.ts";
import { Keys } from "../../../../src/store/redis/keys.ts";
import { jobOf, openAt, prefix } from "./open.ts";

let server: RedisServer;
beforeAll(async () => void (server = await startRedis()));
afterAll(() => server.stop());

test("a list over several partitions gets further with each page, however many jobs of one do not match", async () => {
  const store = await openAt(server.url);
  expect(partitionOf("many")).not.toBe(partitionOf("few"));
  for (let left = 2 * MAX_CANDIDATES + 1000; left > 0; left -= 1000) {
    await store.insert(Array.from({ length: 1000 }, () => jobOf({ queue: "many" })));
  }
  const wanted = jobOf({ queue: "few", type: "wanted" });
  await store.insert([wanted]);
  const found: string[] = [];
  const cursors = new Set<string>();
  for (let cursor: string | undefined; ;) {
    const page = await store.list({ type: "wanted", limit: 10, cursor });
    found.push(...page.jobs.map(({ id }) => id));
    if (page.cursor === null) break;
    expect(cursors).not.toContain(page.cursor);
    cursors.add((cursor = page.cursor));
  }
  expect(found).toEqual([wanted.id]);
  await store.close();
});

describe("a list by facets", () => {
  test("finds exactly the jobs with this value, whatever else is in the bodies and in the names of keys", async () => {
    const store = await openAt(server.url);
    const text = '"facets":{"meta":"x"}}';
    const meta = JSON.stringify({ facets: { meta: "x" }, text });
    const all: [Partial<NewJob>, Facets][] = [
      [
        { tags: [text], meta, webhookUrl: text },
        { facets: "{", meta: "y" },
      ],
      [{}, { meta: "x" }],
      [{}, { "meta/x": "1/2" }],
      [{}, { "meta/x": "1%2F2" }],
      [{ queue: "default:a" }, { b: "c d" }],
      [{ queue: "default" }, { b: "c  d" }],
      [{}, { "\u0001": 'a"\\\n\u2028 é😀{}' }],
    ];
    const jobs = all.map(([wishes, facets]) => jobOf({ ...wishes, facets }));
    await store.insert([...jobs, jobOf({ tags: [text], meta, webhookUrl: text })]);
    for (const { id, queue, facets } of jobs) {
      for (const [field, value] of Object.entries(facets!)) {
        for (const query of [{ queue }, {}]) {
          const found = await store.list({ ...query, facets: { [field]: value }, limit: 10 });
          expect(found.jobs).toMatchObject([{ id, facets }]);
          expect(await store.count({ ...query, facets: { [field]: value } })).toEqual({ count: 1, isCapped: false });
        }
      }
    }
    await store.close();
  });

  test("in all queues runs a script only for queues with jobs that have them", async () => {
    const store = await openAt(server.url);
    const facets = { customer: "globex", region: "eu" };
    const others = Array.from({ length: 40 }, (_, index) => jobOf({ queue: `q${index}`, facets: { customer: "acme", region: "eu" } }));
    const wanted = ["mail", "sms"].map((queue) => jobOf({ queue, facets }));
    await store.insert([...others, ...wanted]);
    const scripts = async (): Promise<number> => {
      const info = await admin(server.ports[0]!, (redis) => redis.info("commandstats"));
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)![1]);
    };
    const ids = async (): Promise<string[]> => (await store.list({ facets, limit: 10 })).jobs.map(({ id }) => id);
    expect(await ids()).toEqual(wanted.map(({ id }) => id).reverse());
    const before = await scripts();
    expect(await ids()).toHaveLength(2);
    expect(await scripts()).toBe(before + 2);
    expect(await store.count({ facets })).toEqual({ count: 2, isCapped: false });
    expect(await scripts()).toBe(before + 4);
    expect(await store.list({ facets: { customer: "nobody" }, limit: 10 })).toEqual({ jobs: [], cursor: null });
    expect(await scripts()).toBe(before + 4);
    await store.close();
  });

  test("skips jobs that an older version removed and left in the index", async () => {
    const name = prefix();
    const store = await openRedisStore(`${server.url}?prefix=${name}`, { clock: systemClock, deadlineMs: 5_000 });
    const facets = { customer: "globex" };
    const jobs = Array.from({ length: 5 }, () => jobOf({ facets }));
    await store.insert(jobs);
    const [gone, also, ...left] = jobs.toReversed().map(({ id }) => id);
    for (const id of [shortId(gone!), shortId(also!)]) {
      await admin(server.ports[0]!, (redis) => redis.hdel(new Keys(name).bucket(partitionOf("default"), "bodies", id), id));
    }
    const { createdAt } = (await store.find([left[0]!]))[0]!;
    for (const query of [{}, { to: createdAt + 1 }, { status: ["pending"] as const }]) {
      const first = await store.list({ queue: "default", facets, limit: 2, ...query });
      expect(first.jobs.map(({ id }) => id)).toEqual(left.slice(0, 2));
      const second = await store.list({ queue: "default", facets, limit: 2, cursor: first.cursor!, ...query });
      expect(second.jobs.map(({ id }) => id)).toEqual(left.slice(2));
      expect(second.cursor).toBeNull();
    }
    expect(await store.list({ queue: "default", facets, status: ["dead"], limit: 2 })).toEqual({ jobs: [], cursor: null });
    expect(await store.count({ queue: "default", facets })).toEqual({ count: 3, isCapped: false });
    await store.close();
  });
});
