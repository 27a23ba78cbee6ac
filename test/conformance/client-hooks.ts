import { describe, expect } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/client/define-job.ts";
import type { Client, HeardJob, JobEvents, WorkerHandle } from "../../src/client/client.ts";
import { Discard, Snooze } from "../../src/core/control-errors.ts";
import { JOB_EVENTS } from "../../src/core/hook-events.ts";
import { until } from "../faults/until.ts";
import { readPrometheusText, valueOf } from "../unit/observe/prometheus-text.ts";
import type { Promises } from "./client.ts";

interface Heard {
  readonly event: keyof JobEvents;
  readonly job: HeardJob;
  readonly error: Error | undefined;
}

/** Writes down every event of jobs. */
function listen(source: Pick<Client, "on"> | WorkerHandle): Heard[] {
  const heard: Heard[] = [];
  for (const event of JOB_EVENTS) (source as Pick<Client, "on">).on(event, (job, error?: Error) => heard.push({ event, job, error }));
  return heard;
}

/** What is heard of a job must be what the store has. */
async function expectStored(client: Client, heard: HeardJob): Promise<void> {
  const { progress: _, updatedAt: __, scheduledAt: ___, completedAt: ____, ...stored } = (await client.get(heard.id))!;
  expect(heard).toEqual(stored);
}

/** Hooks: what a client and its workers tell in the process that ran a job. */
export function hookSuite(promises: Promises): void {
  describe("hooks", () => {
    promises("tell how each attempt ended, with the job as the store has it and the error that was thrown", async (client) => {
      const heard = listen(client);
      const reason = new Error("the reason");
      const thrown = new TypeError("no", { cause: reason });
      const worker = client.work({
        good: async () => ({ at: new Date(0) }),
        flaky: async (_: unknown, { job }) => {
          if (job.attempt === 1) throw thrown;
        },
        text: async () => {
          throw "only a text"; // oxlint-disable-line only-throw-error -- handlers may throw anything
        },
        hopeless: async () => {
          throw new Discard("pointless");
        },
        big: async () => 1n,
        slow: (_: unknown, { signal }) => new Promise((done) => signal.addEventListener("abort", done)),
      });
      const ofWorker = listen(worker);
      const run = async (type: string, options = {}): Promise<readonly Heard[]> => {
        const { id } = await client.enqueue(type, null, { retryDelay: 1, maxRetries: 0, ...options });
        await client.wait(id);
        const own = (): Heard[] => heard.filter(({ job }) => job.id === id);
        await until(async () => own().some(({ event }) => event === "completed" || event === "dead"));
        return own();
      };

      const [good, flaky, text, hopeless, big, slow] = await Promise.all([
        run("good"),
        run("flaky", { maxRetries: 1 }),
        run("text"),
        run("hopeless", { maxRetries: 3 }),
        run("big"),
        run("slow", { timeout: 20 }),
      ]);
      expect(good.map(({ event }) => event)).toEqual(["started", "completed"]);
      expect(good[0]!.job).toMatchObject({ status: "running", attempt: 1, workerId: worker.id });
      expect(good[1]!.job.result).toEqual({ at: "1970-01-01T00:00:00.000Z" });
      expect(flaky.map(({ event }) => event)).toEqual(["started", "failed", "started", "completed"]);
      expect(flaky[1]!.error).toBe(thrown);
      expect(flaky[1]!.job).toMatchObject({ status: "retrying", retryCount: 1, error: { name: "TypeError", message: "no" } });
      expect(text[1]).toMatchObject({ event: "dead", job: { status: "dead" }, error: { message: "only a text", cause: "only a text" } });
      expect(hopeless[1]).toMatchObject({ event: "dead", error: expect.any(Discard) as unknown });
      expect(big[1]).toMatchObject({ event: "dead", error: { message: expect.stringContaining("result") as unknown } });
      expect(slow[1]).toMatchObject({ event: "dead", error: { name: "TimeoutError" } });
      for (const ended of [good, flaky, text, hopeless, big, slow]) await expectStored(client, ended.at(-1)!.job);
      expect(ofWorker).toEqual(heard);
    });

    promises("tell the status of a job in a queue without dead letters", async (client) => {
      await client.configure("brief", { deadLetters: false }, { create: true });
      const heard = listen(client);
      const worker = client.work({ bad: () => Promise.reject(new Error("no")) }, { queues: ["brief"] });
      const { id } = await client.enqueue("bad", null, { queue: "brief", maxRetries: 0 });
      await until(async () => heard.some(({ event, job }) => event === "dead" && job.id === id));
      expect(heard.at(-1)!.job.status).toBe("failed");
      await expectStored(client, heard.at(-1)!.job);
      await worker.stop();
    });

    promises("tell what was cancelled, snoozed and given back", async (client) => {
      const heard = listen(client);
      const run = (_: unknown, { signal }: { signal: AbortSignal }): Promise<unknown> =>
        new Promise((done) => signal.addEventListener("abort", done));
      const worker = client.work({
        run,
        endless: () => new Promise<void>(() => {}),
        sleepy: async () => {
          throw new Snooze("1h");
        },
      });
      const sleepy = await client.enqueue("sleepy");
      const cancelled = await client.enqueue("run", null, { timeout: 0 });
      await until(async () => heard.some(({ event, job }) => event === "started" && job.id === cancelled.id));
      await client.cancel(cancelled.id);
      await until(async () => heard.filter(({ event }) => event === "cancelled" || event === "snoozed").length === 2);
      const endless = await client.enqueue("endless");
      await until(async () => heard.some(({ event, job }) => event === "started" && job.id === endless.id));
      await worker.stop({ grace: 0 });
      const of = (id: string): HeardJob => heard.filter(({ job }) => job.id === id).at(-1)!.job;
      expect(heard.filter(({ event }) => event !== "started").map(({ event }) => event)).toEqual(
        expect.arrayContaining(["snoozed", "cancelled", "released"]),
      );
      await expectStored(client, of(sleepy.id));
      await expectStored(client, of(endless.id));
      expect(of(cancelled.id)).toMatchObject({ status: "cancelled", error: { kind: "cancelled" } });
    });

    promises("do no harm when they fail, and end when they are ended", async (client) => {
      const calls: string[] = [];
      client.on("completed", () => {
        throw new Error("a listener that throws");
      });
      client.on("completed", async () => {
        throw new Error("a listener that rejects");
      });
      const end = client.on("completed", ({ type }) => calls.push(`first ${type}`));
      client.on("completed", ({ type }) => calls.push(`second ${type}`));
      const worker = client.work({ a: async () => 1, b: async () => 2 });
      await client.wait((await client.enqueue("a")).id);
      await until(async () => calls.length === 2);
      end();
      end();
      await client.wait((await client.enqueue("b")).id);
      await until(async () => calls.length === 3);
      expect(calls).toEqual(["first a", "second a", "second b"]);
      expect(worker.healthy).toBe(true);
    });

    promises("tell when a worker is ready, has nothing to do, stops and has stopped", async (client) => {
      const heard: string[] = [];
      const worker = client.work({ t: async () => "ran" });
      for (const event of ["ready", "idle", "completed", "stopping", "stopped"] as const) worker.on(event, () => heard.push(event));
      await until(async () => heard.includes("idle"));
      await client.enqueue("t");
      await until(async () => heard.filter((event) => event === "idle").length === 2);
      await worker.stop();
      expect(heard).toEqual(["ready", "idle", "completed", "idle", "stopping", "stopped"]);
    });
  });
  describe("middleware", () => {
    promises("wraps enqueue and handlers, the first used outermost, around the schemas of both", async (client) => {
      const calls: string[] = [];
      const seal = (payload: unknown): unknown => ({ sealed: Buffer.from(JSON.stringify(payload)).toString("base64") });
      const open = ({ sealed }: { sealed: string }): unknown => JSON.parse(Buffer.from(sealed, "base64").toString());
      for (const name of ["outer", "inner"]) {
        client.use({
          enqueue: async (jobs, next) => {
            calls.push(`${name} enqueues ${jobs.map(({ type, queue }) => `${type} in ${queue}`).join(", ")}`);
            return next(jobs.map((job) => ({ ...job, meta: { ...job.meta, [name]: true } })));
          },
          handle: async (payload, { job }, next) => {
            calls.push(`${name} handles attempt ${job.attempt}`);
            return { [name]: await next(payload) };
          },
        });
      }
      client.use({
        enqueue: (jobs, next) => next(jobs.map((job) => ({ ...job, payload: seal(job.payload) }))),
        handle: (payload, _ctx, next) => next(open(payload as { sealed: string })),
      });
      // The published schema is that of what is stored.
      const mail = defineJob({
        type: "mail",
        input: z.object({ to: z.string() }),
        jsonSchema: { type: "object", required: ["sealed"] },
        queue: "q",
        meta: { from: "definition" },
      });
      client.work([mail.handle(({ to }, { job }) => [to, job.payload])], { queues: ["q"] });
      const { id } = await client.enqueue(mail, { to: "ann" });
      expect(await client.wait(id)).toMatchObject({
        payload: seal({ to: "ann" }),
        meta: { from: "definition", outer: true, inner: true },
        result: { outer: { inner: ["ann", { to: "ann" }] } },
      });
      expect(calls).toEqual(["outer enqueues mail in q", "inner enqueues mail in q", "outer handles attempt 1", "inner handles attempt 1"]);

      const results = await client.enqueueMany([
        mail.job({ to: "bob" }),
        { type: mail, payload: { to: 1 as unknown as string } },
        mail.job({ to: "cleo" }),
      ]);
      expect(results.map((result) => (result.ok ? result.job.payload : result.error.field))).toEqual([
        seal({ to: "bob" }),
        "payload.to",
        seal({ to: "cleo" }),
      ]);
      expect(calls).toContain("outer enqueues mail in q, mail in q");
    });

    promises("that throws fails the call, or the attempt as the handler would", async (client) => {
      const worker = client.work({ t: async () => "ran" });
      client.use({
        enqueue: async (jobs, next) => {
          if (jobs.some(({ type }) => type === "forbidden")) throw new RangeError("not here");
          return next(jobs);
        },
        handle: (_payload, { job }, next) => {
          if (job.attempt === 1) throw new RangeError("not yet");
          return next(null);
        },
      });
      await expect(client.enqueue("forbidden")).rejects.toThrow(RangeError);
      await expect(client.enqueueMany([{ type: "forbidden" }])).rejects.toThrow("not here");
      const { id } = await client.enqueue("t", null, { retryDelay: 1 });
      expect(await client.wait(id)).toMatchObject({ status: "completed", attempt: 2, result: "ran" });
      expect(await client.attempts(id)).toMatchObject([{ error: { name: "RangeError" } }, { outcome: "completed" }]);
      await worker.stop();
    });
  });
  promises("metrics are those of the store, and of the jobs that this process ran since they were first asked for", async (client) => {
    const read = async (): Promise<(name: string, labels?: Record<string, string>) => number | undefined> => {
      const families = readPrometheusText(await client.metrics());
      return (name, labels) => valueOf(families, name, labels);
    };
    const before = await read();
    expect(before("millrace_store_up")).toBe(1);
    client.work({
      t: async (n: number) => {
        if (n === 0) throw new Error("no");
      },
    });
    const jobs = await client.enqueueMany([1, 2, 0].map((payload) => ({ type: "t", payload, maxRetries: 0, queue: "default" })));
    for (const result of jobs) await client.wait(result.ok ? result.job.id : "");
    await until(async () => {
      const value = await read();
      return value("millrace_attempts_total", { queue: "default", outcome: "failed" }) === 1 && value("millrace_jobs_failed_total") === 1;
    });
    const value = await read();
    expect(value("millrace_claims_total", { queue: "default" })).toBe(3);
    expect(value("millrace_attempts_total", { queue: "default", outcome: "completed" })).toBe(2);
    expect(value("millrace_troubles_total", { kind: "dead" })).toBe(1);
    expect(value("millrace_http_requests_total")).toBeUndefined();
  });
}
