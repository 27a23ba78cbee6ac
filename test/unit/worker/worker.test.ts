import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import type { Context, Handlers, WorkerHandle, WorkOptions } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { Discard, RetryAfter, Snooze } from "../../../src/core/control-errors.ts";
import type { Duration } from "../../../src/core/duration.ts";
import type { Job } from "../../../src/core/job.ts";
import { createTestClient, type TestClient } from "../../../src/testing/test-client.ts";
import { openClient, spyOn } from "../client/open-client.ts";

/** Of a payload that each test knows. */
type AnyHandler = Extract<Handlers, Readonly<Record<string, unknown>>>[string];

/** Never settles: the handler that everyone fears. */
const hang = (): Promise<never> => new Promise(() => {});

/** Settles with its signal's reason as soon as that aborts, as a well-behaved handler does. */
const untilAbort = ({ signal }: Context): Promise<never> => {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
};

let client: TestClient;

beforeEach(async () => {
  client = await createTestClient();
});

afterEach(() => client.close());

/** Runs one job of type `t` until nothing more happens at this moment. */
async function runOne(handler: AnyHandler, options: object = {}): Promise<Job> {
  const { id } = await client.enqueue("t", { n: 1 }, options);
  await client.drain({ t: handler });
  return get(id);
}

async function get(id: string): Promise<Job> {
  return (await client.get(id))!;
}

function work(handler: AnyHandler, options: WorkOptions = {}): WorkerHandle {
  return client.work({ t: handler }, options);
}

test("a worker is idle again after a job whose start had to wait for the next turn of the event loop", async () => {
  let idle = 0;
  work(() => "ran").on("idle", () => idle++);
  await client.clock.settle();
  expect(idle).toBe(1);
  // On a machine so busy that a turn is over before the first job of it has started.
  const monotonic = client.clock.monotonic.bind(client.clock);
  let late = 0;
  vi.spyOn(client.clock, "monotonic").mockImplementation(() => monotonic() + 4 * late++);
  const { id } = await client.enqueue("t");
  await client.clock.settle();
  expect(await get(id)).toMatchObject({ status: "completed" });
  expect(idle).toBe(2);
});

describe("how an attempt ends", () => {
  test("what a handler returns is the result, also when it is not async", async () => {
    expect(await runOne(async (payload) => ({ seen: payload }))).toMatchObject({ status: "completed", result: { seen: { n: 1 } } });
    expect(await runOne(() => [1, 2])).toMatchObject({ status: "completed", result: [1, 2] });
    expect(await runOne(() => undefined)).toMatchObject({ status: "completed", result: null });
  });

  test("a failure is retried on the stored curve, then dead", async () => {
    const { id } = await client.enqueue("t", null, { maxRetries: 2, retryDelay: "10s" });
    let calls = 0;
    work(() => {
      throw new TypeError(`failure ${++calls}`);
    });
    await client.clock.settle();
    expect(await get(id)).toMatchObject({
      status: "retrying",
      retryCount: 1,
      error: { name: "TypeError", message: "failure 1", kind: "error" },
    });
    await client.clock.advance("10s");
    await client.clock.advance("19s");
    expect(calls).toBe(2);
    await client.clock.advance("1s");
    expect(await get(id)).toMatchObject({ status: "dead", retryCount: 2, error: { message: "failure 3" } });
    expect((await client.attempts(id)).map((attempt) => attempt.outcome)).toEqual(["failed", "failed", "failed"]);
  });

  test("RetryAfter sets the delay, Discard goes to the dead letters, Snooze costs no attempt", async () => {
    const later = await runOne(() => {
      throw new RetryAfter("2h", "busy");
    });
    expect(later).toMatchObject({ status: "retrying", retryCount: 1, error: { name: "RetryAfter", message: "busy" } });
    expect(later.scheduledAt! - client.clock.now()).toBe(2 * 3_600_000);

    const never = await runOne(() => {
      throw new Discard("no such user");
    });
    expect(never).toMatchObject({ status: "dead", error: { name: "Discard", message: "no such user" } });

    const notNow = await runOne(() => {
      throw new Snooze("1m");
    });
    expect(notNow).toMatchObject({ status: "scheduled", attempt: 0, retryCount: 0 });
  });

  test("a backoff function decides the delay; one that fails leaves it to the stored curve", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const fail = (): never => {
      throw new Error("no");
    };
    const kind = (type: string, backoff: (retry: number) => Duration) => defineJob({ type, backoff, retryDelay: "1s" });
    const kinds = [kind("a", (retry) => retry * 7000), kind("b", fail), kind("c", () => "soon" as Duration)];
    const jobs = await Promise.all(kinds.map((definition) => client.enqueue(definition, null)));
    await client.drain(kinds.map((definition) => definition.handle(fail)));
    const delays = await Promise.all(jobs.map(async ({ id }) => (await get(id)).scheduledAt! - client.clock.now()));
    expect(delays).toEqual([7000, 1000, 1000]);
    expect(warned).toHaveBeenCalledTimes(2);
  });

  test("a job may name its backoff; one that the worker does not have is told once, and is exponential", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const own = defineJob({ type: "t", retryDelay: "1s", backoff: () => "9s" });
    const wishes = [{}, { backoff: "fixed" }, { backoff: "byAge" }, { backoff: "unknown" }, { backoff: "unknown" }];
    const jobs = await client.enqueueMany(wishes.map((wish) => own.job(null, wish)));
    const fail = (): never => {
      throw new Error("no");
    };
    const worker = client.work([own.handle(fail)], {
      backoffs: { byAge: (retry, error, job) => retry + String(error).length + job.maxRetries },
    });
    await client.drain();
    await worker.stop();
    const delays = jobs.map(async (item) => (await get((item as { job: { id: string } }).job.id)).scheduledAt! - client.clock.now());
    expect(await Promise.all(delays)).toEqual([9000, 1000, 13, 1000, 1000]);
    expect(warned).toHaveBeenCalledTimes(1);
    expect(warned.mock.lastCall?.join()).toContain("unknown");
    for (const [backoffs, field] of [
      [5, "backoffs"],
      [{ "a b": fail }, "backoffs"],
      [{ fixed: fail }, "backoffs.fixed"],
      [{ slowly: 5 }, "backoffs.slowly"],
    ] as const) {
      expect(() => client.work({ t: fail }, { backoffs: backoffs as never })).toThrow(expect.objectContaining({ field }));
    }
  });

  test.each([
    ["null", null, "null"],
    ["a text of 5 MB", "x".repeat(5 * 1024 * 1024), "x".repeat(8 * 1024)],
    ["a plain object", { code: 7 }, "{ code: 7 }"],
  ])("a handler may throw %s", async (_name, thrown, message) => {
    const job = await runOne(async () => {
      throw thrown; // oxlint-disable-line only-throw-error -- that is what users do
    });
    expect(job).toMatchObject({ status: "retrying", error: { name: "NonError", message } });
  });

  test.each([
    ["a BigInt", () => 5n, /result must be a value that JSON can hold; got 5n/],
    ["a function", () => ({ call: () => {} }), /result\.call must be/],
    ["a cycle", cycle, /result must not nest deeper/],
    ["2 MiB", () => "x".repeat(2 * 1024 * 1024), /result must be at most 1048576 bytes/],
    ["a toJSON that throws", () => ({ toJSON: () => hostile() }), /result could not be converted to JSON/],
  ])("a handler that returns %s has failed, and the worker lives", async (_name, handler, message) => {
    expect(await runOne(handler)).toMatchObject({ status: "retrying", error: { message: expect.stringMatching(message) } });
    expect(await runOne(() => "fine")).toMatchObject({ status: "completed" });
  });

  test("a thenable that settles twice, or throws after it settled, counts once", async () => {
    const job = await runOne(() => ({
      // oxlint-disable-next-line unicorn/no-thenable -- it is the subject
      then(resolve: (value: string) => void, reject: (error: Error) => void) {
        resolve("first");
        resolve("second");
        reject(new Error("third"));
        throw new Error("fourth");
      },
    }));
    expect(job).toMatchObject({ status: "completed", result: "first" });
  });

  test("the handler gets what the schema makes of the payload", async () => {
    const definition = defineJob({ type: "s", input: z.object({ day: z.coerce.date(), n: z.number().default(7) }) });
    const { id } = await client.enqueue("s", { day: "2030-05-01T00:00:00Z" });
    await client.drain([definition.handle((input, ctx) => [input.day.getTime(), input.n, ctx.job.payload === input])]);
    expect((await get(id)).result).toEqual([Date.UTC(2030, 4, 1), 7, true]);
  });

  test("a payload that does not fit its schema goes to the dead letters without a call", async () => {
    const definition = defineJob({ type: "s", input: z.object({ to: z.email() }) });
    const { id } = await client.enqueue("s", { to: 5 });
    const handler = vi.fn();
    await client.drain([definition.handle(handler)]);
    expect(await get(id)).toMatchObject({
      status: "dead",
      error: { name: "InvalidPayload", message: expect.stringMatching(/schema of its type: payload\.to: /) },
    });
    expect(handler).not.toHaveBeenCalled();
  });
});

describe("timeouts and abandoned handlers", () => {
  test("the signal aborts at the timeout, and the failure is written when the handler has settled", async () => {
    const { id } = await client.enqueue("t", null, { timeout: "10s" });
    let reason: unknown;
    work(async (_payload, ctx) => {
      await untilAbort(ctx).catch((error: unknown) => (reason = error));
      return "too late";
    });
    await client.clock.advance("9s");
    expect(reason).toBeUndefined();
    await client.clock.advance("1s");
    expect(reason).toMatchObject({ name: "TimeoutError" });
    expect(await get(id)).toMatchObject({
      status: "retrying",
      result: null,
      error: { name: "TimeoutError", kind: "timeout", message: expect.stringContaining("10s") },
    });
  });

  test("a handler that ignores its abort is abandoned after 5 s: its slot is given to others, and it is counted until it settles", async () => {
    const end = Promise.withResolvers<string>();
    const { id } = await client.enqueue("t", { slow: true }, { timeout: "10s", maxRetries: 0 });
    const worker = work(({ slow }: { slow?: boolean }) => (slow ? end.promise : "quick"), { concurrency: 2 });
    await client.clock.advance("14s");
    expect([(await get(id)).status, worker.running, worker.abandoned]).toEqual(["running", 1, 0]);
    await client.clock.advance("1s");
    expect([(await get(id)).status, worker.running, worker.abandoned]).toEqual(["dead", 0, 1]);
    expect(worker.healthy).toBe(true);
    end.resolve("at last");
    await client.clock.settle();
    expect([(await get(id)).status, worker.abandoned]).toEqual(["dead", 0]);
  });

  test.each([
    ["0", 0],
    ["20 s", 20_000],
  ])("with a settle of %s that is how long an aborted handler has", async (_name, settle) => {
    const end = Promise.withResolvers<string>();
    const { id } = await client.enqueue("t", { slow: true }, { timeout: "10s", maxRetries: 0 });
    const worker = work(({ slow }: { slow?: boolean }) => (slow ? end.promise : "quick"), { concurrency: 2, settle });
    await client.clock.advance(10_000 + settle - 1);
    expect([(await get(id)).status, worker.running, worker.abandoned]).toEqual(["running", 1, 0]);
    await client.clock.advance(1);
    expect([(await get(id)).status, worker.running, worker.abandoned]).toEqual(["dead", 0, 1]);
    end.resolve("at last");
    await client.clock.settle();
    expect(worker.abandoned).toBe(0);
  });

  test("with as many abandoned as slots the worker stops claiming, says so, and goes on when one comes back", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const end = Promise.withResolvers<void>();
    await client.enqueueMany([1, 2].map(() => ({ type: "t", timeout: "1s", maxRetries: 0 })));
    const worker = work((payload: { free: boolean } | null) => (payload?.free ? "ran" : end.promise), { concurrency: 2 });
    await client.clock.advance("6s");
    expect([worker.abandoned, worker.healthy]).toEqual([2, false]);
    expect(warned.mock.calls).toEqual([[expect.stringMatching(/stopped claiming: 2 handlers still run 5s after the abort.*ctx\.signal/)]]);

    const next = await client.enqueue("t", { free: true });
    await client.clock.advance("10s");
    expect((await get(next.id)).status).toBe("pending");
    end.resolve();
    await client.clock.settle();
    expect([(await get(next.id)).status, worker.abandoned, worker.healthy]).toEqual(["completed", 0, true]);
  });

  test("a schema that takes longer than the attempt may is abandoned and comes back like any handler, which is not called", async () => {
    const slow = Promise.withResolvers<void>();
    const validate = async (value: unknown) => {
      await slow.promise;
      return { value };
    };
    const definition = defineJob({ type: "s", input: { "~standard": { version: 1, vendor: "test", validate } } });
    await client.enqueue("s", 1, { timeout: "1s", maxRetries: 0 });
    const handler = vi.fn();
    const worker = client.work([definition.handle(handler)], { concurrency: 2 });
    await client.clock.advance("6s");
    expect(worker.abandoned).toBe(1);
    slow.resolve();
    await client.clock.settle();
    expect([worker.abandoned, worker.healthy]).toEqual([0, true]);
    expect(handler).not.toHaveBeenCalled();
  });

  test("of a worker that can grow, those are counted against the slots that it has now", async () => {
    const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
    const end = Promise.withResolvers<void>();
    await client.enqueue("t", null, { timeout: "1s", maxRetries: 0 });
    const worker = work(() => end.promise, { concurrency: { min: 1, max: 50 } });
    await client.clock.advance("5m");
    expect([worker.slots, worker.abandoned, worker.healthy]).toEqual([1, 1, false]);
    expect(warned).toHaveBeenCalledOnce();
    end.resolve();
    await client.clock.settle();
    expect(worker.healthy).toBe(true);
  });

  test("a job without a timeout runs as long as it likes, under one lease", async () => {
    const { id } = await client.enqueue("t", null, { timeout: 0 });
    const end = Promise.withResolvers<void>();
    const handler = vi.fn(() => end.promise);
    work(handler);
    await client.clock.advance("1h");
    end.resolve();
    await client.clock.settle();
    expect(handler).toHaveBeenCalledOnce();
    expect(await get(id)).toMatchObject({ status: "completed", attempt: 1, durationMs: 3_600_000 });
  });

  test("a signal that is first looked at after the abort is aborted already", async () => {
    await client.enqueue("t", null, { timeout: "1s" });
    const late = Promise.withResolvers<void>();
    let seen: AbortSignal | undefined;
    work(async (_payload, ctx) => {
      await late.promise;
      seen = ctx.signal;
    });
    await client.clock.advance("1s");
    late.resolve();
    await client.clock.settle();
    expect(seen).toMatchObject({ aborted: true, reason: { name: "TimeoutError" } });
  });
});

describe("leases that somebody else ended", () => {
  test("a cancel aborts the handler at once, and what it says afterwards changes nothing", async () => {
    const { id } = await client.enqueue("t");
    let reason: unknown;
    const worker = work(async (_payload, ctx) => {
      await untilAbort(ctx).catch((error: unknown) => (reason = error));
      return "too late";
    });
    await client.clock.settle();
    await client.cancel(id);
    await client.clock.settle();
    expect(reason).toMatchObject({ name: "AbortError", message: "the job was cancelled" });
    expect(worker.running).toBe(0);
    expect(await get(id)).toMatchObject({ status: "cancelled", result: null });
  });

  test("a handler that ignores a cancel is abandoned after 5 s", async () => {
    const { id } = await client.enqueue("t");
    const worker = work(hang, { concurrency: 2 });
    await client.clock.settle();
    await client.cancel(id);
    await client.clock.advance("4s");
    expect([worker.running, worker.abandoned]).toEqual([1, 0]);
    await client.clock.advance("1s");
    expect([worker.running, worker.abandoned]).toEqual([0, 1]);
    expect((await get(id)).status).toBe("cancelled");
  });
});

describe("what a handler says while it runs", () => {
  test("progress and lines are written while it runs, and the last of them before its end", async () => {
    const { id } = await client.enqueue("t");
    const end = Promise.withResolvers<void>();
    work(async (_payload, ctx) => {
      const { log } = ctx;
      log("begin");
      ctx.progress(40, "half way");
      await end.promise;
      log("end");
    });
    await client.clock.advance(250);
    expect((await get(id)).progress).toEqual({ percent: 40, note: "half way" });
    end.resolve();
    await client.clock.settle();
    expect((await get(id)).status).toBe("completed");
    expect((await client.logs(id)).map((line) => line.text)).toEqual(["begin", "end"]);
  });

  test("a flood is gathered and bounded", async () => {
    const { client: other, store, clock } = await openClient();
    const notes = spyOn(store, "note");
    const { id } = await other.enqueue("t");
    other.work({
      t: (_payload, ctx) => {
        for (let call = 0; call < 100_000; call++) {
          ctx.progress(call / 1000);
          ctx.log("x".repeat(10_000));
        }
      },
    });
    await clock.settle();
    expect(notes.length).toBeGreaterThan(0);
    expect(notes.length).toBeLessThanOrEqual(5);
    const lines = (await other.logs(id, { limit: 1000 })).map((line) => line.text);
    expect(lines).toHaveLength(1000);
    expect(lines[0]).toBe("x".repeat(4096));
    expect(lines.at(-1)).toMatch(/99,001 more lines were dropped/);
  });
});

describe("claiming", () => {
  test("no more jobs run at once than there are slots", async () => {
    await client.enqueueMany(Array.from({ length: 50 }, () => ({ type: "t" })));
    let now = 0;
    let most = 0;
    const worker = work(
      async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setImmediate(resolve));
        now--;
      },
      { concurrency: 7 },
    );
    await client.drain();
    expect((await client.stats()).totalProcessed).toBe(50);
    expect(most).toBe(7);
    expect(worker.state).toBe("idle");
  });

  test("slots grow with the work and shrink after two idle minutes", async () => {
    const end = Promise.withResolvers<void>();
    await client.enqueueMany(Array.from({ length: 30 }, () => ({ type: "t", timeout: 0 })));
    const worker = work(() => end.promise, { concurrency: { min: 2, max: 20 } });
    await client.clock.settle();
    expect([worker.slots, worker.running]).toEqual([20, 20]);
    end.resolve();
    await client.clock.advance("5m");
    expect([worker.slots, worker.running]).toEqual([2, 0]);
  });

  test("several queues take turns by their weights, so none starves", async () => {
    const order: string[] = [];
    for (const queue of ["mail", "other"]) await client.enqueueMany(Array.from({ length: 8 }, () => ({ type: "t", queue })));
    work((_payload, ctx) => void order.push(ctx.job.queue), { concurrency: 1, queues: { mail: 3, other: 1 } });
    await client.drain();
    expect(order.slice(0, 8).filter((queue) => queue === "other")).toHaveLength(2);
    expect(order).toHaveLength(16);
  });

  test("the registry shows who works, and no longer after stop", async () => {
    await client.enqueue("t", null, { timeout: 0 });
    const worker = work(hang, { queues: ["default", "mail"], concurrency: 3 });
    await client.clock.advance("10s");
    expect(worker.id).toMatch(/^w-[\w-]{12}$/);
    expect(await client.workers()).toEqual([
      expect.objectContaining({ id: worker.id, state: "busy", slots: 3, queues: ["default", "mail"], types: ["t"], runningCount: 1 }),
    ]);
    await worker.stop({ grace: 0 });
    expect(await client.workers()).toEqual([]);
  });
});

describe("stop", () => {
  test("lets handlers finish and takes no new jobs", async () => {
    const end = Promise.withResolvers<string>();
    const { id } = await client.enqueue("t");
    const worker = work(() => end.promise, { concurrency: 5 });
    await client.clock.settle();
    const stopped = worker.stop();
    const late = await client.enqueue("t");
    await client.clock.advance("10s");
    expect(worker.state).toBe("stopping");
    end.resolve("done");
    await stopped;
    expect(worker.state).toBe("stopped");
    expect(await get(id)).toMatchObject({ status: "completed", result: "done" });
    expect((await get(late.id)).status).toBe("pending");
  });

  test("aborts 5 s before the grace ends, and gives back at its end what has not finished, at no cost", async () => {
    const { id } = await client.enqueue("t");
    let abortedAt = 0;
    const worker = work((_payload, { signal }) => {
      signal.addEventListener("abort", () => (abortedAt = client.clock.monotonic()));
      return hang();
    });
    await client.clock.settle();
    const stopped = worker.stop({ grace: "20s" });
    await client.clock.advance("14s");
    expect(abortedAt).toBe(0);
    await client.clock.advance("6s");
    await stopped;
    expect(abortedAt).toBe(15_000);
    expect(await get(id)).toMatchObject({ status: "pending", attempt: 0, retryCount: 0 });
  });

  test("a handler that throws because of the abort is given back; one that throws for its own reasons has failed", async () => {
    const well = await client.enqueue("well");
    const ill = await client.enqueue("ill");
    const end = Promise.withResolvers<void>();
    const worker = client.work({
      well: (_payload, ctx) => untilAbort(ctx),
      ill: async () => {
        await end.promise;
        throw new Error("no disk");
      },
    });
    await client.clock.settle();
    const stopped = worker.stop({ grace: "10s" });
    await client.clock.advance("6s");
    end.resolve();
    await stopped;
    expect(await get(well.id)).toMatchObject({ status: "pending", attempt: 0 });
    expect(await get(ill.id)).toMatchObject({ status: "retrying", error: { message: "no disk" } });
  });

  test("a handler that finishes after the abort of a shutdown has completed", async () => {
    const { id } = await client.enqueue("t");
    const worker = work(async (_payload, ctx) => {
      await untilAbort(ctx).catch(() => {});
      return "saved";
    });
    await client.clock.settle();
    await worker.stop({ grace: 0 }).then(() => client.clock.settle());
    // A grace of 0 gives it back at once; with any grace at all its answer would count.
    expect((await get(id)).status).toBe("pending");

    const again = work(async (_payload, ctx) => {
      await untilAbort(ctx).catch(() => {});
      return "saved";
    });
    await client.clock.settle();
    const stopped = again.stop({ grace: "1s" });
    await client.clock.advance("1s");
    await stopped;
    expect(await get(id)).toMatchObject({ status: "completed", result: "saved" });
  });

  test("may be called twice, and the shorter grace holds", async () => {
    await client.enqueue("t");
    const worker = work(hang);
    await client.clock.settle();
    const first = worker.stop({ grace: "1h" });
    const second = worker.stop({ grace: "3s" });
    await client.clock.advance("3s");
    await Promise.all([first, second, worker.stop()]);
    expect(worker.state).toBe("stopped");
  });

  test("of one worker leaves the jobs of another alone", async () => {
    const end = Promise.withResolvers<void>();
    const { id } = await client.enqueue("t");
    work(() => end.promise);
    await client.clock.settle();
    const idle = work(() => end.promise);
    await client.clock.settle();
    await idle.stop({ grace: 0 });
    expect(await get(id)).toMatchObject({ status: "running", fence: 1 });
    end.resolve();
    await client.clock.settle();
    expect(await get(id)).toMatchObject({ status: "completed", attempt: 1 });
  });

  test("a bad grace is refused by name, and the worker goes on", async () => {
    const worker = work(() => "fine");
    await expect(worker.stop({ grace: "soon" as "1s" })).rejects.toMatchObject({ code: "invalid_input", field: "grace" });
    expect(await runOne(() => "fine")).toMatchObject({ status: "completed" });
    expect(worker.state).toBe("idle");
  });
});

function cycle(): object {
  const value: Record<string, unknown> = {};
  value["self"] = value;
  return value;
}

function hostile(): never {
  throw new Error("hostile");
}
