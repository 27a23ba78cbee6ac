/** Bad input, tried on every engine: each is refused with the name of its field, or comes back as it went in. B01 … B16 of the catalogue. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Client, Handler } from "../../../src/client/client.ts";
import { connect } from "../../../src/connect.ts";
import { type Job, MAX_LOG_LINE_BYTES, MAX_LOG_LINES } from "../../../src/core/job.ts";
import { MAX_PAYLOAD_BYTES } from "../../../src/core/json.ts";

const NAMES = [
  "",
  "x".repeat(129),
  "../up",
  "{x}",
  "a b",
  "a\n",
  "\u001b[31m",
  "😀",
  "a\u202eb",
  "a*",
  "a[b]",
  "%",
  "'; --",
  "a/b",
  "\u0000",
];

describe.each(["memory", "sqlite"] as const)("%s", (engine) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bad-input-"));
  let client: Client;

  beforeAll(async () => {
    client = await connect(engine === "memory" ? "memory:" : `sqlite:${join(folder, "jobs.db")}`);
  });

  afterAll(async () => {
    await client.close();
    rmSync(folder, { recursive: true });
  });

  let runs = 0;

  /** Runs one job with a handler, to its end. */
  async function run(handler: Handler): Promise<Job> {
    const type = `run-${++runs}`;
    const worker = client.work({ [type]: handler });
    const { id } = await client.enqueue(type, null, { maxRetries: 0 });
    const job = await client.wait(id);
    await worker.stop();
    return job;
  }

  async function stored(payload: unknown): Promise<unknown> {
    const { id } = await client.enqueue("t", payload);
    return (await client.get(id))!.payload;
  }

  const refused = (call: Promise<unknown>, field: string | RegExp): Promise<void> =>
    expect(call).rejects.toMatchObject({ code: "invalid_input", field: expect.stringMatching(field) as string });

  const nobodyThere = async (queue: string): Promise<void> => expect((await client.list({ queue })).jobs).toEqual([]);

  describe("B01: U+0000", () => {
    test("in a payload, a key, a tag and meta comes back as it went in", async () => {
      const job = await client.enqueue(
        "t",
        { "a\u0000": "b\u0000c" },
        { idempotencyKey: "k\u0000", tags: ["t\u0000"], meta: { "m\u0000": "\u0000" } },
      );
      expect(await client.get(job.id)).toMatchObject({
        payload: { "a\u0000": "b\u0000c" },
        idempotencyKey: "k\u0000",
        tags: ["t\u0000"],
        meta: { "m\u0000": "\u0000" },
      });
      expect((await client.enqueue("t", { "a\u0000": "b\u0000c" }, { idempotencyKey: "k\u0000" })).id).toBe(job.id);
    });

    test("in a result, an error, a log line or a note never keeps a job from ending", async () => {
      const good = await run(async (_payload, ctx) => {
        ctx.log("line\u0000end");
        ctx.progress(50, "half\u0000");
        return { text: "\u0000" };
      });
      expect(good).toMatchObject({ status: "completed", result: { text: "\u0000" } });
      expect((await client.logs(good.id))[0]!.text).toMatch(/^line.?end$/s);
      const bad = await run(async () => {
        throw new Error("a\u0000b");
      });
      expect(bad).toMatchObject({ status: "dead", error: { message: expect.stringMatching(/^a.*b$/s) as string } });
    });
  });

  test("B02: lone surrogates come back as they went in, or are refused where bytes are compared", async () => {
    expect(await stored({ a: "\ud800", "\udfff": "\ufeff" })).toEqual({ a: "\ud800", "\udfff": "\ufeff" });
    await refused(client.enqueue("t", 1, { idempotencyKey: "\ud800" }), "idempotencyKey");
    await refused(client.enqueue("t", 1, { tags: ["\udc00"] }), "tags");
    expect(await run(async () => "\ud800")).toMatchObject({ status: "completed", result: "\ud800" });
  });

  describe("B03: a result that JSON cannot hold fails the attempt, and the worker lives", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    test.each<[string, unknown]>([
      ["a cycle", cycle],
      ["a bigint", { n: 1n }],
      ["a function", () => 1],
      ["a getter that throws", { get x(): never { throw new Error("no"); } }], // oxfmt-ignore
      ["a toJSON that throws", { toJSON: (): never => { throw new Error("no"); } }], // oxfmt-ignore
      ["NaN", Number.NaN],
    ])("%s", async (_, result) => {
      expect(await run(async () => result)).toMatchObject({
        status: "dead",
        result: null,
        error: { message: expect.stringContaining("result") as string },
      });
    });

    test("undefined is no result", async () => {
      expect(await run(async () => undefined)).toMatchObject({ status: "completed", result: null });
    });
  });

  describe("B04: whatever is thrown is recorded, within bounds", () => {
    const circular = new Error("outer");
    circular.cause = circular;
    const long = new Error("long");
    long.stack = "s".repeat(5_000_000);
    test.each<[string, unknown]>([
      ["null", null],
      ["undefined", undefined],
      ["a text", "just text"],
      ["an object", { code: 5 }],
      ["a promise", Promise.resolve(1)],
      ["a symbol", Symbol("s")],
      ["a cause that is a cycle", circular],
      ["a stack of 5 MB", long],
      ["an error whose message throws", Object.defineProperty(new Error("x"), "message", { get: () => { throw new Error("no"); } })], // oxfmt-ignore
    ])("%s", async (_, thrown) => {
      const job = await run(async () => {
        throw thrown;
      });
      expect(job.status).toBe("dead");
      expect(job.error).toMatchObject({ kind: "error", name: expect.any(String) as string, message: expect.any(String) as string });
      expect((job.error!.stack ?? "").length).toBeLessThanOrEqual(64 * 1024);
      expect(job.error!.message.length).toBeLessThanOrEqual(64 * 1024);
    });
  });

  test("B05: __proto__ and constructor.prototype are plain data in payloads, and refused elsewhere", async () => {
    const text = '{"__proto__":{"polluted":1},"a":{"constructor":{"prototype":{"polluted":1}}}}';
    expect(JSON.stringify(await stored(JSON.parse(text)))).toBe(text);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    await refused(client.enqueue("t", 1, JSON.parse('{"__proto__":{"queue":"x"}}') as object), "__proto__");
    await refused(client.list(JSON.parse('{"constructor":1}') as object), "constructor");
  });

  test("B06: depth and size are bounded, and numbers are doubles", async () => {
    const deep: unknown = JSON.parse("[".repeat(10_000) + "]".repeat(10_000));
    await refused(client.enqueue("t", deep), "payload");
    await refused(client.enqueue("t", Object.fromEntries(Array.from({ length: 1_000_000 }, (_, n) => [`k${n}`, 1]))), "payload");
    await refused(client.enqueue("t", { big: JSON.parse("1e400") as number }), "payload.big");
    expect(await stored([2 ** 53 + 1, -0, 1e308, 5e-324])).toEqual([2 ** 53, 0, 1e308, 5e-324]);
  });

  test("B07: a payload at the limit passes, one byte more does not", async () => {
    const text = "x".repeat(MAX_PAYLOAD_BYTES - 2);
    expect(await stored(text)).toBe(text);
    await refused(client.enqueue("t", `${text}x`), "payload");
    await refused(client.enqueue("t", "ü".repeat(MAX_PAYLOAD_BYTES / 2)), "payload");
  });

  test.each(NAMES)("B08: the name %j is refused everywhere", async (name) => {
    await refused(client.enqueue(name), "type");
    await refused(client.enqueue("t", 1, { queue: name }), "queue");
    await refused(client.list({ type: name }), "type");
    await refused(client.list({ queue: name }), "queue");
    await refused(client.pause(name), "queue");
    await refused(client.configure(name, {}), "queue");
    await refused(client.schedules.upsert({ name, type: "t", every: "1m" }), "name");
    await refused(client.schedules.upsert({ name: "n", type: name, every: "1m" }), "type");
    expect((await client.queues()).map((queue) => queue.name)).not.toContain(name);
  });

  test("B08: names that look like patterns of a store but are in the grammar are only names", async () => {
    await client.enqueue("a_b", 1, { queue: "lane_1" });
    await client.enqueue("axb", 1, { queue: "lanex1" });
    expect((await client.list({ queue: "lane_1" })).jobs.map((job) => job.type)).toEqual(["a_b"]);
    expect((await client.list({ type: "a_b" })).jobs).toHaveLength(1);
  });

  test.each([-1, Number.NaN, Infinity, 0.5, "1e999", "", "5", "-5s", "99999d", {}, null])(
    "B09: the delay %j is refused, and nothing runs by accident",
    async (delay) => {
      await refused(client.enqueue("t", 1, { queue: "b09", delay: delay as number }), "delay");
      await nobodyThere("b09");
    },
  );

  test.each([
    "2030-01-01",
    "2030-01-01T00:00:00",
    "tomorrow",
    1_900_000_000,
    "+275761-01-01T00:00:00Z",
    8.64e15,
    "2030-02-30T00:00:00Z",
    "",
  ])("B09: the time %j is refused", async (runAt) => {
    await refused(client.enqueue("t", 1, { queue: "b09", runAt }), "runAt");
    await nobodyThere("b09");
  });

  test.each([
    "0 0 30 2 *",
    "0 0 31 4,6 *",
    "*/0 * * * *",
    "60 * * * *",
    "5-1 * * * *",
    "* ".repeat(10_000),
    "x".repeat(1_000_000),
    "@every 0s",
    "@every 1ns",
    "",
  ])("B10: the cron %.30j is refused", async (cron) => {
    await refused(client.schedules.upsert({ name: "n", type: "t", cron }), "cron");
    await refused(client.schedules.preview({ cron }), "cron");
    expect(await client.schedules.get("n")).toBeNull();
  });

  test("B10: unknown time zones and intervals below a second are refused", async () => {
    await refused(client.schedules.upsert({ name: "n", type: "t", cron: "* * * * *", timeZone: "Mars/Base" }), "timeZone");
    await refused(client.schedules.upsert({ name: "n", type: "t", every: 999 }), "every");
  });

  test.each<[string, unknown]>([
    ["priority", 101],
    ["priority", -101],
    ["priority", 1.5],
    ["priority", "5"],
    ["priority", Number.MAX_SAFE_INTEGER + 1],
    ["maxRetries", -1],
    ["maxRetries", 1e9],
    ["maxRetries", 0.5],
    ["timeout", -1],
    ["retryDelay", -1],
  ])("B11: %s %j is refused", async (field, value) => {
    await refused(client.enqueue("t", 1, { queue: "b11", [field]: value }), field);
    await nobodyThere("b11");
  });

  test("B12: keys are compared byte by byte", async () => {
    const keys = ["order-1", "Order-1", "order-1 ", " order-1", "\u00e9", "e\u0301", "%", "_", "'", "\\"];
    const jobs = await Promise.all(keys.map((idempotencyKey) => client.enqueue("t", 1, { queue: "b12", idempotencyKey })));
    expect(new Set(jobs.map((job) => job.id)).size).toBe(keys.length);
    const again = await Promise.all(keys.map((idempotencyKey) => client.enqueue("t", 1, { queue: "b12", idempotencyKey })));
    expect(again.map((job) => job.id)).toEqual(jobs.map((job) => job.id));
    await refused(client.enqueue("t", 1, { idempotencyKey: "" }), "idempotencyKey");
    await refused(client.enqueue("t", 1, { idempotencyKey: "k".repeat(10_240) }), "idempotencyKey");
    await expect(client.enqueue("t", 2, { queue: "b12", idempotencyKey: "order-1" })).rejects.toMatchObject({
      code: "key_conflict",
      jobId: jobs[0]!.id,
    });
  });

  test("B13: a type that nobody handles waits, and others pass it", async () => {
    const { id } = await client.enqueue("nobody", 1, { priority: 100 });
    expect((await run(async () => "passed")).result).toBe("passed");
    expect(await client.get(id)).toMatchObject({ status: "pending", attempt: 0 });
  });

  test.each([0, 1, 1000, 1001])("B14: a bulk of %d is answered one by one", async (count) => {
    const results = await client.enqueueMany(Array.from({ length: count }, () => ({ type: "t", queue: `b14-${count}` })));
    expect(results.filter((result) => result.ok)).toHaveLength(count);
  });

  test("B14: one bad item among 1,000 is alone with its error", async () => {
    const items = Array.from({ length: 1000 }, (_, n) => ({ type: "t", queue: "b14", payload: n === 500 ? Number.NaN : n }));
    const results = await client.enqueueMany(items);
    expect(results.map((result) => result.ok).indexOf(false)).toBe(500);
    expect(results.filter((result) => !result.ok)).toHaveLength(1);
    expect((await client.list({ queue: "b14", limit: 1000 })).jobs).toHaveLength(999);
  });

  test("B15: a cursor that this list did not give out is refused", async () => {
    await client.enqueueMany(Array.from({ length: 3 }, () => ({ type: "t", queue: "b15" })));
    const { cursor } = await client.list({ queue: "b15", limit: 1 });
    for (const bad of ["nonsense", `${cursor}!`, `!${cursor}`, cursor!.slice(1), "", "\u0000", "x".repeat(5000)]) {
      await expect(client.list({ queue: "b15", cursor: bad })).rejects.toMatchObject({ code: "invalid_cursor" });
    }
  });

  test("B16: a flood of progress and logs is gathered and cut", async () => {
    const job = await run(async (_payload, ctx) => {
      for (let count = 0; count < 100_000; count++) ctx.progress(count / 1000, `step ${count}`);
      ctx.log("x".repeat(1_000_000));
      for (let count = 0; count < 5000; count++) ctx.log(`line ${count}`);
    });
    expect(job.status).toBe("completed");
    const lines = await client.logs(job.id, { limit: 1000 });
    expect(lines.length).toBeLessThanOrEqual(MAX_LOG_LINES);
    expect(Buffer.byteLength(lines[0]!.text)).toBeLessThanOrEqual(MAX_LOG_LINE_BYTES);
  });
});
