import { describe, expect } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import { Discard, RetryAfter, Snooze } from "../../src/core/control-errors.ts";
import type { Client, LeasedJob } from "../../src/client/client.ts";
import type { ClientSource } from "./client-sources.ts";
import { until } from "../faults/until.ts";
import type { Promises } from "./client.ts";

/** Workers, and what they are made of. */
export function workSuite(promises: Promises, source: ClientSource): void {
  describe("a worker", () => {
    promises("runs jobs with their payload, and what it returns, logs and says is kept", async (client) => {
      const worker = client.work({
        t: async (payload: { n: number }, ctx) => {
          ctx.log("first");
          ctx.log("second");
          ctx.progress(50, "half");
          return { got: payload.n, attempt: ctx.job.attempt };
        },
      });
      const { id } = await client.enqueue("t", { n: 1 });
      const ended = await client.wait(id);
      expect(ended).toMatchObject({
        status: "completed",
        result: { got: 1, attempt: 1 },
        progress: { percent: 50, note: "half" },
        error: null,
      });
      expect((await client.logs(id)).map(({ number, text, attempt }) => [number, text, attempt])).toEqual([
        [1, "first", 1],
        [2, "second", 1],
      ]);
      expect((await client.logs(id, { after: 1 })).map(({ text }) => text)).toEqual(["second"]);
      expect(await client.attempts(id)).toMatchObject([{ number: 1, workerId: worker.id, outcome: "completed", error: null }]);
      await worker.stop();
      expect(worker.state).toBe("stopped");
    });

    promises("publishes the JSON Schemas of its definitions", async (client) => {
      const input = z.object({ to: z.string() });
      const mail = defineJob({ type: "mail", input });
      const sized = defineJob({ type: "sized", jsonSchema: { type: "string", title: "\u0000" } });
      const unknown = defineJob({ type: "unknown", input: z.object({ at: z.date() }) });
      client.work([mail.handle(() => null), sized.handle(() => null), unknown.handle(() => null)], { queues: ["b", "a"] });
      client.work([mail.handle(() => null)], { queues: ["c"] });
      client.work({ mail: () => null });
      const served = { queues: ["a", "b"], workers: 1 };
      await expect
        .poll(() => client.types(), { timeout: 10_000 })
        .toEqual([
          { type: "mail", queues: ["a", "b", "c"], workers: 2, schema: expect.objectContaining({ required: ["to"] }) as unknown },
          { type: "mail", queues: ["default"], workers: 1, schema: null },
          { type: "sized", ...served, schema: { type: "string", title: "\u0000" } },
          { type: "unknown", ...served, schema: null },
        ]);
    });

    promises("stores the output of the result's schema, and fails an attempt whose result does not fit", async (client) => {
      const output = z.object({ pages: z.array(z.object({ size: z.number() })), note: z.string().default("none") });
      const report = defineJob({ type: "report", output, retryDelay: 0, maxRetries: 3 });
      client.work([
        report.handle((_, { job }) => ({ pages: [{ size: job.attempt === 1 ? ("A4" as never) : job.attempt }], hidden: true })),
      ]);
      const { id } = await client.enqueue(report);
      expect((await client.wait(report, id)).result).toEqual({ pages: [{ size: 2 }], note: "none" });
      expect((await client.attempts(id))[0]?.error).toMatchObject({
        name: "InvalidResult",
        message: expect.stringMatching(/^the result does not match the schema of its type: result\.pages\[0\]\.size: .*number/) as string,
      });
    });

    promises("retries what fails, and gives it up in the end", async (client) => {
      client.work(
        {
          flaky: async (_: unknown, { job }) => {
            if (job.attempt < 3) throw new TypeError(`attempt ${job.attempt}`);
            return "at last";
          },
          doomed: async () => {
            throw new Error("never");
          },
          hopeless: async () => {
            throw new Discard("pointless");
          },
          later: async (_: unknown, { job }) => {
            if (job.retryCount === 0) throw new RetryAfter(10);
            return "later";
          },
        },
        { backoffs: { quickly: (retry, error, job) => (error instanceof TypeError && job.type === "flaky" ? retry : "1h") } },
      );
      const flaky = await client.enqueue("flaky", null, { retryDelay: "5m", backoff: "quickly" });
      const doomed = await client.enqueue("doomed", null, { retryDelay: 1, maxRetries: 1 });
      const hopeless = await client.enqueue("hopeless");
      const later = await client.enqueue("later", null, { retryDelay: "5m" });
      expect(await client.wait(flaky.id)).toMatchObject({ status: "completed", result: "at last", attempt: 3, retryCount: 2 });
      expect((await client.attempts(flaky.id)).map(({ outcome, error }) => [outcome, error?.name])).toEqual([
        ["failed", "TypeError"],
        ["failed", "TypeError"],
        ["completed", undefined],
      ]);
      expect(await client.wait(doomed.id)).toMatchObject({
        status: "dead",
        attempt: 2,
        error: { name: "Error", message: "never", kind: "error" },
      });
      expect((await client.get(doomed.id))?.error?.stack).toContain("never");
      expect(await client.wait(hopeless.id)).toMatchObject({
        status: "dead",
        attempt: 1,
        error: { name: "Discard", message: "pointless" },
      });
      expect(await client.wait(later.id)).toMatchObject({ status: "completed", result: "later" });
      expect(await client.stats()).toMatchObject({ totalProcessed: 2, totalFailed: 2 });
    });

    promises("tells its version, and each error keeps the version that it came with", async (client) => {
      const fails = {
        doomed: async () => {
          throw new Error("never");
        },
        slow: () => new Promise<void>(() => {}),
      };
      const worker = client.work(fails, { version: "1.4.0-rc.1", settle: 0 });
      const doomed = await client.enqueue("doomed", null, { retryDelay: 1, maxRetries: 1 });
      const slow = await client.enqueue("slow", null, { timeout: 1, maxRetries: 0 });
      const version = "1.4.0-rc.1";
      expect((await client.wait(doomed.id)).error).toMatchObject({ message: "never", version });
      expect((await client.wait(slow.id)).error).toMatchObject({ kind: "timeout", version });
      expect((await client.attempts(doomed.id)).map(({ error }) => error?.version)).toEqual([version, version]);
      await until(async () => (await client.workers()).length === 1);
      expect(await client.workers()).toMatchObject([{ id: worker.id, version }]);
      await worker.stop();
      expect(await client.formerWorkers()).toMatchObject([{ id: worker.id, version }]);
      const { groups } = await client.dead.groups();
      expect(groups.map(({ count, firstVersion, trend }) => [count, firstVersion, trend.at(-1)])).toEqual([
        [1, version, 1],
        [1, version, 1],
      ]);
      expect((await client.dead.groups({ q: "never" })).groups).toMatchObject([{ firstVersion: version, trend: groups[0]!.trend }]);
    });

    promises("snoozes at no cost", async (client) => {
      let runs = 0;
      client.work({
        t: async () => {
          if (runs++ === 0) throw new Snooze("1s");
          return runs;
        },
      });
      const { id } = await client.enqueue("t", null, { maxRetries: 0 });
      expect(await client.wait(id)).toMatchObject({ status: "completed", attempt: 1, result: 2 });
    });

    promises("ends what runs too long", async (client) => {
      client.work({
        slow: (_: unknown, { signal }) =>
          new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
      });
      const { id } = await client.enqueue("slow", null, { timeout: 50, maxRetries: 0 });
      expect(await client.wait(id)).toMatchObject({ status: "dead", error: { kind: "timeout" } });
    });

    promises("hears that its job was cancelled elsewhere", async (client, opened) => {
      const { promise: aborted, resolve } = Promise.withResolvers<string>();
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      client.work({
        t: (_: unknown, { signal }) =>
          new Promise<void>((done) => {
            signal.addEventListener("abort", () => {
              resolve((signal.reason as Error).name);
              done();
            });
            start();
          }),
      });
      const { id } = await client.enqueue("t", null, { timeout: 0 });
      await started;
      expect(await (await opened.second()).cancel(id)).toMatchObject({ status: "cancelled" });
      await aborted;
      expect(await client.get(id)).toMatchObject({ status: "cancelled", error: { kind: "cancelled" } });
    });

    promises("serves its queues and types only, and is listed while it lives", async (client) => {
      const worker = client.work({ t: async () => "ran" }, { queues: ["a", "b"], concurrency: 3 });
      const [here, there, other] = [
        await client.enqueue("t", null, { queue: "b" }),
        await client.enqueue("t", null, { queue: "c" }),
        await client.enqueue("u", null, { queue: "a" }),
      ];
      await client.wait(here.id);
      while ((await client.workers()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await client.workers()).toMatchObject([{ id: worker.id, queues: ["a", "b"], types: ["t"], slots: 3, pid: process.pid }]);
      await worker.stop();
      expect(await client.workers()).toEqual([]);
      expect(await client.formerWorkers()).toMatchObject([{ id: worker.id, queues: ["a", "b"], types: ["t"], slots: 3, end: "stopped" }]);
      expect([(await client.get(there.id))?.status, (await client.get(other.id))?.status]).toEqual(["pending", "pending"]);
    });

    promises("serves all queues, also those that come later, and is listed so", async (client) => {
      const worker = client.work({ t: async () => "ran" }, { queues: ["*"] });
      const before = await client.enqueue("t", null, { queue: "one" });
      expect(await client.wait(before.id)).toMatchObject({ result: "ran" });
      const later = await client.enqueue("t", null, { queue: "another" });
      expect(await client.wait(later.id)).toMatchObject({ result: "ran" });
      while ((await client.workers()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await client.workers()).toMatchObject([{ id: worker.id, queues: ["*"] }]);
      await worker.stop();
    });

    promises("gives back what it could not finish, at no cost", async (client) => {
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      const worker = client.work({ t: () => (start(), new Promise<void>(() => {})) });
      const { id } = await client.enqueue("t", null, { maxRetries: 0 });
      await started;
      await worker.stop({ grace: 0 });
      expect(await client.get(id)).toMatchObject({ status: "pending", attempt: 0 });
    });

    promises("claims ahead of its slots, and gives back what it has not started, at no cost", async (client) => {
      const results = await client.enqueueMany(Array.from({ length: 300 }, (_, payload) => ({ type: "t", payload })));
      const ids = results.map((result) => (result.ok ? result.job.id : ""));
      const started: number[] = [];
      const handler = async (n: number): Promise<void> => {
        started.push(n);
        await new Promise((resolve) => setTimeout(resolve, 2));
      };
      const worker = client.work({ t: handler }, { concurrency: 2, ahead: "1s" });
      await until(async () => (await client.count({ status: "running" })).count > 2);
      expect(worker.running).toBeLessThanOrEqual(2);
      await worker.stop();
      // Two claims are under way at once, and the later one may be answered first: jobs start in the order in which they arrive.
      const jobs = await Promise.all(ids.map((id) => client.get(id)));
      const states = jobs.map((job) => `${job?.status} ${job?.attempt}`);
      expect(states).toEqual(states.map((_, n) => (started.includes(n) ? "completed 1" : "pending 0")));
      expect(new Set(started).size).toBe(started.length);
    });

    promises("tells the start of a job that was claimed ahead when its handler was called", async (client) => {
      const heard: string[] = [];
      const stopped = new AbortController();
      const events = client.events({ signal: stopped.signal });
      const claim = { workerId: "w1", queues: ["default"], types: "*" as const, limit: 1, leaseMs: 30_000, turn: 0, again: false };
      const first = events[Symbol.asyncIterator]().next();
      const [before, ahead, after] = [await client.enqueue("before"), await client.enqueue("ahead"), await client.enqueue("after")];
      await first;
      const take = async (isAhead: boolean): Promise<LeasedJob> =>
        (await client.leases.exchange([], { ...claim, ahead: isAhead })).jobs[0]!;
      expect((await take(false)).job.id).toBe(before.id);
      const held = await take(true);
      expect(held.job.id).toBe(ahead.id);
      expect((await take(false)).job.id).toBe(after.id);
      const { fence, facts } = held;
      await client.leases.exchange(
        [{ id: ahead.id, fence, facts, heldMs: 0, outcome: { kind: "completed", result: null, runMs: 1 } }],
        null,
      );
      for await (const event of events) {
        if ((event.event === "job:started" || event.event === "job:completed") && "type" in event)
          heard.push(`${event.event} ${event.type}`);
        if (event.event === "job:completed") break;
      }
      stopped.abort();
      expect(heard).toEqual(["job:started before", "job:started after", "job:started ahead", "job:completed ahead"]);
      expect(await client.get(ahead.id)).toMatchObject({ status: "completed", startedAt: held.job.startedAt });
    });

    promises("keeps its lease for as long as the job takes", async (client) => {
      let release: () => void = () => {};
      client.work({ t: () => new Promise<string>((resolve) => (release = () => resolve("kept"))) }, { lease: "1s" });
      const { id } = await client.enqueue("t", null, { timeout: 0, maxRetries: 0 });
      while ((await client.get(id))?.status !== "running") await new Promise((resolve) => setTimeout(resolve, 20));
      await new Promise((resolve) => setTimeout(resolve, 2500));
      release();
      expect(await client.wait(id)).toMatchObject({ status: "completed", attempt: 1, result: "kept" });
    });

    promises("drains many jobs of many producers, each once", async (client, opened) => {
      const ran: number[] = [];
      client.work({ t: async (n: number) => void ran.push(n) }, { concurrency: 50 });
      const other = await opened.second();
      const jobs = await Promise.all(Array.from({ length: 400 }, (_, n) => (n % 2 === 0 ? client : other).enqueue("t", n)));
      await Promise.all(jobs.map(({ id }) => client.wait(id)));
      expect(ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 400 }, (_, n) => n));
    });
  });

  describe("leases", () => {
    promises("are granted once, and a stale fence changes nothing", async (client, opened) => {
      const { id } = await client.enqueue("t", { a: 1 });
      const [lease] = await claim(client, 1);
      expect(lease).toMatchObject({
        job: { id, status: "running", payload: { a: 1 }, workerId: "w1", attempt: 1 },
        fence: 1,
        facts: { type: "t", queue: "default" },
      });
      expect(await claim(await opened.second(), 2)).toEqual([]);
      const stale = { id, fence: 0 };
      expect(await client.leases.extend([{ id, fence: 1 }, stale], 30_000)).toEqual(["ok", "stale"]);
      expect(await client.leases.note([{ ...stale, type: "t", queue: "default", progress: null, lines: ["no"] }])).toEqual(["stale"]);
      const report = { id, fence: 1, outcome: { kind: "completed", result: '"done"', runMs: 12 } } as const;
      expect((await client.leases.exchange([{ ...report, fence: 0 }], null)).results).toEqual(["stale"]);
      expect((await client.leases.exchange([report], null)).results).toEqual(["ok"]);
      expect((await client.leases.exchange([report], null)).results).toEqual(["ok"]);
      expect(await client.get(id)).toMatchObject({ status: "completed", result: "done", durationMs: 12 });
    });

    promises("of a cancelled job say so", async (client) => {
      const { id } = await client.enqueue("t");
      const [lease] = await claim(client, 1);
      await client.cancel(id);
      expect(await client.leases.extend([{ id, fence: lease!.fence }], 30_000)).toEqual(["cancelled"]);
      expect((await client.leases.exchange([{ id, fence: lease!.fence, outcome: { kind: "release" } }], null)).results).toEqual([
        "cancelled",
      ]);
    });

    promises("are settled and claimed in one round trip", async (client) => {
      await client.enqueueMany([{ type: "t" }, { type: "t" }]);
      const [first] = await claim(client, 1, 1);
      const { results, jobs } = await client.leases.exchange(
        [{ id: first!.job.id, fence: first!.fence, facts: first!.facts, outcome: { kind: "completed", result: null, runMs: 1 } }],
        {
          workerId: "w1",
          queues: ["default"],
          types: ["t"],
          limit: 5,
          leaseMs: 30_000,
          turn: 2,
          again: false,
        },
      );
      expect(results).toEqual(["ok"]);
      expect(jobs).toHaveLength(1);
    });

    promises("tell by a hint that there is work", async (client) => {
      const { promise: hinted, resolve } = Promise.withResolvers<string>();
      const unwatch = client.leases.watch((hint) => {
        if (hint.topic === "work") resolve(hint.queue);
      });
      await client.enqueue("t", null, { queue: "mail" });
      expect(await hinted).toBe("mail");
      unwatch();
    });
  });

  // A transaction lives in a connection to the store: over a server there is none to take part in.
  if (source.isRemote) {
    describe("a transaction", () => {
      promises("is refused in words, and leaves nothing", async (client) => {
        const tx = {};
        for (const call of [
          client.enqueue("t", null, { tx }),
          client.enqueueMany([{ type: "t" }], { tx }),
          client.leases.settleWithin(tx, { id: "", fence: 0, outcome: { kind: "release" } }),
        ]) {
          await expect(call).rejects.toMatchObject({
            code: "invalid_transaction",
            field: "tx",
            message: expect.stringContaining("connect to the store itself") as string,
          });
        }
        expect((await client.list()).jobs).toEqual([]);
      });

      promises("in which a handler would complete its job fails the attempt", async (client) => {
        client.work({ t: async (_: unknown, ctx) => ctx.complete("never", { tx: {} }) });
        const { id } = await client.enqueue("t", null, { maxRetries: 0 });
        expect(await client.wait(id)).toMatchObject({
          status: "dead",
          error: { message: expect.stringContaining("transaction") as string },
        });
      });
    });
  }
}

async function claim(client: Client, turn: number, limit = 10): Promise<LeasedJob[]> {
  const { jobs } = await client.leases.exchange([], {
    workerId: "w1",
    queues: ["default"],
    types: "*",
    limit,
    leaseMs: 30_000,
    turn,
    again: false,
  });
  return jobs;
}
