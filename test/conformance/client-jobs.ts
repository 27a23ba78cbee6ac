import { describe, expect } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import { readJobs, withJobs } from "../../src/client/registered-jobs.ts";
import type { Promises } from "./client.ts";

const MISSING_ID = "0190d2f0-7b1a-7abc-8def-0123456789ab";

/** Jobs are made and looked at. */
export function jobSuite(promises: Promises): void {
  describe("enqueue", () => {
    promises("answers with the stored job, and get finds the same", async (client) => {
      const job = await client.enqueue(
        "email:send",
        { to: "ann@example.com", "\u0000": "\ud83d\ude00" },
        {
          priority: 7,
          queue: "mail",
          maxRetries: 5,
          maxLost: 6,
          retryDelay: "2s",
          timeout: "1m",
          tags: ["a", "b"],
          meta: { trace: "1" },
          webhookUrl: "https://example.com/hook",
        },
      );
      expect(job).toMatchObject({
        type: "email:send",
        queue: "mail",
        priority: 7,
        status: "pending",
        payload: { to: "ann@example.com", "\u0000": "\ud83d\ude00" },
        result: null,
        maxRetries: 5,
        retryCount: 0,
        maxLost: 6,
        lostCount: 0,
        attempt: 0,
        retryDelay: 2000,
        timeout: 60_000,
        tags: ["a", "b"],
        meta: { trace: "1" },
        webhookUrl: "https://example.com/hook",
        idempotencyKey: null,
        workerId: null,
        error: null,
        progress: null,
        scheduledAt: null,
        startedAt: null,
        completedAt: null,
        durationMs: null,
        created: true,
        pruned: false,
      });
      const { created: _, pruned: __, ...stored } = job;
      expect(await client.get(job.id)).toEqual(stored);
    });

    promises("takes any JSON as payload, and none as null", async (client) => {
      for (const payload of [null, 0, -0.5, "", "text", true, [], {}, [1, [2]], { __proto__x: 1 }, JSON.parse('{"__proto__":{"x":1}}')]) {
        const { id } = await client.enqueue("t", payload);
        expect((await client.get(id))?.payload).toEqual(payload);
      }
      const { id } = await client.enqueue("t");
      expect((await client.get(id))?.payload).toBeNull();
      expect(({} as { x?: number }).x).toBeUndefined();
    });

    promises("with a delay or a time makes a scheduled job", async (client) => {
      const delayed = await client.enqueue("t", null, { delay: "1h" });
      expect(delayed.status).toBe("scheduled");
      expect(delayed.scheduledAt).toBe(delayed.createdAt + 3_600_000);
      const at = Date.now() + 7_200_000;
      for (const runAt of [at, new Date(at), new Date(at).toISOString()]) {
        expect(await client.enqueue("t", null, { runAt })).toMatchObject({ status: "scheduled", scheduledAt: at });
      }
    });

    promises("under a known key gives the stored job, and another content is a conflict", async (client) => {
      const first = await client.enqueue("charge", { order: 42 }, { idempotencyKey: "order-42" });
      const again = await client.enqueue("charge", { order: 42 }, { idempotencyKey: "order-42", priority: "high" });
      expect(again).toMatchObject({ id: first.id, created: false, priority: 0, payload: { order: 42 } });
      await expect(client.enqueue("charge", { order: 43 }, { idempotencyKey: "order-42" })).rejects.toMatchObject({
        code: "key_conflict",
        field: "idempotencyKey",
        jobId: first.id,
      });
      expect(await client.enqueue("charge", { order: 43 }, { idempotencyKey: "order-42", queue: "other" })).toMatchObject({
        created: true,
      });
    });

    promises("of many at once makes each one job, in the order of the calls", async (client) => {
      const jobs = await Promise.all(Array.from({ length: 300 }, (_, index) => client.enqueue("t", index)));
      expect(new Set(jobs.map(({ id }) => id)).size).toBe(300);
      expect(jobs.map(({ id }) => id).toSorted()).toEqual(jobs.map(({ id }) => id));
      expect((await client.list({ limit: 1000 })).jobs).toHaveLength(300);
    });

    promises("sent again under its id is the same job", async (client) => {
      const { id } = await client.enqueue("t", 1);
      const again = await client.enqueue("t", 1, { id });
      expect(again.id).toBe(id);
      expect((await client.list()).jobs).toHaveLength(1);
      await expect(client.enqueue("t", 1, { id, queue: "another" })).rejects.toMatchObject({ code: "invalid_input", field: "id" });
    });

    promises("checks a payload by the schema of its definition", async (client) => {
      const mail = defineJob({ type: "mail", input: z.object({ to: z.email() }), priority: "high", delay: "1h" });
      await expect(client.enqueue(mail, { to: "nobody" })).rejects.toMatchObject({ code: "invalid_input", field: "payload.to" });
      expect(await client.enqueue(mail, { to: "a@example.com" })).toMatchObject({ priority: 10, status: "scheduled" });
      const at = Date.now() + 86_400_000;
      expect(await client.enqueue(mail, { to: "a@example.com" }, { runAt: at, priority: "low" })).toMatchObject({
        priority: -10,
        scheduledAt: at,
      });
    });
  });

  describe("enqueueMany", () => {
    promises("answers one by one, in order, and one item's error is its alone", async (client) => {
      await client.configure("small", { capacity: 1 });
      const results = await client.enqueueMany([
        { type: "a", payload: 1 },
        { type: "not a type!" },
        { type: "b", payload: 2, priority: 1000 },
        { type: "c", queue: "small" },
        { type: "c", queue: "small" },
        { type: "k", payload: 1, idempotencyKey: "k" },
        { type: "k", payload: 1, idempotencyKey: "k" },
        { type: "k", payload: 2, idempotencyKey: "k" },
        null as never,
      ]);
      expect(results.map((result) => (result.ok ? result.job.created : result.error.code))).toEqual([
        true,
        "invalid_input",
        "invalid_input",
        true,
        "queue_full",
        true,
        false,
        "key_conflict",
        "invalid_input",
      ]);
      expect(results.map((result) => (result.ok ? null : result.error.field))).toEqual([
        null,
        "type",
        "priority",
        null,
        "queue",
        null,
        null,
        "idempotencyKey",
        "job",
      ]);
      expect(await client.enqueueMany([])).toEqual([]);
    });

    promises("takes more than a batch holds", async (client) => {
      const results = await client.enqueueMany(Array.from({ length: 1001 }, (_, index) => ({ type: "t", payload: index })));
      expect(results.filter(({ ok }) => ok)).toHaveLength(1001);
      expect((await client.stats()).counts.pending).toBe(1001);
    });

    promises("takes more bytes than a batch holds", async (client) => {
      const payload = "x".repeat(900_000);
      const results = await client.enqueueMany(Array.from({ length: 6 }, () => ({ type: "large", payload })));
      expect(results.map(({ ok }) => ok)).toEqual(Array.from({ length: 6 }, () => true));
    });
  });

  describe("registered jobs", () => {
    const mail = defineJob({ type: "mail", input: z.object({ to: z.email() }), queue: "post", maxRetries: 7 });
    const plain = defineJob({ type: "plain" });

    promises("give their names the schema and options of their definitions", async (bare) => {
      const client = withJobs(bare, readJobs([mail, plain]));
      expect(await client.enqueue("mail", { to: "a@example.com" }, { priority: 3 })).toMatchObject({
        queue: "post",
        maxRetries: 7,
        priority: 3,
      });
      await expect(client.enqueue("mail", { to: "nobody" })).rejects.toMatchObject({ code: "invalid_input", field: "payload.to" });
      expect(
        await client.schedules.upsert({ name: "daily", every: "1d", type: "mail", payload: { to: "a@example.com" }, maxRetries: 2 }),
      ).toMatchObject({ type: "mail", queue: "post", maxRetries: 2 });
      await expect(client.schedules.create({ name: "other", every: "1d", type: "mail", payload: {} })).rejects.toMatchObject({
        code: "invalid_input",
        field: "payload.to",
      });
      expect((await client.schedules.list()).map(({ name }) => name)).toEqual(["daily"]);
    });

    promises("are the only names, and an unknown one is its item's error alone", async (bare) => {
      const client = withJobs(bare, readJobs([mail, plain]));
      await expect(client.enqueue("mial")).rejects.toMatchObject({
        code: "unknown_type",
        field: "type",
        message: 'type "mial" is not one of the jobs of this client: did you mean "mail"?',
      });
      await expect(client.schedules.upsert({ name: "s", every: "1d", type: "other" })).rejects.toMatchObject({
        code: "unknown_type",
        message: 'type "other" is not one of the jobs of this client: add its definition to `jobs` of connect',
      });
      const results = await client.enqueueMany([
        { type: "mail", payload: { to: "a@example.com" } },
        { type: "mial" },
        { type: "mail", payload: { to: "nobody" } },
        { type: "http:request", payload: { url: "https://example.com" } },
        { type: defineJob({ type: "not-listed" }) },
        null as never,
      ]);
      expect(results.map((result) => (result.ok ? result.job.queue : result.error.code))).toEqual([
        "post",
        "unknown_type",
        "invalid_input",
        "default",
        "default",
        "invalid_input",
      ]);
    });
  });

  describe("looking", () => {
    promises("takes the definition of a job before its id, and refuses a job of another type", async (client) => {
      const mail = defineJob({ type: "mail", input: z.object({ to: z.string() }) });
      const { id } = await client.enqueue(mail, { to: "ann" });
      expect((await client.get(mail, id))?.payload.to).toBe("ann");
      expect(await client.get(mail, MISSING_ID)).toBeNull();
      await expect(client.wait(mail, id, { timeout: 0 })).rejects.toMatchObject({ code: "wait_timeout", jobId: id });
      await client.cancel(id);
      expect(await client.wait(mail, id)).toMatchObject({ id, status: "cancelled" });
      const other = defineJob({ type: "other" });
      for (const find of [() => client.get(other, id), () => client.wait(other, id)]) {
        await expect(find()).rejects.toMatchObject({
          code: "invalid_input",
          field: "id",
          jobId: id,
          message: `job ${id} is of type mail, not other`,
        });
      }
      await expect(client.get({} as never, id)).rejects.toMatchObject({ code: "invalid_input", field: "type" });
    });

    promises("finds nothing where nothing is", async (client) => {
      expect(await client.get(MISSING_ID)).toBeNull();
      expect(await client.attempts(MISSING_ID)).toEqual([]);
      expect(await client.logs(MISSING_ID)).toEqual([]);
      expect(await client.list()).toEqual({ jobs: [], cursor: null });
      await expect(client.wait(MISSING_ID)).rejects.toMatchObject({ code: "not_found", jobId: MISSING_ID });
      await expect(client.explain(MISSING_ID)).rejects.toMatchObject({ code: "not_found", jobId: MISSING_ID });
    });

    promises("lists newest first, filtered, in pages without bodies", async (client) => {
      await client.enqueueMany([
        { type: "a", payload: 1, tags: ["x"] },
        { type: "b", queue: "mail", priority: "critical" },
        { type: "a", delay: "1h" },
        { type: "a", priority: 3 },
      ]);
      const types = async (query: Parameters<typeof client.list>[0]): Promise<string[]> =>
        (await client.list(query)).jobs.map(({ type }) => type);
      expect(await types({})).toEqual(["a", "a", "b", "a"]);
      expect(await types({ type: "b" })).toEqual(["b"]);
      expect(await types({ queue: "mail" })).toEqual(["b"]);
      expect(await types({ status: "scheduled" })).toEqual(["a"]);
      expect(await types({ status: ["Queued", "scheduled"] })).toHaveLength(4);
      expect(await types({ priority: "critical" })).toEqual(["b"]);
      expect(await types({ priority: "default", type: "a" })).toHaveLength(3);
      expect(await types({ priority: 3 })).toEqual(["a"]);
      expect(await types({ tag: "x" })).toEqual(["a"]);
      expect(await types({ q: "X" })).toEqual(["a"]);
      expect(await types({ q: "a", status: "scheduled" })).toEqual(["a"]);
      expect(await types({ q: 'no & such = "text" %' })).toEqual([]);
      expect(await client.count()).toEqual({ count: 4, isCapped: false });
      expect(await client.count({ type: "a", q: "A" })).toEqual({ count: 3, isCapped: false });
      expect(await types({ from: new Date(Date.now() + 60_000) })).toEqual([]);
      expect(await types({ to: Date.now() + 60_000 })).toHaveLength(4);
      const first = await client.list({ limit: 3 });
      const rest = await client.list({ limit: 3, cursor: first.cursor });
      expect([first.jobs.length, rest.jobs.length, rest.cursor]).toEqual([3, 1, null]);
      expect(Object.keys(first.jobs[0]!)).not.toContain("payload");
      await expect(client.list({ cursor: "nonsense" })).rejects.toMatchObject({ code: "invalid_cursor" });
    });

    promises("explains why a job is not running, or that it is", async (client) => {
      await client.pause("default");
      const first = await client.enqueue("t", null, { priority: "high" });
      const { id } = await client.enqueue("t");
      const later = await client.enqueue("t", null, { delay: "1h" });
      expect(await client.explain(id)).toMatchObject({
        reasons: [
          { code: "paused", queue: "default" },
          { code: "no_worker", queue: "default", type: "t" },
          { code: "position", ahead: 1, aheadIsCapped: false, message: "about 1 job goes before it" },
        ],
      });
      expect((await client.explain(later.id)).reasons[0]).toMatchObject({ code: "due_later", at: later.scheduledAt });
      await client.resume("default");
      const claim = { workerId: "w1", queues: ["default"], types: ["t"], limit: 1, leaseMs: 30_000, turn: 1, again: false };
      const { jobs } = await client.leases.exchange([], claim);
      expect(await client.explain(first.id)).toMatchObject({
        reasons: [{ code: "running", workerId: "w1", startedAt: jobs[0]!.job.startedAt }],
      });
      const { completedAt } = await client.cancel(id);
      expect(await client.explain(id)).toMatchObject({ reasons: [{ code: "ended", status: "cancelled", at: completedAt }] });
    });

    promises("waits for the end of a job, and no longer than it was told", async (client, opened) => {
      const { id } = await client.enqueue("t", { a: 1 });
      await expect(client.wait(id, { timeout: 20 })).rejects.toMatchObject({ code: "wait_timeout", jobId: id, field: "timeout" });
      const waiting = client.wait(id);
      const worker = (await opened.second()).work({ t: async (payload: { a: number }) => payload.a + 1 });
      expect(await waiting).toMatchObject({ status: "completed", result: 2 });
      expect(await client.wait(id)).toMatchObject({ status: "completed" });
      await worker.stop();
    });

    promises("stops waiting when the caller's signal aborts", async (client) => {
      const { id } = await client.enqueue("t");
      const over = new AbortController();
      const waiting = client.wait(id, { signal: over.signal });
      over.abort(new Error("enough"));
      await expect(waiting).rejects.toThrow("enough");
    });
  });
}
