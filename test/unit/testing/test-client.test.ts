import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { type Context, defineJob, Discard, HoldKey, Snooze } from "../../../src/index.ts";
import { createTestClient, type TestClient, type TestClientOptions } from "../../../src/testing/index.ts";

async function open(options?: TestClientOptions): Promise<TestClient> {
  const client = await createTestClient(options);
  onTestFinished(() => client.close());
  return client;
}

const NOTHING = { completed: 0, retried: 0, dead: 0, failed: 0, cancelled: 0, pending: 0, waiting: 0, blocked: 0 };

describe("drain", () => {
  test("runs what is due, and what that enqueues, in any queue", async () => {
    const client = await open();
    const ran: string[] = [];
    await client.enqueue("first");
    await client.enqueue("later", null, { delay: "1h" });
    const summary = await client.drain({
      first: async () => {
        ran.push("first");
        await client.enqueue("second", null, { queue: "brand-new" });
      },
      second: async () => void ran.push("second"),
      later: async () => void ran.push("later"),
    });
    expect(ran).toEqual(["first", "second"]);
    expect(summary).toEqual({ ...NOTHING, completed: 2, waiting: 1 });
  });

  test("leaves webhooks alone: they are sent by servers", async () => {
    const client = await open();
    await client.enqueue("t", null, { webhookUrl: "https://example.com/hook" });
    expect(await client.drain({ t: async () => 1 })).toEqual({ ...NOTHING, completed: 1 });
    expect(await client.drain({ t: async () => 1 })).toEqual(NOTHING);
  });

  test("runs jobs one at a time, in the order of their rank", async () => {
    const client = await open();
    const order: string[] = [];
    let running = 0;
    await client.enqueueMany([{ type: "low", priority: "low" }, { type: "usual" }, { type: "urgent", priority: "critical" }]);
    await client.drain({
      "*": async (_payload, ctx) => {
        expect(++running).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        order.push(ctx.job.type);
      },
    });
    expect(order).toEqual(["urgent", "usual", "low"]);
  });

  test("retries only when the time for it has come by the clock", async () => {
    const client = await open();
    let calls = 0;
    const handlers = {
      flaky: async () => {
        if (++calls < 3) throw new Error("not yet");
      },
    };
    const { id } = await client.enqueue("flaky");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, retried: 1, waiting: 1 });
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, waiting: 1 });
    await client.clock.advance("1s");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, retried: 1, waiting: 1 });
    await client.clock.advance("2s");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1 });
    expect(await client.get(id)).toMatchObject({ status: "completed", attempt: 3, retryCount: 2 });
  });

  test("tells how jobs ended, and what it left because nobody handles it", async () => {
    const client = await open();
    await client.configure("lossy", { deadLetters: false });
    await client.enqueueMany([{ type: "bad" }, { type: "bad", queue: "lossy" }, { type: "nap" }, { type: "nobody" }]);
    const summary = await client.drain({
      bad: async () => {
        throw new Discard("never");
      },
      nap: async () => {
        throw new Snooze("1m");
      },
    });
    expect(summary).toEqual({ ...NOTHING, dead: 1, failed: 1, pending: 1, waiting: 1 });
  });

  test("waits for handlers that use real time", async () => {
    const client = await open();
    await client.enqueue("io");
    const { readFile } = await import("node:fs/promises");
    expect(await client.drain({ io: async () => (await readFile(import.meta.filename, "utf8")).length })).toMatchObject({ completed: 1 });
  });

  test("without handlers uses the workers that were started", async () => {
    const client = await open();
    const worker = client.work({ t: async () => "done" });
    const { id } = await client.enqueue("t");
    expect(await client.drain()).toMatchObject({ completed: 1 });
    expect((await client.wait(id)).result).toBe("done");
    await worker.stop();
  });

  test("checks payloads again before the handler, which gets what the schema makes of them", async () => {
    const client = await open();
    const job = defineJob({ type: "at", input: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }) });
    const seen: Date[] = [];
    await client.enqueue(job, { at: "2030-01-01T00:00:00Z" });
    await client.drain([job.handle(async ({ at }) => void seen.push(at))]);
    expect(seen).toEqual([new Date("2030-01-01T00:00:00Z")]);
  });
});

describe("limits", () => {
  test("drain leaves what waits for a rate, which starts when its time has come by the clock", async () => {
    const client = await open();
    await client.configure("mail", { limits: { rate: "1/s", burst: 2 } });
    await client.enqueueMany(Array.from({ length: 4 }, () => ({ type: "send", queue: "mail" })));
    const handlers = { send: () => "sent" };
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 2, pending: 2 });
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, pending: 2 });
    await client.clock.advance("999ms");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, pending: 2 });
    await client.clock.advance("1ms");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1, pending: 1 });
    await client.clock.advance("1s");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1 });
  });

  test("a worker claims at the very time that a rate gives, and not before: it does not poll", async () => {
    const client = await open();
    await client.configure("default", { limits: { rate: "1/10s" } });
    const startedAt: number[] = [];
    let claims = 0;
    const exchange = client.leases.exchange.bind(client.leases);
    client.leases.exchange = (reports, claim) => {
      if (claim !== null) claims++;
      return exchange(reports, claim);
    };
    const begin = client.clock.now();
    client.work({ send: () => void startedAt.push(client.clock.now() - begin) });
    await client.enqueueMany(Array.from({ length: 4 }, () => ({ type: "send" })));
    await client.clock.advance("31s");
    expect(startedAt).toEqual([0, 10_000, 20_000, 30_000]);
    // One that finds the job, and one with the report, for each.
    expect(claims).toBeLessThanOrEqual(10);
  });

  test("a held key starts again when its hold is over, and others go on meanwhile", async () => {
    const client = await open();
    const begin = client.clock.now();
    const ran: string[] = [];
    client.work(
      {
        call: (_payload, { job }) => {
          ran.push(`${job.limitKey} ${client.clock.now() - begin}`);
          if (ran.length === 1) throw new HoldKey("30s");
        },
      },
      { concurrency: 1 },
    );
    for (const limitKey of ["acme", "globex", "acme"]) await client.enqueue("call", null, { limitKey });
    await client.clock.advance("29s");
    expect(ran).toEqual(["acme 0", "globex 0"]);
    await client.clock.advance("1s");
    expect(ran).toEqual(["acme 0", "globex 0", "acme 30000", "acme 30000"]);
  });

  test("a handler that timed out has spent what it said, and so has one that completes with a tx", async () => {
    const client = await open();
    await client.configure("default", { limits: { rate: "10/h", burst: 10 } });
    const { id } = await client.enqueue("slow", null, { timeout: "1s", maxRetries: 0 });
    const worker = client.work({
      slow: async (_payload, ctx) => {
        ctx.spend(10);
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      },
      within: async (_payload, ctx) =>
        client.transaction(async (tx) => {
          ctx.spend(10);
          await ctx.complete("done", { tx });
        }),
    });
    await client.clock.advance("2s");
    expect((await client.get(id))?.error?.kind).toBe("timeout");
    const until = (await client.limits.use("default"))!.nextStartAt!;
    expect(until - client.clock.now()).toBeGreaterThan(300_000);
    await client.clock.advance("2h");
    const { id: second } = await client.enqueue("within");
    await client.clock.advance("1s");
    expect((await client.get(second))?.status).toBe("completed");
    expect((await client.limits.use("default"))!.nextStartAt).toBeGreaterThan(client.clock.now() + 300_000);
    await worker.stop();
  });

  test("a transaction refuses a job whose key has as many waiting jobs as it may", async () => {
    const client = await open();
    await client.configure("default", { limits: { perKey: { waiting: 2 } } });
    await client.enqueue("t", null, { limitKey: "acme" });
    await client.transaction(async (tx) => {
      await client.enqueue("t", null, { limitKey: "acme", tx });
      await expect(client.enqueue("t", null, { limitKey: "acme", tx })).rejects.toMatchObject({ code: "queue_full", field: "limitKey" });
      await client.enqueue("t", null, { limitKey: "globex", tx });
    });
    expect(await client.count()).toMatchObject({ count: 3 });
    client.assertEnqueued({ limitKey: "globex" });
    client.assertNotEnqueued({ limitKey: "initech" });
  });
});

describe("the clock", () => {
  test("brings delayed jobs, leases and schedules to their time, a month in no time", async () => {
    const client = await open({ startAt: "2030-01-01T00:00:00Z" });
    await client.schedules.upsert({ name: "daily", cron: "0 8 * * *", type: "report" });
    await client.enqueue("once", null, { delay: "10d" });
    await client.clock.advance("30d");
    expect(client.clock.now()).toBe(Date.UTC(2030, 0, 31));
    expect(client.enqueued({ type: "report" })).toHaveLength(30);
    expect(await client.drain({ "*": async () => {} })).toMatchObject({ completed: 31 });
  });

  test("times out a handler that hangs, and loses no job over it", async () => {
    const client = await open();
    const worker = client.work({ hang: () => new Promise(() => {}) });
    const { id } = await client.enqueue("hang", null, { timeout: "10s", maxRetries: 0 });
    await client.clock.advance("20s");
    expect(await client.get(id)).toMatchObject({ status: "dead", error: { kind: "timeout" } });
    await worker.stop({ grace: 0 });
  });

  test("gives the exact retry curve, and whole lives under virtual time", async () => {
    const client = await open();
    const at: number[] = [];
    const worker = client.work({
      t: async () => {
        at.push(client.clock.monotonic() / 1000);
        throw new Error("always");
      },
    });
    await client.enqueue("t", null, { maxRetries: 4 });
    await client.clock.advance("1h");
    expect(at).toEqual([0, 1, 3, 7, 15]);
    await worker.stop();
  });
});

describe("assertions", () => {
  test("find a job by type, queue and a part of its payload", async () => {
    const client = await open();
    await client.enqueue("mail", { to: "ann", parts: [{ kind: "text", size: 5 }] }, { queue: "post", delay: "1h" });
    expect(client.assertEnqueued({ type: "mail", queue: "post", payload: { parts: [{ kind: "text" }] } })).toMatchObject({
      status: "scheduled",
      payload: { to: "ann" },
    });
    expect(client.enqueued({ payload: { to: "bob" } })).toEqual([]);
    expect(client.enqueued({ payload: { parts: [] } })).toEqual([]);
    expect(client.enqueued()).toHaveLength(1);
  });

  test("that fail show what was enqueued instead", async () => {
    const client = await open();
    expect(() => client.assertEnqueued({ type: "mail" })).toThrow("no job of type mail was enqueued; nothing was enqueued at all");
    await client.enqueue("sms", { to: "ann" });
    expect(() => client.assertEnqueued({ type: "mail", payload: { to: "ann" } })).toThrow(
      'no job of type mail with payload {"to":"ann"} was enqueued; these were:\n  sms in default with {"to":"ann"}',
    );
  });

  test("find a job by tag, priority, key and definition", async () => {
    const client = await open();
    const mail = defineJob<{ to: string }>({ type: "mail" });
    const ann = mail.job({ to: "ann" }, { tags: ["news", "weekly"], priority: 12, idempotencyKey: "k-1" });
    await client.enqueueMany([ann, mail.job({ to: "bob" })]);
    expect(client.assertEnqueued({ type: mail, tag: "weekly", priority: "high", idempotencyKey: "k-1" }).payload).toEqual({ to: "ann" });
    expect(client.enqueued({ type: mail })).toHaveLength(2);
    expect(client.enqueued({ priority: 12 })).toHaveLength(1);
    expect(client.enqueued({ priority: "default", type: "mail" })).toMatchObject([{ payload: { to: "bob" } }]);
    for (const filter of [{ tag: "week" }, { priority: 10 }, { idempotencyKey: "k" }]) expect(client.enqueued(filter)).toEqual([]);
    expect(() => client.assertEnqueued({ type: mail, tag: "x", priority: "low", idempotencyKey: "k" })).toThrow(
      "no job of type mail with tag x with priority low with idempotencyKey k was enqueued; these were:",
    );
  });

  test("that nothing was enqueued fail with what was", async () => {
    const client = await open();
    client.assertNotEnqueued();
    await client.enqueue("mail", { to: "ann" });
    client.assertNotEnqueued({ type: "sms" });
    client.assertNotEnqueued({ type: "mail", payload: { to: "bob" } });
    expect(() => client.assertNotEnqueued({ type: "mail" })).toThrow(
      'a job of type mail was enqueued; these were:\n  mail in default with {"to":"ann"}',
    );
    expect(() => client.assertNotEnqueued()).toThrow("a job was enqueued; these were:");
  });

  test.each([
    ["tipe", { tipe: "mail" }],
    ["type", { type: "not a type!" }],
    ["type", { type: {} }],
    ["priority", { priority: "urgent" }],
    ["tag", { tag: 5 }],
    ["idempotencyKey", { idempotencyKey: 5 }],
  ])("with a wrong %s are refused: they would find nothing, and say so of the code", async (field, filter) => {
    const client = await open();
    const refusal = expect.objectContaining({ code: "invalid_input", field }) as Error;
    expect(() => client.assertEnqueued(filter as never)).toThrow(refusal);
    expect(() => client.assertNotEnqueued(filter as never)).toThrow(refusal);
    expect(() => client.enqueued(filter as never)).toThrow(refusal);
  });

  test("see only jobs that came to be", async () => {
    const client = await open();
    await client.enqueue("pay", 1, { idempotencyKey: "k" });
    await client.enqueue("pay", 1, { idempotencyKey: "k" });
    await client.enqueue("bad", Number.NaN).catch(() => {});
    expect(client.enqueued()).toHaveLength(1);
  });
});

describe("a test client", () => {
  test("closes within the grace that it is given", async () => {
    const client = await open();
    let abortedAt = -1;
    client.work({
      hang: (_payload, { signal }) => new Promise(() => signal.addEventListener("abort", () => (abortedAt = client.clock.monotonic()))),
    });
    await client.enqueue("hang", null, { timeout: 0 });
    await client.clock.settle();
    await client.close({ grace: "60s" });
    expect(abortedAt).toBe(55_000);
  });

  test("closes in no time, also with a handler that never ends, and twice", async () => {
    const client = await createTestClient();
    client.work({ hang: () => new Promise(() => {}) });
    await client.enqueue("hang", null, { timeout: 0 });
    await client.clock.settle();
    await client.close();
    await client.close();
    await expect(client.enqueue("t")).rejects.toMatchObject({ code: "closed" });
  });

  test.each([
    ["startAt", { startAt: "yesterday" }],
    ["now", { now: 5 }],
    ["random", { random: 0.5 }],
  ])("refuses a wrong %s", async (field, options) => {
    await expect(createTestClient(options as never)).rejects.toMatchObject({ code: "invalid_input", field });
  });
});

describe("the options of connect", () => {
  test("are those of a test client, too", async () => {
    const client = await createTestClient({ queueCapacity: 1, metricsRetentionDays: 2, onTrouble: () => {}, strictTypes: false });
    onTestFinished(() => client.close());
    await client.enqueue("t");
    await expect(client.enqueue("t")).rejects.toMatchObject({ code: "queue_full" });
  });
});

describe("wait", () => {
  test("is not timed out by the clock unless a timeout is given", async () => {
    const client = await open();
    const { id } = await client.enqueue("later", null, { delay: "10d" });
    const ended = client.wait(id);
    const impatient = client.wait(id, { timeout: "1m" });
    impatient.catch(() => {});
    await client.clock.advance("10d");
    await expect(impatient).rejects.toMatchObject({ code: "wait_timeout" });
    await client.drain({ later: async () => "done" });
    expect(await ended).toMatchObject({ status: "completed", result: "done" });
  });

  test("ends with its signal, with its client, and for a job that is not there", async () => {
    const client = await open();
    const { id } = await client.enqueue("never");
    const stop = new AbortController();
    const aborted = client.wait(id, { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    await expect(client.wait("01890a5d-ac96-774b-bcce-b302099a8057")).rejects.toMatchObject({ code: "not_found" });
    await expect(client.wait(id, { timeuot: 5 } as never)).rejects.toMatchObject({ code: "invalid_input", field: "timeuot" });
    const closed = client.wait(id);
    closed.catch(() => {});
    await client.close();
    await expect(closed).rejects.toMatchObject({ code: "closed" });
  });
});

describe("transaction", () => {
  test("refuses a job for a full queue at once, as an engine does: the code under test may go on without it", async () => {
    const client = await open();
    await client.configure("mail", { capacity: 2 });
    await client.enqueue("mail", 1, { queue: "mail" });
    const refusals: unknown[] = [];
    await client.transaction(async (tx) => {
      for (const n of [2, 3]) await client.enqueue("mail", n, { queue: "mail", tx }).catch((error: unknown) => refusals.push(error));
    });
    expect(refusals).toEqual([expect.objectContaining({ code: "queue_full" })]);
    expect(client.enqueued({ queue: "mail" }).map(({ payload }) => payload)).toEqual([1, 2]);
  });

  test("knows the keys of the transaction around it", async () => {
    const client = await open();
    const add = (payload: number) => client.enqueue("mail", payload, { tx: {}, idempotencyKey: "k" });
    await client.transaction(async () => {
      const { id } = await add(1);
      expect(await client.transaction(() => add(1))).toMatchObject({ id, created: false });
      await expect(client.transaction(() => add(2))).rejects.toMatchObject({ code: "key_conflict" });
    });
    expect(client.enqueued()).toHaveLength(1);
  });

  test("what was enqueued with any tx appears when the function returns, and never when it throws or rolls back", async () => {
    const client = await open();
    const add = (n: number) => client.enqueue("mail", n, { tx: { mine: true }, idempotencyKey: `k${n}` });
    await client.transaction(async () => {
      const job = await add(1);
      expect(job).toMatchObject({ created: true, status: "pending" });
      expect(await add(1)).toMatchObject({ id: job.id, created: false });
      await expect(client.enqueue("mail", 2, { tx: {}, idempotencyKey: "k1" })).rejects.toMatchObject({ code: "key_conflict" });
      client.assertNotEnqueued();
      expect(await client.get(job.id)).toBeNull();
    });
    const failing = client.transaction(async () => {
      await add(2);
      throw new Error("rolled back");
    });
    await expect(failing).rejects.toThrow("rolled back");
    await client.transaction(async (tx) => {
      await client.enqueueMany([{ type: "mail", payload: 3 }], { tx });
      tx.rollback();
    });
    await client.transaction(async () => {
      expect(await add(1)).toMatchObject({ created: false });
      await client.transaction(() => client.enqueue("mail", 4, { tx: {}, delay: "1h" }));
      await client.transaction(() => add(5).then(() => Promise.reject(new Error("to the savepoint")))).catch(() => {});
    });
    expect(client.enqueued().map(({ payload, status }) => [payload, status])).toEqual([
      [1, "pending"],
      [4, "scheduled"],
    ]);
    await expect(add(6)).rejects.toMatchObject({
      code: "invalid_transaction",
      message: expect.stringContaining("client.transaction(") as string,
    });
  });

  test("nothing is accepted with it after its end: it would be lost", async () => {
    const client = await open();
    let kept: unknown;
    const gate = Promise.withResolvers<void>();
    let late: Promise<unknown> | undefined;
    await client.transaction((tx) => {
      kept = tx;
      late = gate.promise.then(() => client.enqueue("mail", 1, { tx: {} }));
    });
    gate.resolve();
    const refusal = { code: "invalid_transaction", message: expect.stringContaining("has ended") as string };
    await expect(late).rejects.toMatchObject(refusal);
    await expect(client.enqueue("mail", 2, { tx: kept })).rejects.toMatchObject(refusal);
  });

  test("what a handler logged before it completed its job is kept, also if it first rolled back", async () => {
    const client = await open();
    const { id } = await client.enqueue("pay");
    await client.drain({
      pay: async (_: unknown, ctx: Context) => {
        for (const isFirst of [true, false]) {
          ctx.log(isFirst ? "first try" : "second try");
          ctx.progress(isFirst ? 10 : 90);
          await client.transaction(async (tx) => {
            await ctx.complete("paid", { tx });
            if (isFirst) tx.rollback();
          });
        }
      },
    });
    expect(await client.get(id)).toMatchObject({ status: "completed", result: "paid", progress: { percent: 90 } });
    expect((await client.logs(id)).map(({ text }) => text)).toEqual(["first try", "second try"]);
  });

  test("a handler completes its job with it, and fails if it is rolled back", async () => {
    const client = await open();
    const { id } = await client.enqueue("pay", null, { maxRetries: 1, retryDelay: "1s" });
    let tries = 0;
    const handlers = {
      pay: (_: unknown, ctx: Context) =>
        client.transaction(async () => {
          await ctx.complete("paid", { tx: {} });
          if (++tries === 1) throw new Error("no commit");
        }),
    };
    await client.drain(handlers);
    expect(await client.get(id)).toMatchObject({ status: "retrying", error: { message: "no commit" } });
    await client.clock.advance("1m");
    await client.drain(handlers);
    expect(await client.get(id)).toMatchObject({ status: "completed", result: "paid", attempt: 2 });
  });
});
