import { afterAll, beforeAll, expect, test } from "vitest";
import { partitionOf } from "../../../../src/core/partition.ts";
import { MAX_CANDIDATES } from "../../../../src/store/store.ts";
import { type RedisServer, startRedis } from "../../../servers/redis.ts";
import { jobOf, openAt } from "./open.ts";

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
