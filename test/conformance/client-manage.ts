import { describe, expect } from "vitest";
import type { Client } from "../../src/client/client.ts";
import { defineJob } from "../../src/client/define-job.ts";
import type { Event } from "../../src/core/event.ts";
import { JsonText, jsonOf, payloadOf } from "../../src/core/json-text.ts";
import { until } from "../faults/until.ts";
import type { Promises } from "./client.ts";

const MISSING_ID = "0190d2f0-7b1a-7abc-8def-0123456789ab";

/** Jobs and queues are managed. */
export function manageSuite(promises: Promises): void {
  describe("cancel, retry and remove", () => {
    promises("change what they may, and say why not", async (client) => {
      const { id } = await client.enqueue("t");
      await expect(client.remove(id)).rejects.toMatchObject({ code: "wrong_status", jobId: id });
      expect(await client.cancel(id)).toMatchObject({ id, status: "cancelled" });
      expect(await client.retry(id)).toMatchObject({ id, status: "pending" });
      await expect(client.retry(id)).rejects.toMatchObject({ code: "wrong_status" });
      await client.cancel(id);
      await client.remove(id);
      expect(await client.get(id)).toBeNull();
      for (const change of [() => client.cancel(id), () => client.retry(id), () => client.remove(id)]) {
        await expect(change()).rejects.toMatchObject({ code: "not_found", jobId: id });
      }
    });

    promises("answer a repeat of a cancel as the first time, and refuse the cancel of what ended otherwise", async (client) => {
      const { id } = await client.enqueue("t");
      const first = await client.cancel(id);
      expect(await client.cancel(id)).toEqual(first);
      const [one, another] = await Promise.all([client.cancel(id), client.cancel(id)]);
      expect([one, another]).toEqual([first, first]);
      await client.retry(id);
      await fail(client);
      const withError = await client.cancel(id);
      expect(withError.error).toMatchObject({ message: "it broke", stack: null });
      expect(await client.cancel(id)).toEqual(withError);
      await client.retry(id);
      await finish(client);
      await expect(client.cancel(id)).rejects.toMatchObject({ code: "wrong_status", jobId: id, field: "status" });
      expect(await client.get(id)).toMatchObject({ status: "completed" });
    });

    promises("keep both lives of a job that died and was retried, and who ended and began each", async (client) => {
      const { id } = await client.enqueue("t");
      await die(client, 1);
      expect(await client.changes(id)).toEqual([]);
      expect(await client.attempts(id)).toMatchObject([{ number: 1, life: 1, outcome: "failed" }]);
      await client.retry(id, { reason: "the disk is back" });
      await finish(client);
      expect(await client.attempts(id)).toMatchObject([
        { number: 1, life: 1, outcome: "failed", error: { message: "it broke" } },
        { number: 2, life: 2, outcome: "completed" },
      ]);
      const [died] = await client.attempts(id);
      const [retried] = await client.changes(id);
      expect(retried).toMatchObject({ action: "retried", reason: "the disk is back", from: "dead", attempt: 1 });
      expect(retried!.at).toBeGreaterThanOrEqual(died!.endedAt!);
      expect(await client.changes(MISSING_ID)).toEqual([]);
    });

    promises("keep a note of each change by hand, single or in bulk", async (client) => {
      const { id } = await client.enqueue("t", null, { delay: "1h" });
      await client.retry(id, { now: true, reason: "now" });
      await client.cancel(id, { reason: "not now" });
      await client.cancel(id, { reason: "a repeat changes nothing" });
      const { id: operation } = await client.bulk.start({ action: "retry", filter: { status: "cancelled" } }, { reason: "all" });
      await client.wait(operation);
      expect(await client.bulk.get(operation)).toMatchObject({ reason: "all" });
      await die(client, 1);
      expect(await client.dead.retry({}, { reason: "dead" })).toBe(1);
      expect((await client.changes(id)).map(({ action, from, reason }) => [action, from, reason])).toEqual([
        ["started", "scheduled", "now"],
        ["cancelled", "pending", "not now"],
        ["retried", "cancelled", "all"],
        ["retried", "dead", "dead"],
      ]);
      for (const reason of ["", "x".repeat(501), 7 as never]) {
        await expect(client.cancel(id, { reason })).rejects.toMatchObject({ code: "invalid_input", field: "reason" });
      }
      await expect(client.cancel(id, { because: "x" } as never)).rejects.toMatchObject({ code: "invalid_input", field: "because" });
    });

    promises("retry the same job with another payload, and keep a note of it", async (client) => {
      const { id } = await client.enqueue("t", { to: "ann" });
      await die(client, 1);
      await expect(client.retry(id, { payload: { to: "bob" }, now: true })).rejects.toMatchObject({ field: "payload" });
      await expect(client.retry(id, { payload: 1n })).rejects.toMatchObject({ code: "invalid_input", field: "payload" });
      const text = new JsonText('{"to":9007199254740993}', undefined);
      expect(await client.retry(id, { payload: text, reason: "mistyped" })).toMatchObject({ id, status: "pending" });
      expect(jsonOf(payloadOf((await client.get(id))!))).toBe(text.text);
      expect(await client.changes(id)).toMatchObject([{ action: "edited", from: "dead", reason: "mistyped" }]);
      expect((await client.audit()).entries).toMatchObject([{ action: "job:edited", jobId: id, reason: "mistyped" }]);
      await finish(client);
      expect(await client.attempts(id)).toMatchObject([{ life: 1 }, { life: 2 }]);
      await expect(client.retry(id, { payload: null })).rejects.toMatchObject({ code: "wrong_status" });
      await expect(client.retry(MISSING_ID, { payload: null })).rejects.toMatchObject({ code: "not_found" });
      expect(await client.get(id)).toMatchObject({ status: "completed" });
    });

    promises("start a scheduled job at once when told to", async (client) => {
      const { id } = await client.enqueue("t", null, { delay: "1h" });
      await expect(client.retry(id)).rejects.toMatchObject({ code: "wrong_status" });
      expect(await client.retry(id, { now: true })).toMatchObject({ id, status: "pending" });
    });
  });

  describe("the audit", () => {
    promises("has one entry for each change that was made, newest first", async (client) => {
      const { id } = await client.enqueue("t", null, { queue: "mail" });
      await client.cancel(id, { reason: "mistyped" });
      await client.cancel(id);
      await expect(client.retry(MISSING_ID)).rejects.toMatchObject({ code: "not_found" });
      await client.retry(id);
      await client.cancel(id);
      await client.remove(id, { reason: "done" });
      await client.enqueueMany([{ type: "t" }, { type: "t" }]);
      await die(client, 2);
      expect(await client.dead.retry({ type: "t" }, { reason: "fixed" })).toBe(2);
      await die(client, 2);
      expect(await client.dead.purge()).toBe(2);
      expect(await client.dead.purge()).toBe(0);
      const { entries, cursor } = await client.audit();
      expect(cursor).toBeNull();
      expect(entries.map(({ action, queue, jobId, details, reason }) => [action, queue, jobId, details, reason])).toEqual([
        ["dead:purged", null, null, "jobs=2", null],
        ["dead:retried", null, null, "jobs=2 type=t", "fixed"],
        ["job:removed", "mail", id, "type=t was=cancelled", "done"],
        ["job:cancelled", "mail", id, "type=t was=pending", null],
        ["job:retried", "mail", id, "type=t was=cancelled", null],
        ["job:cancelled", "mail", id, "type=t was=pending", "mistyped"],
      ]);
      expect(entries.every(({ at }) => Math.abs(at - Date.now()) < 3_600_000)).toBe(true);
    });

    promises("has changes of queues and schedules, but no repeats of them, and bulk operations", async (client) => {
      await client.pause("mail", { create: true, reason: "the relay is down" });
      await client.pause("mail");
      await client.resume("mail");
      await client.resume("mail");
      await client.configure("mail", { capacity: 5, retention: { age: "1h" } }, { reason: "small disk" });
      await client.configure("mail", { capacity: 5, deadLetters: true });
      const nightly = { name: "nightly", every: "1h", type: "clean", queue: "mail" } as const;
      await client.schedules.upsert(nightly, { reason: "new" });
      await client.schedules.upsert(nightly);
      await client.schedules.pause("nightly");
      await client.schedules.resume("nightly");
      const job = await client.schedules.run("nightly");
      await client.schedules.remove("nightly");
      await client.schedules.remove("nightly");
      const { id } = await client.bulk.start({ action: "cancel", filter: { queue: "mail" } }, { reason: "all" });
      await client.wait(id);
      const { entries } = await client.audit();
      expect(entries.map(({ action, queue, jobId, schedule, reason }) => [action, queue, jobId, schedule, reason])).toEqual([
        ["bulk:started", "mail", id, null, "all"],
        ["schedule:removed", null, null, "nightly", null],
        ["schedule:run", "mail", job.id, "nightly", null],
        ["schedule:resumed", null, null, "nightly", null],
        ["schedule:paused", null, null, "nightly", null],
        ["schedule:saved", "mail", null, "nightly", "new"],
        ["queue:configured", "mail", null, null, "small disk"],
        ["queue:resumed", "mail", null, null, null],
        ["queue:paused", "mail", null, null, "the relay is down"],
      ]);
      expect(entries.find(({ action }) => action === "queue:configured")?.details).toBe("capacity=5 retention=(age=1h)");
      expect(entries[0]?.details).toMatch(/^action=cancel queue=mail status=/);
    });

    promises("is filtered and paged, and refuses what it does not know", async (client) => {
      for (const queue of ["a", "b"]) await client.pause(queue, { create: true });
      for (const queue of ["a", "b"]) await client.resume(queue);
      await client.pause("a");
      expect((await client.audit({ queue: "a" })).entries.map(({ action }) => action)).toHaveLength(3);
      expect((await client.audit({ queue: "a", action: "queue:resumed" })).entries).toHaveLength(1);
      expect((await client.audit({ jobId: MISSING_ID })).entries).toEqual([]);
      const first = await client.audit({ queue: "b", limit: 1 });
      const second = await client.audit({ queue: "b", limit: 1, cursor: first.cursor });
      expect(second.entries[0]!.number).toBeLessThan(first.entries[0]!.number);
      expect(await client.audit({ queue: "b", limit: 1, cursor: second.cursor })).toEqual({ entries: [], cursor: null });
      for (const [bad, field] of [
        [{ action: "explode" }, "action"],
        [{ limit: 0 }, "limit"],
        [{ queue: "no queue" }, "queue"],
        [{ by: "" }, "by"],
      ] as const) {
        await expect(client.audit(bad as never)).rejects.toMatchObject({ code: "invalid_input", field });
      }
      await expect(client.audit({ cursor: "nonsense" })).rejects.toMatchObject({ code: "invalid_cursor" });
    });
  });

  describe("queues", () => {
    promises("have settings and counts", async (client) => {
      await client.configure("mail", { capacity: 2, headStart: "1m", deadLetters: false, retention: { age: "1h", keepAtLeast: "1m" } });
      await client.configure("mail", { retention: { count: 5 } });
      await client.enqueue("t", null, { queue: "mail", priority: "high" });
      await client.enqueue("t", null, { queue: "mail", delay: "1h" });
      const [queue] = await client.queues();
      expect(queue).toMatchObject({
        name: "mail",
        paused: false,
        capacity: 2,
        headStart: 60_000,
        deadLetters: false,
        retention: { age: 3_600_000, count: 5, keepAtLeast: 60_000 },
        counts: { pending: 1, scheduled: 1, running: 0 },
        waiting: { high: 1, default: 1, low: 0, critical: 0 },
        rate: 0,
        oldestWaitingMs: expect.any(Number) as number,
      });
      await expect(client.enqueue("t", null, { queue: "mail" })).rejects.toMatchObject({
        code: "queue_full",
        field: "queue",
        retryAfterMs: 1000,
      });
      await client.configure("mail", { capacity: null, headStart: null });
      expect(await client.enqueue("t", null, { queue: "mail" })).toMatchObject({ created: true });
    });

    promises("have defaults for their jobs, after the call and the definition, before the client", async (client) => {
      await client.configure("mail", { defaults: { maxRetries: 0, timeout: "2m", backoff: "fixed" } });
      const defined = defineJob({ type: "t", queue: "mail", timeout: "3m" });
      const own = defineJob({ type: "t", queue: "mail", backoff: () => 5 });
      const options = { queue: "mail" };
      expect(await client.enqueue("t", null, options)).toMatchObject({
        maxRetries: 0,
        maxLost: 0,
        timeout: 120_000,
        retryDelay: 1000,
        backoff: "fixed",
      });
      // Its own function decides.
      expect(await client.enqueue(own, null)).toMatchObject({ maxRetries: 0, backoff: "exponential" });
      expect(await client.enqueue("t", null, { ...options, maxRetries: 2 })).toMatchObject({ maxRetries: 2, maxLost: 3, timeout: 120_000 });
      expect(await client.enqueue(defined, null)).toMatchObject({ maxRetries: 0, timeout: 180_000 });
      expect(await client.enqueue(defined, null, { timeout: 5 })).toMatchObject({ timeout: 5 });
      expect(await client.enqueue("t", null)).toMatchObject({ queue: "default", maxRetries: 3, timeout: 30_000 });
      const [item] = await client.enqueueMany([{ type: "t", queue: "mail" }]);
      expect(item).toMatchObject({ ok: true, job: { maxRetries: 0, timeout: 120_000 } });

      const schedule = { name: "daily", type: "t", queue: "mail", every: "1d", timeout: 7 } as const;
      expect(await client.schedules.upsert(schedule)).toMatchObject({ maxRetries: 0, timeout: 7 });
      expect(await client.schedules.run("daily")).toMatchObject({ maxRetries: 0, maxLost: 0, timeout: 7, backoff: "fixed" });
      // An object replaces the one before.
      await client.configure("mail", { defaults: { maxLost: 9, retryDelay: "5s", timeout: null } });
      const defaults = { maxRetries: null, maxLost: 9, retryDelay: 5000, backoff: null, timeout: null };
      expect(await client.queue("mail")).toMatchObject({ defaults });
      const after = { maxRetries: 3, maxLost: 9, retryDelay: 5000 };
      expect(await client.schedules.get("daily")).toMatchObject({
        ...after,
        timeout: 7,
        unset: ["maxRetries", "maxLost", "retryDelay", "backoff"],
      });
      expect(await client.schedules.run("daily")).toMatchObject({ ...after, timeout: 7 });
      expect(await client.enqueue("t", null, options)).toMatchObject({ ...after, timeout: 30_000 });
      await client.configure("mail", { defaults: null });
      expect(await client.enqueue("t", null, options)).toMatchObject({ maxRetries: 3, maxLost: 3, retryDelay: 1000 });
    });

    promises("are told one by one with the types that wait in them, the longest waiting first", async (client) => {
      await client.configure("mail", { capacity: 50 });
      expect(await client.queue("mail")).toEqual({ ...(await client.queues())[0], types: [] });
      await client.enqueue("first", null, { queue: "mail" });
      await client.enqueueMany([{ type: "second", queue: "mail" }, { type: "elsewhere" }, { type: "later", queue: "mail", delay: "1h" }]);
      const entry = { state: "idle", host: "h", pid: 1, slots: 1, startedAt: Date.now(), running: [], runningCount: 0 } as const;
      const more = { processed: 0, perMinute: 0, abandoned: 0 };
      await client.leases.register({ id: "w1", queues: ["mail"], types: ["second"], ...entry, ...more }, 60_000);
      const found = await client.queue("mail");
      expect(found).toMatchObject({ name: "mail", capacity: 50, counts: { pending: 2, scheduled: 1 } });
      const [first, second] = found!.types;
      expect(found!.types).toHaveLength(2);
      expect([first, second]).toEqual(
        expect.arrayContaining([
          { type: "first", hasWorker: false, oldestWaitingMs: expect.any(Number) as number },
          { type: "second", hasWorker: true, oldestWaitingMs: expect.any(Number) as number },
        ]),
      );
      expect(first!.oldestWaitingMs).toBeGreaterThanOrEqual(second!.oldestWaitingMs);
      expect(await client.queue("nowhere")).toBeNull();
      await expect(client.queue("no name")).rejects.toMatchObject({ code: "invalid_input", field: "queue" });
    });

    promises("that are paused give nothing until they are resumed", async (client) => {
      await client.pause("default");
      const { id } = await client.enqueue("t");
      expect((await client.queues())[0]).toMatchObject({ paused: true });
      expect((await claim(client)).jobs).toEqual([]);
      await client.resume("default");
      expect((await claim(client)).jobs.map(({ job }) => job.id)).toEqual([id]);
    });

    promises("that never existed are not found, with the names of those that do, unless they shall be made", async (client) => {
      await client.enqueue("t", null, { queue: "mail" });
      const mistyped = [client.pause("mial"), client.resume("mial"), client.configure("mial", { capacity: 1 }, { create: false })];
      for (const call of mistyped) {
        await expect(call).rejects.toMatchObject({ code: "not_found", message: expect.stringContaining("the queues are mail.") as string });
      }
      expect((await client.queues()).map(({ name }) => name)).toEqual(["mail"]);
      await client.pause("default");
      await client.pause("early", { create: true });
      await client.configure("bounded", { capacity: 1 });
      expect((await client.queues()).map(({ name, paused }) => [name, paused])).toEqual([
        ["bounded", false],
        ["default", true],
        ["early", true],
        ["mail", false],
      ]);
    });

    promises("are counted in the figures", async (client) => {
      await client.enqueueMany([{ type: "a" }, { type: "b", queue: "mail", priority: "low" }]);
      await finish(client);
      const stats = await client.stats();
      expect(stats).toMatchObject({
        counts: { pending: 1, completed: 1 },
        waiting: { low: 1, default: 0 },
        totalProcessed: 1,
        totalFailed: 0,
        totalEnqueued: 2,
        totalLost: 0,
        deadCount: 0,
        activeWorkers: 0,
        today: { processed: 1, failed: 0 },
      });
      expect(stats.queues["mail"]).toMatchObject({ counts: { pending: 1 }, waiting: { low: 1 }, paused: false });
      expect(stats.latency.p50).not.toBeNull();
    });
  });

  describe("attention", () => {
    promises("is asked for what is wrong, whatever else is stored", async (client) => {
      expect(await client.attention()).toEqual([]);
      await client.enqueueMany([{ type: "unhandled" }, { type: "mail", queue: "mail" }]);
      await client.pause("mail");
      expect(await client.attention()).toEqual([
        {
          code: "no_workers",
          severity: "bad",
          message: "No worker is running, and jobs of 1 type are pending",
          hint: "start one: millrace worker --handlers ./jobs.ts",
          queue: null,
          type: null,
          count: 1,
        },
        {
          code: "queue_paused",
          severity: "warning",
          message: "mail is paused",
          hint: "1 job is pending in it",
          queue: "mail",
          type: null,
          count: 1,
        },
      ]);
    });
  });

  describe("dead letters", () => {
    promises("are listed, given a new life, and purged, all or by filter", async (client) => {
      await client.enqueueMany([{ type: "a" }, { type: "a" }, { type: "b" }]);
      await die(client, 3);
      expect((await client.dead.list()).jobs.map(({ type, status }) => [type, status])).toEqual([
        ["b", "dead"],
        ["a", "dead"],
        ["a", "dead"],
      ]);
      expect((await client.dead.list({ type: "b" })).jobs[0]?.error).toMatchObject({ name: "Boom", message: "it broke", kind: "error" });
      expect(await client.dead.retry({ type: "b" })).toBe(1);
      expect(await client.dead.purge({ type: "a", from: new Date(Date.now() - 60_000) })).toBe(2);
      expect(await client.dead.retry()).toBe(0);
      expect(await client.dead.purge()).toBe(0);
      expect((await client.list()).jobs.map(({ type, status }) => [type, status])).toEqual([["b", "pending"]]);
    });
  });

  describe("lists in the order of their state", () => {
    promises("begin with the latest end, the next in line, or the soonest due", async (client) => {
      const ids = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);
      const low = await client.enqueue("a", null, { priority: "low" });
      const high = await client.enqueue("a", null, { priority: "high" });
      const late = await client.enqueue("a", null, { delay: "2h" });
      const soon = await client.enqueue("a", null, { delay: "1h" });
      expect(ids((await client.list({ status: "pending", sort: "state" })).jobs)).toEqual([high.id, low.id]);
      expect(ids((await client.list({ status: ["scheduled", "retrying"], sort: "state" })).jobs)).toEqual([soon.id, late.id]);
      expect(ids((await client.list({ status: "scheduled", sort: "created" })).jobs)).toEqual([soon.id, late.id]);
      await die(client, 1);
      const { completedAt } = (await client.get(high.id))!;
      await until(() => Date.now() > completedAt! + 1);
      await die(client, 1);
      expect(ids((await client.dead.list()).jobs)).toEqual([low.id, high.id]);
      expect(ids((await client.dead.list({ sort: "created" })).jobs)).toEqual([high.id, low.id]);
      const first = await client.dead.list({ limit: 1 });
      expect(ids((await client.dead.list({ limit: 1, cursor: first.cursor })).jobs)).toEqual([high.id]);
      await expect(client.list({ cursor: first.cursor })).rejects.toMatchObject({ code: "invalid_cursor" });
      await expect(client.list({ sort: "priority" as "state" })).rejects.toMatchObject({ code: "invalid_input", field: "sort" });
    });

    promises("are filtered by the time of the end, and so are counts, groups and changes", async (client) => {
      await client.enqueueMany([{ type: "a" }, { type: "b" }]);
      await die(client, 1);
      const [first] = (await client.dead.list()).jobs;
      const between = first!.completedAt! + 1;
      await until(() => Date.now() > between);
      await die(client, 1);
      const early = { endedTo: new Date(between) };
      const late = { endedFrom: between };
      expect((await client.list(early)).jobs.map(({ type }) => type)).toEqual(["a"]);
      expect((await client.dead.list(late)).jobs.map(({ type }) => type)).toEqual(["b"]);
      expect(await client.count({ ...late, type: "b" })).toEqual({ count: 1, isCapped: false });
      expect((await client.dead.groups(late)).groups).toMatchObject([{ count: 1, types: ["b"] }]);
      const preview = await client.bulk.preview({ action: "retry", filter: early });
      expect(preview).toMatchObject({ matched: 1, filter: { endedTo: between } });
      expect(await client.dead.retry(late)).toBe(1);
      expect(await client.dead.purge(early)).toBe(1);
      await expect(client.list({ endedFrom: "yesterday" })).rejects.toMatchObject({ code: "invalid_input" });
    });
  });

  describe("events", () => {
    promises("tell what happens, from the call on, and end with the loop", async (client, opened) => {
      const news = client.events()[Symbol.asyncIterator]();
      const other = await opened.second();
      // A stream over the wire is open once it has told something.
      const first = await firstNews(other, news);
      expect(first).toMatchObject({ event: "queue:paused", queue: expect.stringMatching(/^news-/) as string });
      const { id } = await other.enqueue("t", null, { priority: "high" });
      await finish(other);
      const heard = await collect(news, (event) => event.event === "job:completed");
      expect(heard.find((event) => event.event === "job:created")).toMatchObject({
        jobId: id,
        type: "t",
        queue: "default",
        priority: 10,
        level: "high",
      });
      expect(heard.find((event) => event.event === "job:started")).toMatchObject({ jobId: id, workerId: "w1", attempt: 1 });
      expect(heard.at(-1)).toMatchObject({ event: "job:completed", jobId: id, durationMs: 5 });
      await news.return?.();
      expect(await news.next()).toEqual({ done: true, value: undefined });
    });

    promises("end when the caller's signal aborts", async (client) => {
      const over = new AbortController();
      const news = client.events({ signal: over.signal })[Symbol.asyncIterator]();
      const next = news.next();
      over.abort();
      expect(await next).toEqual({ done: true, value: undefined });
    });
  });

  describe("after close", () => {
    promises("every call is refused, and close may be called again", async (client) => {
      const news = client.events()[Symbol.asyncIterator]();
      await client.close();
      await client.close();
      expect((await news.next()).done).toBe(true);
      for (const call of [
        client.enqueue("t"),
        client.enqueueMany([]),
        client.get(MISSING_ID),
        client.list(),
        client.stats(),
        client.attention(),
        client.dead.list(),
      ]) {
        await expect(call).rejects.toMatchObject({ code: "closed" });
      }
      for (const call of [() => client.work({ t: async () => {} }), () => client.events()]) {
        expect(call).toThrow(expect.objectContaining({ code: "closed" }) as Error);
      }
    });
  });
}

function claim(client: Client, limit = 10): ReturnType<Client["leases"]["exchange"]> {
  return client.leases.exchange([], { workerId: "w1", queues: ["default"], types: "*", limit, leaseMs: 30_000, turn: 1, again: false });
}

async function finish(client: Client): Promise<void> {
  const { jobs } = await claim(client);
  await client.leases.exchange(
    jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: { kind: "completed", result: '{"done":true}', runMs: 5 } })),
    null,
  );
}

async function fail(client: Client): Promise<void> {
  const { jobs } = await claim(client);
  const error = { name: "Boom", message: "it broke", stack: "Boom: it broke\n    at here", kind: "error" } as const;
  await client.leases.exchange(
    jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: { kind: "failed", error, delayMs: 60_000, runMs: 1 } })),
    null,
  );
}

async function die(client: Client, count: number): Promise<void> {
  const { jobs } = await claim(client, count);
  const error = { name: "Boom", message: "it broke", stack: null, kind: "error" } as const;
  await client.leases.exchange(
    jobs.map(({ job, fence, facts }) => ({ id: job.id, fence, facts, outcome: { kind: "discard", error, runMs: 1 } })),
    null,
  );
}

/** Makes news until some arrives. */
async function firstNews(client: Client, news: AsyncIterator<Event>): Promise<Event> {
  const first = news.next();
  for (let tries = 1; ; tries++) {
    // Another queue each time: pausing a paused one changes nothing, so nothing is announced.
    await client.pause(`news-${tries}`, { create: true });
    const heard = await Promise.race([first, new Promise<null>((resolve) => setTimeout(resolve, 20, null))]);
    if (heard !== null) return heard.value as Event;
  }
}

async function collect(news: AsyncIterator<Event>, until: (event: Event) => boolean): Promise<Event[]> {
  const heard: Event[] = [];
  for (;;) {
    const { value } = await news.next();
    heard.push(value as Event);
    if (until(value as Event)) return heard;
  }
}
