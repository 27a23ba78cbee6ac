import { describe, expect } from "vitest";
import { withGroup } from "../../../src/core/error-group.ts";
import { JsonText } from "../../../src/core/json-text.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, type World } from "../world.ts";
import { childOf, keep, noticesOf, result, send, stepsOf, told } from "./durable-work.ts";

const deep = (levels: number): unknown => (levels === 0 ? "bottom" : levels % 2 === 0 ? [deep(levels - 1)] : { a: deep(levels - 1) });

/** Payloads whose text must come back unit by unit. `parsed` so that `__proto__` is a plain key, as it is in a body from outside. */
const PAYLOADS: readonly [name: string, payload: unknown][] = [
  ["a text as it was written", new JsonText(String.raw`{ "n": 9007199254740993, "zero":-0, "one":1.0 ,"b":1,"1":"\u00e9\/" }`, null)],
  ["U+0000", { "\u0000": "a\u0000b" }],
  ["lone surrogates", ["\ud800", "\udc00x", "a\udfff"]],
  ["emoji and combining marks", { "\u{1F469}\u200d\u{1F680}": "e\u0301 \u00e9 \u202e \ufeff" }],
  ["__proto__ and constructor", JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')],
  ["deep nesting", deep(99)],
  ["numbers at the edge", [0, -0, 1e308, 5e-324, 2 ** 53, -(2 ** 53), 0.1, 1e21]],
  ["null", null],
  ["the empty text", ""],
  ["text that looks like JSON", '{"a":1}'],
  ["text that looks like SQL and Lua", "'); drop table millrace_job; -- ]] return redis.call('flushall') %s $1 ?1 :a @b"],
  ["controls and line ends", "\u0001\u001b[31m\r\n\t\u007f\u0085\u2028\u2029"],
  ["a thousand keys", Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key ${index}`, index]))],
];

/** Names that mean something to SQL, Lua, globs or hash tags. */
const NAMES = [
  "select",
  "DROP.TABLE",
  "null",
  "--",
  "a:b:c",
  "..",
  "-1",
  "0",
  "nil",
  "KEYS",
  "true",
  "constructor",
  "__proto__",
  "q".repeat(128),
];

const CLOSE_KEYS = [
  "key",
  "Key",
  "KEY",
  " key",
  "key ",
  "key\u0000",
  "k\u00e9y",
  "ke\u0301y",
  "ke\u0301y ",
  "key%",
  "k_y",
  "key*",
  "\u{1F511}",
];

async function roundTrip(world: World, payload: unknown): Promise<void> {
  const job = await world.add({ payload, meta: { payload } });
  const lease = await world.take();
  expect(lease.payload).toBe(job.payload);
  expect(lease.meta).toBe(job.meta);
  expect(await world.complete(lease, job.payload)).toBe("ok");
  const found = await world.find(job.id);
  expect(found.payload).toBe(job.payload);
  expect(found.result).toBe(job.payload);
}

export function inputSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("faithful storage", () => {
    for (const [name, payload] of PAYLOADS) {
      keeps(`payload, meta and result come back as they went in: ${name}`, (world) => roundTrip(world, payload));
    }

    keeps("a payload and a result of 1 MiB come back as they went in", async (world) => {
      const payload = "\u00e9".repeat(512 * 1024 - 1);
      const job = await world.add({ payload });
      expect(Buffer.byteLength(job.payload)).toBe(1024 * 1024);
      const lease = await world.take();
      expect(lease.payload === job.payload).toBe(true);
      await world.complete(lease, job.payload);
      expect((await world.find(job.id)).result === job.payload).toBe(true);
    });

    keeps("B01: U+0000 and lone surrogates in errors, progress and log lines never block a step", async (world) => {
      const lease = await world.running({ maxRetries: 3 });
      const hostile = "a\u0000b \ud800 \u{1F4A5} '";
      const progress = { percent: 1, note: hostile };
      expect(await world.store.note([{ id: lease.id, fence: lease.fence, progress, lines: ["nul \u0000 end"] }])).toEqual(["ok"]);
      expect((await world.find(lease.id)).progress).toEqual(progress);
      expect((await world.store.logs(lease.id, 0, 1))[0]!.text).toBe("nul \u0000 end");
      const error = { ...BOOM, name: hostile, message: hostile, stack: hostile };
      expect(await world.settle(lease, { kind: "failed", error, delayMs: 0, runMs: 0 })).toBe("ok");
      expect((await world.find(lease.id)).error).toEqual(withGroup(error));
      expect((await world.store.attempts(lease.id))[0]!.error).toEqual(withGroup(error));
    });

    keeps("B12: keys are compared exactly: case, space and normal form tell them apart", async (world) => {
      const jobs = [];
      for (const idempotencyKey of CLOSE_KEYS) jobs.push(await world.add({ idempotencyKey }));
      for (const [index, idempotencyKey] of CLOSE_KEYS.entries()) {
        const answer = await world.insert(world.job({ idempotencyKey }));
        expect(answer).toMatchObject({ kind: "known", job: { id: jobs[index]!.id, idempotencyKey } });
      }
    });

    keeps("B12: a key of 255 bytes is a key, and its last byte counts", async (world) => {
      await world.add({ idempotencyKey: "\u{1F511}".repeat(63) + "abc" });
      await world.add({ idempotencyKey: "\u{1F511}".repeat(63) + "abd" });
    });

    keeps("tags are compared exactly: no pattern, no part, no other case", async (world) => {
      const tags = ["a%", "a_", "ab", "A%", '"', "a\\", "[a]", "\u{1F3F7}", "x,y", " a%"];
      const jobs = [];
      for (const tag of tags) jobs.push(await world.add({ tags: [tag, "all"] }));
      for (const [index, tag] of tags.entries()) {
        expect((await world.store.list({ tag, limit: 100 })).jobs.map(({ id }) => id)).toEqual([jobs[index]!.id]);
      }
      expect((await world.store.list({ tag: "all", limit: 100 })).jobs).toHaveLength(tags.length);
    });

    for (const name of NAMES) {
      keeps(`B08: a queue, a type and a worker may be called ${name.slice(0, 20)}`, async (world) => {
        await world.add({ queue: "bystander", type: "bystander" });
        const job = await world.add({ queue: name, type: name, idempotencyKey: name, tags: [name.slice(0, 64)] });
        await world.store.configure(name, { capacity: 1 });
        expect(await world.insert(world.job({ queue: name }))).toEqual({ kind: "full", capacity: 1 });
        const lease = await world.take({ queues: [name], types: [name], workerId: name });
        expect(lease).toMatchObject({ id: job.id, queue: name, type: name, workerId: name });
        expect(await world.complete(lease)).toBe("ok");
        expect((await world.store.list({ queue: name, type: name, limit: 10 })).jobs).toHaveLength(1);
        expect(await world.counts(name)).toEqual({ completed: 1 });
        expect(await world.total("completed", name)).toBe(1);
        expect(await world.counts("bystander")).toEqual({ pending: 1 });
      });
    }

    keeps("names that differ only in case are different queues", async (world) => {
      await world.add({ queue: "Mail" });
      await world.add({ queue: "mail" });
      await world.store.configure("MAIL", { paused: true });
      expect((await world.store.queues()).map(({ name }) => name).sort()).toEqual(["MAIL", "Mail", "mail"]);
      expect(await world.claim({ queues: ["Mail"] })).toHaveLength(1);
    });

    keeps("B14: one odd item among a thousand stops none of the others", async (world) => {
      const jobs = world.jobs(1_000, (index) => (index === 500 ? { payload: "\u0000\ud800", idempotencyKey: "\u0000" } : {}));
      const answers = await world.store.insert(jobs);
      expect(answers.filter(({ kind }) => kind === "created")).toHaveLength(1_000);
      expect((await world.find(jobs[500]!.id)).payload).toBe(jobs[500]!.payload);
    });

    keeps("what callers do to what they gave or got changes nothing that is stored", async (world) => {
      const tags = ["mine"];
      const job = { ...world.job(), tags };
      await world.insert(job);
      tags.push("late");
      const lease = await world.take();
      expect(lease.tags).toEqual(["mine"]);
      const found = (await world.find(job.id)) as { status: string; fence: number };
      found.status = "completed";
      found.fence = 99;
      const error = { ...BOOM };
      expect(await world.settle(lease, { kind: "failed", error, delayMs: 0, runMs: 0 })).toBe("ok");
      error.message = "changed";
      expect(await world.find(job.id)).toMatchObject({ status: "retrying", fence: 1, tags: ["mine"], error: BOOM });
      const [attempt] = (await world.store.attempts(job.id)) as { number: number }[];
      attempt!.number = 7;
      expect(await world.store.attempts(job.id)).toMatchObject([{ number: 1, error: BOOM }]);
    });

    keeps("the same of steps and notices", async (world) => {
      const lease = await world.running();
      const child = { ...childOf(world, lease, "c"), tags: ["mine"] };
      await world.insert(child);
      const held = await world.take();
      const step = { ...result("a"), value: "1" };
      expect(await keep(world, lease, step)).toBe("ok");
      const settlement = told(held);
      const notice = settlement.notice as { kind: "end"; end: { value: string | null } };
      await send(world, settlement);
      step.value = "2";
      notice.end.value = "6";
      const [found] = (await stepsOf(world, lease.id)) as { value: string | null }[];
      const [left] = (await noticesOf(world)) as (typeof notice)[];
      found!.value = "3";
      left!.end.value = "7";
      expect(await stepsOf(world, lease.id)).toMatchObject([{ value: "1" }]);
      expect(await noticesOf(world)).toMatchObject([{ end: { value: "5" } }]);
    });

    keeps("twenty tags, a webhook and 16 KiB of meta come back as they went in", async (world) => {
      const tags = Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(64, "\u00e9"));
      const meta = { text: "x".repeat(16 * 1024 - 11) };
      const job = await world.add({ tags, meta, webhookUrl: "https://user@example.org:8443/%00?q=%F0%9F%98%80#x" });
      const lease = await world.take();
      expect(lease).toMatchObject({ tags: job.tags, meta: job.meta, webhookUrl: job.webhookUrl });
      expect(await world.find(job.id)).toMatchObject({ tags, meta: job.meta, webhookUrl: job.webhookUrl });
    });
  });
}
