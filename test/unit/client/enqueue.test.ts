import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../../src/client/define-job.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { sleep } from "../../../src/lib/clock.ts";
import { tenBitsOf } from "../../../src/lib/id.ts";
import { partitionOf } from "../../../src/core/partition.ts";
import { strayRejections } from "../stray-rejections.ts";
import { claim, listenTo, MISSING_ID, openClient, spyOn, START } from "./open-client.ts";

const settled = async <T>(calls: Promise<T>[]): Promise<(T | string)[]> =>
  (await Promise.allSettled(calls)).map((end) => (end.status === "fulfilled" ? end.value : (end.reason as MillraceError).code));

describe("enqueue", () => {
  test("answers with the job as it was stored, not as it was given", async () => {
    const { client } = await openClient();
    const given = { at: new Date(0), gone: undefined, list: [1] };
    const job = await client.enqueue("mail", given, { priority: "high", delay: "5m", tags: ["x"], meta: { m: 1 } });
    given.list.push(2);
    expect(job).toMatchObject({
      type: "mail",
      queue: "default",
      status: "scheduled",
      priority: 10,
      payload: { at: "1970-01-01T00:00:00.000Z", list: [1] },
      tags: ["x"],
      meta: { m: 1 },
      createdAt: START,
      scheduledAt: START + 300_000,
      created: true,
      pruned: false,
    });
    const { created: _created, pruned: _pruned, ...plain } = job;
    expect(await client.get(job.id)).toEqual(plain);
  });

  test("refused by one check leaves no promise of another behind", async () => {
    const { client, store } = await openClient({ queueCapacity: 10, strictTypes: true });
    const options = { webhookUrl: "http://127.0.0.1/" };
    // Has the checks of webhooks loaded: from then on they throw at once.
    await expect(client.enqueue(defineJob({ type: "plain" }), null, options)).rejects.toMatchObject({ field: "webhookUrl" });
    Object.assign(store, { queues: () => Promise.reject(new MillraceError("store_unavailable", "away")) });
    const checked = defineJob({ type: "checked", input: z.string().refine(() => Promise.resolve(false)) });
    const strays = strayRejections();
    const jobs = ["typo", "plain", checked].map((type) => ({ type: type as string, payload: "text", ...options }));
    for (const { type } of jobs) await expect(client.enqueue(type, "text", options)).rejects.toBeInstanceOf(MillraceError);
    expect((await client.enqueueMany(jobs)).map(({ ok }) => ok)).toEqual([false, false, false]);
    expect(await strays()).toEqual([]);
  });

  test("makes ids that rise and carry the partition of their queue", async () => {
    const { client } = await openClient();
    const jobs = await Promise.all(Array.from({ length: 50 }, () => client.enqueue("t", null, { queue: "mail" })));
    const ids = jobs.map((job) => job.id);
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids.map(tenBitsOf))).toEqual(new Set([partitionOf("mail")]));
  });

  test("gathers concurrent calls into one insert, and keeps jobs with a key apart from it", async () => {
    const { client, store } = await openClient();
    const inserts = spyOn(store, "insert");
    await Promise.all([1, 2, 3, 4].map((n) => client.enqueue(`t${n}`, null, n % 2 === 0 ? { idempotencyKey: `k${n}` } : undefined)));
    expect(inserts.map(([jobs]) => jobs.map((job) => job.type))).toEqual([
      ["t1", "t3"],
      ["t2", "t4"],
    ]);
  });

  test("bounds a batch at 1,000 jobs and at 4 MiB", async () => {
    const { client, store } = await openClient();
    const inserts = spyOn(store, "insert");
    await Promise.all(Array.from({ length: 1500 }, () => client.enqueue("t")));
    expect(inserts.map(([jobs]) => jobs.length)).toEqual([1000, 500]);
    inserts.length = 0;
    await Promise.all(Array.from({ length: 9 }, () => client.enqueue("t", "x".repeat(1024 * 1024 - 2))));
    expect(inserts.map(([jobs]) => jobs.length)).toEqual([4, 4, 1]);
  });

  test("refuses more than 10,000 waiting calls, and only those", async () => {
    const { client } = await openClient();
    const answers = await settled(Array.from({ length: 10_003 }, () => client.enqueue("t")));
    expect(answers.filter((answer) => answer === "store_unavailable")).toHaveLength(3);
    expect(answers.filter((answer) => typeof answer === "object")).toHaveLength(10_000);
  });

  test("counts all calls that wait, whatever they ask for", async () => {
    const { client } = await openClient();
    const gets = Array.from({ length: 9999 }, () => client.get(MISSING_ID));
    const answers = await settled([client.enqueue("t"), client.enqueue("t", null, { idempotencyKey: "k" })]);
    expect(answers).toEqual([expect.objectContaining({ created: true }), "store_unavailable"]);
    await Promise.all(gets);
    expect((await client.enqueue("t")).created).toBe(true);
  });

  test("refuses those who have waited for their batch as long as a call may take", async () => {
    const { client, clock } = await openClient({
      deadlineMs: 1000,
      prepare: (store) => {
        store.insert = async () => {
          await sleep(clock, 1000);
          throw new MillraceError("store_unavailable", "away");
        };
      },
    });
    let refused = 0;
    const calls = Array.from({ length: 4000 }, () => client.enqueue("t").catch(() => refused++));
    await clock.advance("1s");
    expect(refused).toBe(4000);
    await Promise.all(calls);
  });

  test("bounds a batch at 4 MiB of payload, meta and tags", async () => {
    const { client, store } = await openClient();
    const inserts = spyOn(store, "insert");
    const heavy = { meta: { text: "x".repeat(16_000) }, tags: Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(64, "x")) };
    await Promise.all(Array.from({ length: 400 }, () => client.enqueue("t", null, heavy)));
    const weights = inserts.map(([jobs]) =>
      jobs.reduce((sum, job) => sum + job.payload.length + job.meta!.length + job.tags.join("").length, 0),
    );
    expect(inserts.length).toBe(2);
    for (const weight of weights) expect(weight).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  test("gives each caller its own answer: one bad or refused job does not touch the others", async () => {
    const { client } = await openClient();
    await client.configure("small", { capacity: 1 });
    const answers = await settled([
      client.enqueue("t", null, { queue: "small" }),
      client.enqueue("t", null, { queue: "small" }),
      client.enqueue("t", Number.NaN),
      client.enqueue("t", null, { priority: 999 }),
      client.enqueue("t"),
    ]);
    expect(answers.map((answer) => (typeof answer === "string" ? answer : answer.status))).toEqual([
      "pending",
      "queue_full",
      "invalid_input",
      "invalid_input",
      "pending",
    ]);
  });

  test("says how long to wait when a queue is full", async () => {
    const { client } = await openClient();
    await client.configure("small", { capacity: 1 });
    await client.enqueue("t", null, { queue: "small" });
    await expect(client.enqueue("t", null, { queue: "small" })).rejects.toMatchObject({
      code: "queue_full",
      retryAfterMs: 1000,
      message: "queue small is full: its capacity of 1 is reached; try again later",
    });
  });

  test("fails with the store's error when the store is away", async () => {
    const { client } = await openClient({
      prepare: (store) => (store.insert = () => Promise.reject(new MillraceError("store_unavailable", "away"))),
    });
    await expect(client.enqueue("t")).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("in a transaction is refused where the engine has none", async () => {
    const { client } = await openClient();
    const refusal = { code: "invalid_transaction", message: expect.stringContaining("this engine has no transactions") as string };
    await expect(client.enqueue("t", null, { tx: {} })).rejects.toMatchObject(refusal);
    await expect(client.enqueueMany([{ type: "t" }], { tx: {} })).rejects.toMatchObject(refusal);
    expect((await client.enqueue("t", null, { tx: undefined })).created).toBe(true);
  });

  test("uses the defaults of the client, then of the definition, then of the call", async () => {
    const { client } = await openClient({ defaults: { queue: "all", maxRetries: 1, timeout: "1s" } });
    const mail = defineJob({ type: "mail", maxRetries: 7, timeout: "2s" });
    expect(await client.enqueue("t")).toMatchObject({ queue: "all", maxRetries: 1, timeout: 1000 });
    expect(await client.enqueue(mail, null)).toMatchObject({ type: "mail", queue: "all", maxRetries: 7, timeout: 2000 });
    expect(await client.enqueue(mail, null, { timeout: "3s" })).toMatchObject({ maxRetries: 7, timeout: 3000 });
  });

  test("takes how often a job may be lost from where its retries come from, unless it is said", async () => {
    const { client } = await openClient({ defaults: { maxRetries: 0 } });
    expect(await client.enqueue("t")).toMatchObject({ maxRetries: 0, maxLost: 0, lostCount: 0 });
    expect(await client.enqueue("t", null, { maxRetries: 1 })).toMatchObject({ maxLost: 3 });
    expect(await client.enqueue("t", null, { maxLost: 5 })).toMatchObject({ maxRetries: 0, maxLost: 5 });
    expect(await client.enqueue(defineJob({ type: "mail", maxLost: 1 }), null, { maxRetries: 9 })).toMatchObject({ maxLost: 1 });
  });

  test("knows a bad default before anything is enqueued", async () => {
    await expect(openClient({ defaults: { priority: 1000 } })).rejects.toMatchObject({ code: "invalid_input", field: "priority" });
  });
});

describe("an idempotency key", () => {
  test("that is known gives the stored job and makes none", async () => {
    const { client } = await openClient();
    const first = await client.enqueue("pay", { a: 1, b: 2 }, { idempotencyKey: "k" });
    const again = await client.enqueue("pay", { b: 2, a: 1 }, { idempotencyKey: "k", priority: "high" });
    expect(again).toEqual({ ...first, created: false });
    expect((await client.list()).jobs).toHaveLength(1);
  });

  test("belongs to one queue", async () => {
    const { client } = await openClient();
    const [a, b] = await Promise.all(["a", "b"].map((queue) => client.enqueue("pay", 1, { idempotencyKey: "k", queue })));
    expect(a!.id).not.toBe(b!.id);
  });

  test("with another type or payload is a conflict that names the job", async () => {
    const { client } = await openClient();
    const first = await client.enqueue("pay", { a: 1 }, { idempotencyKey: "k" });
    for (const call of [
      client.enqueue("pay", { a: 2 }, { idempotencyKey: "k" }),
      client.enqueue("other", { a: 1 }, { idempotencyKey: "k" }),
    ]) {
      await expect(call).rejects.toMatchObject({ code: "key_conflict", jobId: first.id, field: "idempotencyKey" });
    }
  });

  test("in 200 calls at once makes one job, and every caller gets it", async () => {
    const { client } = await openClient();
    const jobs = await Promise.all(Array.from({ length: 200 }, () => client.enqueue("pay", 1, { idempotencyKey: "k" })));
    expect(new Set(jobs.map((job) => job.id)).size).toBe(1);
    expect(jobs.filter((job) => job.created)).toHaveLength(1);
  });

  test("of a refused job is free", async () => {
    const { client } = await openClient();
    await client.configure("small", { capacity: 1 });
    const blocker = await client.enqueue("t", null, { queue: "small" });
    await expect(client.enqueue("pay", 1, { queue: "small", idempotencyKey: "k" })).rejects.toMatchObject({ code: "queue_full" });
    await client.cancel(blocker.id);
    expect((await client.enqueue("pay", 1, { queue: "small", idempotencyKey: "k" })).created).toBe(true);
  });

  test("of a pruned job still answers: id, type, queue and status, and nothing pretended", async () => {
    const { client, store, clock } = await openClient();
    const { id } = await client.enqueue("pay", { a: 1 }, { idempotencyKey: "k", priority: 5, tags: ["x"] });
    await client.cancel(id);
    await clock.advance("1h");
    await store.prune([{ queue: "default", ageMs: 0, count: 0, keepAtLeastMs: 0 }], 10);
    expect(await client.enqueue("pay", { a: 1 }, { idempotencyKey: "k", priority: 5, tags: ["x"] })).toMatchObject({
      id,
      type: "pay",
      queue: "default",
      status: "cancelled",
      created: false,
      pruned: true,
      payload: null,
      priority: 0,
      tags: [],
      createdAt: 0,
    });
    expect(await client.get(id)).toBeNull();
  });
});

describe("enqueueMany", () => {
  test("answers one by one, in order; a bad item is alone with its error", async () => {
    const { client } = await openClient();
    const items: unknown[] = Array.from({ length: 10 }, (_, n) => ({ type: `t${n}`, payload: n }));
    items[3] = { type: "t3", priority: 1000 };
    items[5] = null;
    items[7] = { type: "" };
    items[8] = { type: "t8", tx: {} };
    const results = await client.enqueueMany(items as { type: string }[]);
    expect(results.map((result) => (result.ok ? result.job.type : result.error.field))).toEqual([
      "t0",
      "t1",
      "t2",
      "priority",
      "t4",
      "job",
      "t6",
      "type",
      "tx",
      "t9",
    ]);
  });

  test("splits at 1,000 and keeps the order of the list", async () => {
    const { client, store } = await openClient();
    const inserts = spyOn(store, "insert");
    const results = await client.enqueueMany(Array.from({ length: 2500 }, (_, n) => ({ type: "t", payload: n })));
    expect(inserts.map(([jobs]) => jobs.length)).toEqual([1000, 1000, 500]);
    expect(results.every((result, n) => result.ok && result.job.payload === n)).toBe(true);
    const { jobs } = await claim(client, 3);
    expect(jobs.map(({ job }) => job.payload)).toEqual([0, 1, 2]);
  });

  test("in parts: says of each item in its place why it is refused, also if a whole part is", async () => {
    const { client } = await openClient();
    const isBad = (n: number): boolean => n === 7 || (n >= 1000 && n < 2000) || n === 2400;
    const items = Array.from({ length: 2500 }, (_, n) => ({ type: isBad(n) ? "" : "t", payload: n }));
    const results = await client.enqueueMany(items);
    expect(results).toHaveLength(2500);
    expect(results.every((result, n) => (result.ok ? !isBad(n) && result.job.payload === n : isBad(n)))).toBe(true);
  });

  test("takes the list as it was when it was called", async () => {
    const { client } = await openClient();
    const items = Array.from({ length: 2500 }, (_, n) => ({ type: "t", payload: n }));
    const called = client.enqueueMany(items);
    items.length = 0;
    expect((await called).every((result, n) => result.ok && result.job.payload === n)).toBe(true);
  });

  test("of nothing is nothing, and of anything but a list is refused", async () => {
    const { client } = await openClient();
    expect(await client.enqueueMany([])).toEqual([]);
    await expect(client.enqueueMany("jobs" as never)).rejects.toMatchObject({ code: "invalid_input", field: "jobs" });
    await expect(client.enqueueMany([], { txn: 1 } as never)).rejects.toMatchObject({ code: "invalid_input", field: "txn" });
  });

  test("with equal keys: the first wins", async () => {
    const { client } = await openClient();
    const results = await client.enqueueMany([
      { type: "pay", payload: 1, idempotencyKey: "k" },
      { type: "pay", payload: 1, idempotencyKey: "k" },
      { type: "pay", payload: 2, idempotencyKey: "k" },
    ]);
    expect(results.map((result) => (result.ok ? result.job.created : result.error.code))).toEqual([true, false, "key_conflict"]);
  });

  test("takes definitions, with their schema and defaults", async () => {
    const { client } = await openClient();
    const mail = defineJob({ type: "mail", input: z.object({ to: z.string() }), queue: "post" });
    const results = await client.enqueueMany([
      { type: mail, payload: { to: "ann" } },
      { type: mail, payload: { to: 5 as never } },
    ]);
    expect(results[0]).toMatchObject({ ok: true, job: { type: "mail", queue: "post" } });
    expect(results[1]).toMatchObject({ ok: false, error: { code: "invalid_input", field: "payload.to" } });
  });

  test("tells each item when the store failed under it, and does not try the rest", async () => {
    let calls = 0;
    const { client } = await openClient({
      prepare: (store) => {
        const insert = store.insert.bind(store);
        store.insert = (jobs) => (++calls === 2 ? Promise.reject(new Error("disk on fire")) : insert(jobs));
      },
    });
    const results = await client.enqueueMany(Array.from({ length: 2500 }, () => ({ type: "t" })));
    expect(results.map((result) => result.ok).lastIndexOf(true)).toBe(999);
    expect(results[1000]).toMatchObject({ ok: false, error: { code: "store_unavailable" } });
    expect(calls).toBe(2);
  });
});

describe("strict mode", () => {
  test("refuses a type that no definition used here and no live worker knows", async () => {
    const { client, clock } = await openClient({ strictTypes: true });
    await expect(client.enqueue("typo")).rejects.toMatchObject({ code: "unknown_type", field: "type" });
    const results = await client.enqueueMany([{ type: "typo" }, { type: defineJob({ type: "defined" }) }]);
    expect(results.map((result) => (result.ok ? "ok" : result.error.code))).toEqual(["unknown_type", "ok"]);
    expect((await client.enqueue("defined")).created).toBe(true);
    const worker = client.work({ handled: async () => {} });
    expect((await client.enqueue("handled")).created).toBe(true);
    await clock.settle();
    await worker.stop();
  });

  test("refuses a schedule of such a type, too", async () => {
    const { client, clock } = await openClient({ strictTypes: true });
    await expect(client.schedules.upsert({ name: "s", every: "1m", type: "typo" })).rejects.toMatchObject({
      code: "unknown_type",
      field: "type",
    });
    expect(await client.schedules.list()).toEqual([]);
    const worker = client.work({ handled: async () => {} });
    expect(await client.schedules.upsert({ name: "s", every: "1m", type: "handled" })).toMatchObject({ type: "handled" });
    expect(await client.schedules.upsert({ name: "d", every: "1m", job: defineJob({ type: "defined" }) })).toMatchObject({
      type: "defined",
    });
    await clock.settle();
    await worker.stop();
  });

  test("asks the registry once for many calls at once", async () => {
    const { client, store } = await openClient({ strictTypes: true });
    const workers = store.workers.bind(store);
    let looks = 0;
    store.workers = () => {
      looks++;
      return workers();
    };
    await settled(Array.from({ length: 1000 }, () => client.enqueue("typo")));
    expect(looks).toBe(1);
  });

  test("knows the types of workers in other processes, and looks for them again", async () => {
    const { client, clock } = await openClient({ strictTypes: true });
    await expect(client.enqueue("elsewhere")).rejects.toMatchObject({ code: "unknown_type" });
    const entry = { id: "w", host: "h", pid: 1, state: "idle", slots: 1, queues: ["default"], types: ["elsewhere"], startedAt: 0 } as const;
    await client.leases.register({ ...entry, running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0 }, 60_000);
    await clock.advance("5s");
    expect((await client.enqueue("elsewhere")).created).toBe(true);
  });
});

describe("news of new jobs", () => {
  test("are published once a batch, and only of jobs that were created", async () => {
    const { client, store } = await openClient();
    const heard = listenTo(store);
    const publishes = spyOn(store, "publish");
    await Promise.all([client.enqueue("a", null, { priority: 20 }), client.enqueue("b")]);
    expect(publishes).toHaveLength(1);
    expect(heard).toMatchObject([
      { event: "job:created", type: "a", queue: "default", priority: 20, level: "critical", at: START },
      { event: "job:created", type: "b", level: "default" },
    ]);
    heard.length = 0;
    await client.enqueue("c", null, { idempotencyKey: "k" });
    await client.enqueue("c", null, { idempotencyKey: "k" });
    expect(heard).toHaveLength(1);
  });

  test("are not made while nobody listens", async () => {
    const { client, store } = await openClient();
    const publishes = spyOn(store, "publish");
    await client.enqueue("a");
    expect(publishes).toEqual([]);
  });

  test("that cannot be published fail nothing", async () => {
    const { client, store } = await openClient();
    listenTo(store);
    store.publish = () => Promise.reject(new Error("feed is down"));
    expect((await client.enqueue("a")).created).toBe(true);
    store.publish = () => {
      throw new Error("feed is down");
    };
    expect((await client.enqueue("a")).created).toBe(true);
  });
});
