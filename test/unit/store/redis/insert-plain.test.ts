import { expect, test } from "vitest";
import { encodeJobs, encodePlain } from "../../../../src/store/redis/insert.ts";
import { INSERT } from "../../../../src/store/redis/statements/insert.ts";
import { INSERT_PLAIN } from "../../../../src/store/redis/statements/insert-plain.ts";
import { contentsOf } from "./contents.ts";
import { elsewhere, jobOf, openAt } from "./open.ts";
import { serverOfThisFile } from "./server-of-this-file.ts";

const { server, redis } = serverOfThisFile();

const NOW = "1800000000000";
const evaluate = (text: string, prefix: string, ...args: readonly string[]): Promise<unknown> =>
  redis().eval(text, 2, `${prefix}:{0}:v`, `${prefix}:{0}:none`, NOW, ...args);

/** INSERT, with a given first sequence. */
const insertWhole = (prefix: string, base: string, args: readonly string[]): Promise<unknown> =>
  evaluate(INSERT.text, prefix, base, "1", "", ...args);

test("the script for usual jobs stores exactly what the other one stores", async () => {
  const kinds = [
    { queue: "mail", type: "send", priority: 0 },
    { queue: "mail", type: "send", priority: 10 },
    { queue: "mail", type: "late", priority: -10 },
    { queue: "reports", type: "send", priority: 5 },
  ];
  const first = encodeJobs(kinds.map((kind) => jobOf(kind)));
  for (const prefix of ["plain", "whole"]) {
    await insertWhole(prefix, "1000", first);
    // Types behind this one are counted together.
    await redis().hset(`${prefix}:{0}:qs:mail`, "lastTyped", 1, "headStart", 60_000, "capacity", 10_000);
  }
  for (const length of [1, 3, 250, 200]) {
    const jobs = Array.from({ length }, (_, index) =>
      elsewhere(jobOf({ ...kinds[index % kinds.length]!, payload: `{"n":${index}}` }), index),
    );
    expect(await evaluate(INSERT_PLAIN.text, "plain", ...encodePlain(jobs)!)).toBe(Number(NOW));
    const last = Number(await redis().hget("plain:{0}:v", "seq"));
    await insertWhole("whole", String(last - length + 1), encodeJobs(jobs));
  }
  const plain = await contentsOf(redis(), "plain");
  expect(Object.keys(plain).filter((key) => key.startsWith(":{0}:j:")).length).toBeGreaterThanOrEqual(5);
  expect(plain).toEqual(await contentsOf(redis(), "whole"));
  expect(Object.keys(plain)).toContain(":{0}:i:1");
});

test("it does nothing if the job is not a usual one", async () => {
  const [known, other] = [jobOf(), jobOf({ type: "other" })];
  const args = encodeJobs([known]);
  expect(await evaluate(INSERT_PLAIN.text, "refused", ...encodePlain([known])!)).toBe("whole");
  expect(await contentsOf(redis(), "refused")).toEqual({});
  await insertWhole("refused", "1000", args);
  await redis().hset("refused:{0}:qs:default", "capacity", 2);
  const before = await contentsOf(redis(), "refused");
  for (const jobs of [[known], [other], [jobOf(), known], [jobOf(), jobOf()]]) {
    expect(await evaluate(INSERT_PLAIN.text, "refused", ...encodePlain(jobs)!)).toBe("whole");
  }
  expect(await contentsOf(redis(), "refused")).toEqual(before);
  expect(await evaluate(INSERT_PLAIN.text, "refused", ...encodePlain([jobOf()])!)).toBe(Number(NOW));
});

test("it is not asked for jobs that it cannot store", () => {
  const twice = jobOf();
  for (const wish of [
    { delayMs: 1 },
    { runAt: 1 },
    { blocked: true },
    { idempotencyKey: "k" },
    { facets: { a: "b" } },
    { limitKey: "k" },
    { cost: 2 },
  ]) {
    expect(encodePlain([jobOf(), jobOf(wish)])).toBeNull();
  }
  expect(encodePlain([twice, jobOf(), twice])).toBeNull();
  expect(encodePlain(Array.from({ length: 9 }, (_, priority) => jobOf({ priority })))).toBeNull();
  expect(encodePlain(Array.from({ length: 8 }, (_, priority) => jobOf({ priority })))).not.toBeNull();
});

test("an id that is given twice in a list is one job", async () => {
  const store = await openAt(server().url);
  await store.insert([jobOf()]);
  const twice = jobOf();
  expect((await store.insert([twice, jobOf(), twice])).map(({ kind }) => kind)).toEqual(["created", "created", "created"]);
  expect((await store.queues())[0]!.counts).toMatchObject([{ status: "pending", count: 3 }]);
  await store.close();
});
