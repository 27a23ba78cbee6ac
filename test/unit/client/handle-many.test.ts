import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import type { BatchHandler, BatchOptions, WorkOptions } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { Discard, RetryAfter, Snooze } from "../../../src/core/control-errors.ts";
import { createTestClient, type TestClient } from "../../../src/testing/test-client.ts";
import { until } from "../../faults/until.ts";

interface Point {
  readonly n: number;
}

const point = defineJob<Point>({ type: "point", maxRetries: 1, retryDelay: "1s" });
const points = (count: number): readonly Point[] => Array.from({ length: count }, (_, n) => ({ n }));

let client: TestClient;
let ids: string[];

beforeEach(async () => {
  client = await createTestClient();
});

afterEach(() => client.close());

async function enqueue(count: number, options: object = {}): Promise<void> {
  const results = await client.enqueueMany(points(count).map((payload) => point.job(payload, options)));
  ids = results.map((result) => (result.ok ? result.job.id : ""));
}

async function run(handler: BatchHandler<Point>, options: BatchOptions = {}, workOptions: WorkOptions = {}): Promise<void> {
  const worker = client.work([point.handleMany(handler, options)], { concurrency: 100, ...workOptions });
  await client.drain();
  await worker.stop();
}

const states = (): Promise<unknown[]> => Promise.all(ids.map(async (id) => (await client.get(id))!.status));

describe("a batch handler", () => {
  test("gets what was claimed at once, in parts of its size, and nothing returned means done", async () => {
    await enqueue(25);
    const sizes: number[] = [];
    await run((jobs) => void sizes.push(jobs.length), { size: 10 });
    expect(sizes).toEqual([10, 10, 5]);
    expect(new Set(await states())).toEqual(new Set(["completed"]));
  });

  test("gets no more jobs than its worker has slots", async () => {
    await enqueue(5);
    const sizes: number[] = [];
    await run((jobs) => void sizes.push(jobs.length), {}, { concurrency: 2 });
    expect(Math.max(...sizes)).toBe(2);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(5);
  });

  test("says for each job how it ended", async () => {
    await enqueue(5);
    await run((jobs) =>
      jobs.map(({ payload: { n } }) => [{ twice: 2 * n }, new Error("one"), new Discard("two"), new Snooze("1h"), new RetryAfter("9s")][n]),
    );
    const now = client.clock.now();
    expect(await Promise.all(ids.map((id) => client.get(id)))).toMatchObject([
      { status: "completed", result: { twice: 0 }, attempt: 1 },
      { status: "retrying", error: { message: "one" }, scheduledAt: now + 1000 },
      { status: "dead", error: { name: "Discard" }, attempt: 1 },
      { status: "scheduled", attempt: 0 },
      { status: "retrying", scheduledAt: now + 9000 },
    ]);
  });

  test("fails all jobs that have no outcome yet if it throws, or returns something else than an outcome for each", async () => {
    for (const handler of [
      () => {
        throw new Error("the database is away");
      },
      () => ["only one"],
      () => "done" as never,
    ] as BatchHandler<Point>[]) {
      await enqueue(3, { maxRetries: 0 });
      await run((jobs, ctx) => {
        ctx.settle(jobs[0]!, "early");
        return handler(jobs, ctx);
      });
      expect(await states()).toEqual(["completed", "dead", "dead"]);
      expect((await client.get(ids[0]!))!.result).toBe("early");
    }
    expect((await client.get(ids[2]!))!.error?.message).toContain("an outcome for each of its 3 jobs");
  });

  test("has the context of each job, and a timeout or cancel aborts only its own", async () => {
    await enqueue(2);
    await client.enqueue(point, { n: 2 }, { timeout: "2s" }).then(({ id }) => ids.push(id));
    let seen: unknown[] = [];
    const worker = client.work([
      point.handleMany(async (jobs, ctx) => {
        const [kept, cancelled, timed] = jobs.map((job) => ctx.of(job));
        kept!.log("mine");
        await Promise.all([cancelled, timed].map((one) => new Promise((resolve) => one!.signal.addEventListener("abort", resolve))));
        seen = [kept, cancelled, timed].map((one) => one!.signal.aborted);
        seen.push(ctx.signal.aborted);
        return jobs.map(({ payload }) => payload.n);
      }),
    ]);
    await until(async () => (await client.get(ids[2]!))!.status === "running");
    await client.cancel(ids[1]!);
    await client.clock.advance("2s");
    await client.drain();
    await worker.stop();
    expect(seen).toEqual([false, true, true, false]);
    expect(await states()).toEqual(["completed", "cancelled", "retrying"]);
    expect((await client.logs(ids[0]!)).map(({ text }) => text)).toEqual(["mine"]);
  });

  test("waits for more jobs if it is told to; a shutdown gives back those that did not start", async () => {
    const sizes: number[] = [];
    const handled = point.handleMany((jobs) => void sizes.push(jobs.length), { size: 3, wait: "5s" });
    const worker = client.work([handled], { concurrency: 5 });
    await enqueue(1);
    const first = ids;
    await until(async () => (await client.get(first[0]!))!.status === "running");
    await enqueue(3);
    await until(async () => (await states()).filter((status) => status === "completed").length === 2);
    expect(sizes).toEqual([3]);
    await worker.stop({ grace: 0 });
    expect(await client.get(ids[2]!)).toMatchObject({ status: "pending", attempt: 0 });
    expect(sizes).toEqual([3]);
  });

  // The handler ends while the grace lasts, after the abort. A handler that never looked at its signal did not throw because of it.
  test.each([
    ["that used its signal", true, "pending"],
    ["that did not use its signal", false, "retrying"],
  ])("%s and throws after the abort of a shutdown ends as a single handler does", async (_name, usesSignal, status) => {
    for (const kind of ["single", "batch"]) {
      const end = Promise.withResolvers<void>();
      const fail = async (ctx: { readonly signal: AbortSignal }): Promise<never> => {
        if (usesSignal) void ctx.signal;
        await end.promise;
        throw new Error("broken");
      };
      const handled = kind === "single" ? point.handle((_payload, ctx) => fail(ctx)) : point.handleMany((_jobs, ctx) => fail(ctx));
      const worker = client.work([handled]);
      await enqueue(1);
      await until(async () => (await states())[0] === "running");
      const stopping = worker.stop({ grace: "10s" });
      await client.clock.advance("6s");
      end.resolve();
      await stopping;
      expect([kind, ...(await states())]).toEqual([kind, status]);
      await client.cancel(ids[0]!);
    }
  });

  test("gets payloads as the schema makes them, and no job whose payload does not fit", async () => {
    const checked = defineJob({ type: "point", input: z.object({ n: z.number().transform((n) => n + 0.5) }) });
    await enqueue(2);
    await client.enqueue("point", { n: "x" }).then(({ id }) => ids.push(id));
    let given: unknown;
    const worker = client.work([checked.handleMany((jobs) => void (given = jobs.map(({ payload }) => payload.n)))]);
    await client.drain();
    await worker.stop();
    expect(given).toEqual([0.5, 1.5]);
    expect(await states()).toEqual(["completed", "completed", "dead"]);
  });

  test.each([
    ["handler", 5, {}],
    ["size", () => {}, { size: 0 }],
    ["size", () => {}, { size: 1001 }],
    ["wait", () => {}, { wait: "6s" }],
    ["colour", () => {}, { colour: 1 }],
  ])("with a wrong %s is refused", (field, handler, options) => {
    expect(() => point.handleMany(handler as never, options as never)).toThrow(expect.objectContaining({ code: "invalid_input", field }));
  });
});
