import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../../src/client/define-job.ts";
import { CallFailed } from "../../../src/core/steps.ts";
import { strayRejections } from "../stray-rejections.ts";
import { gate, startDurable, stepsOf } from "./durable-job.ts";

const ONCE = { maxRetries: 0 };
const failing = (): never => {
  throw new Error("no paper");
};

describe("a call", () => {
  test("runs another job, and its result is the result of the call", async () => {
    const { after, client, id } = await startDurable(
      async (ctx) => {
        const results = await Promise.all(["a", "b"].map((name) => ctx.call(name, "other", { name }, { tags: [name] })));
        return results;
      },
      {},
      (ctx) => ctx.job.payload,
    );
    expect(await after()).toMatchObject({ status: "completed", result: [{ name: "a" }, { name: "b" }], attempt: 1 });
    const steps = await client.steps(id);
    expect(steps).toMatchObject([
      { kind: "call", state: "done" },
      { kind: "call", state: "done" },
    ]);
    for (const { name, call } of steps) {
      expect(await client.get(call!.id)).toMatchObject({ type: "other", tags: [name], parent: { id, step: name }, status: "completed" });
    }
  });

  test("always fits a queue, and its job is there when its caller is blocked", async () => {
    const go = gate();
    const { after, client, clock } = await startDurable(async (ctx) => {
      await ctx.step("slow", () => go.promise);
      return ctx.call("child", "other", null, { queue: "tight" });
    });
    await client.configure("tight", { capacity: 1 });
    await client.enqueue("other", null, { queue: "tight" });
    await expect(client.enqueue("other", null, { queue: "tight" })).rejects.toMatchObject({ code: "queue_full" });
    go.resolve(null);
    expect(await after()).toMatchObject({ status: "blocked" });
    expect((await client.list({ queue: "tight" })).jobs).toHaveLength(2);
    client.work({ other: () => "done" }, { queues: ["tight"] });
    await clock.settle();
    expect(await after()).toMatchObject({ status: "completed", result: "done" });
  });

  test("that ends badly is CallFailed with the error of the called job; it is kept, and catch sees it each time", async () => {
    const caught: unknown[] = [];
    const { after, client, id } = await startDurable(
      async (ctx) => {
        try {
          await ctx.call("print", "other", null, ONCE);
        } catch (error) {
          caught.push(error);
        }
        await ctx.sleep("nap", "1m");
        return caught.length;
      },
      {},
      failing,
    );
    expect(await after("1m")).toMatchObject({ status: "completed", result: 2 });
    const [step] = await client.steps(id);
    expect(caught[0]).toBeInstanceOf(CallFailed);
    expect(caught[0]).toMatchObject({
      step: "print",
      status: "dead",
      jobId: step!.call!.id,
      error: { name: "Error", message: "no paper", kind: "error" },
      message: 'call "print" failed: Error: no paper',
    });
    expect(step).toMatchObject({ state: "failed", value: null, error: { message: "no paper", status: "dead" } });
  });

  test("whose job is cancelled has failed", async () => {
    const { after, client, id } = await startDurable(
      (ctx) => ctx.call("child", "other", null).catch((error: CallFailed) => [error.status, error.error.kind]),
      {},
      (ctx) => ctx.sleep("nap", "1h"),
    );
    await after();
    await client.cancel((await client.steps(id))[0]!.call!.id);
    expect(await after()).toMatchObject({ status: "completed", result: ["cancelled", "cancelled"] });
  });

  test("keeps its result when the called job is gone", async () => {
    const { after, client, id } = await startDurable(
      async (ctx) => {
        const result = await ctx.call("child", "other", null);
        await ctx.sleep("nap", "1h");
        return result;
      },
      {},
      () => "kept",
    );
    expect(await after()).toMatchObject({ status: "scheduled" });
    await client.remove((await client.steps(id))[0]!.call!.id);
    expect(await after("1h")).toMatchObject({ status: "completed", result: "kept" });
  });

  test("with a definition checks its payload, and has the options of the definition and its own", async () => {
    const render = defineJob({ type: "other", queue: "renders", input: z.object({ n: z.string() }), maxRetries: 7, priority: 5 });
    const { after, client, id } = await startDurable((ctx) => ctx.call("good", render, { n: "a" }, { priority: 9 }), { job: ONCE });
    expect(await after()).toMatchObject({ status: "blocked" });
    expect(await client.get((await client.steps(id))[0]!.call!.id)).toMatchObject({ queue: "renders", maxRetries: 7, priority: 9 });
    const { after: afterBad } = await startDurable((ctx) => ctx.call("bad", render, { n: 7 } as never), { job: ONCE });
    expect(await afterBad()).toMatchObject({ status: "dead", error: { message: expect.stringContaining("payload.n") as string } });
  });

  test("refuses what it cannot do", async () => {
    const messages: string[] = [];
    const wrong = [{ idempotencyKey: "k" }, { priority: 1000 }, { queue: "" }, { mistyped: 1 }, 7];
    for (const options of wrong) {
      const { after } = await startDurable((ctx) => ctx.call("c", "other", null, options as never), { job: ONCE });
      messages.push((await after()).error!.message);
    }
    expect(messages).toEqual([
      "idempotencyKey cannot be used with a call: the step is its key",
      expect.stringMatching(/^priority must be/),
      expect.stringMatching(/^queue must be/),
      expect.stringContaining("mistyped"),
      expect.stringMatching(/^options must be an object/),
    ]);
    const { after } = await startDurable((ctx) => ctx.call("c", "other", 1n), { job: ONCE });
    expect(await after()).toMatchObject({ status: "dead", error: { message: expect.stringMatching(/^payload/) as string } });
  });

  test("of an unknown type fails the attempt in strict mode", async () => {
    const { after } = await startDurable((ctx) => ctx.call("c", "othr", null), { job: ONCE, strictTypes: true });
    const { status, error } = await after();
    expect([status, error!.message]).toEqual(["dead", expect.stringMatching(/^a call was refused: .*othr/)]);
  });

  test("whose failure nobody awaits yet does not end the process", async () => {
    const strays = strayRejections();
    const { after } = await startDurable(
      async (ctx) => {
        const print = ctx.call("print", "other", null, ONCE);
        await ctx.sleep("nap", "1h");
        return print.catch((error: CallFailed) => error.error.message);
      },
      {},
      failing,
    );
    expect(await after("1m")).toMatchObject({ status: "scheduled" });
    expect(await after("1h")).toMatchObject({ status: "completed", result: "no paper" });
    expect(await strays()).toEqual([]);
  });

  test("may call again: a chain of jobs, each waiting for the next", async () => {
    const { after } = await startDurable(
      async (ctx) => ctx.call("one", "other", 3),
      {},
      async (ctx) => {
        const n = ctx.job.payload as number;
        return n === 0 ? "bottom" : ctx.call("next", "other", n - 1);
      },
    );
    expect(await after()).toMatchObject({ status: "completed", result: "bottom" });
  });

  test("needs a name that belongs to nothing else", async () => {
    const { after, deploy } = await startDurable(
      async (ctx) => {
        await ctx.step("print", () => 1);
        await ctx.sleep("nap", "1m");
      },
      { job: ONCE },
    );
    deploy((ctx) => ctx.call("print", "other", null));
    const { status, error } = await after("1m");
    expect([status, error!.message]).toEqual(["dead", 'the name "print" belongs to a step of this job: give the call a name of its own']);
  });

  test("whose name a signal took before it began is refused", async () => {
    const go = gate();
    const { after, client, id } = await startDurable(
      async (ctx) => {
        await ctx.step("slow", () => go.promise);
        return ctx.call("print", "other", null);
      },
      { job: ONCE },
    );
    await client.signal(id, "print");
    go.resolve(null);
    const { status, error } = await after();
    expect([status, error!.message]).toEqual(["dead", 'the name "print" belongs to a signal of this job: give the call a name of its own']);
  });

  test("ends by its job alone: a signal of its name changes nothing, whether it runs or has failed", async () => {
    let attempts = 0;
    const { after, client, id, steps } = await startDurable(
      async (ctx) => {
        attempts++;
        const failure = await ctx.call("child", "other", null, ONCE).catch((error: CallFailed) => error.error.message);
        await ctx.waitFor("go");
        return failure;
      },
      {},
      async (ctx) => {
        await ctx.sleep("nap", "1m");
        failing();
      },
    );
    await client.signal(id, "child", "a forged result");
    expect(await after()).toMatchObject({ status: "blocked" });
    expect(attempts).toBe(1);
    await after("1m");
    await client.signal(id, "child", "another one");
    expect(await steps()).toEqual(["call child failed null", "wait go open null"]);
    await client.signal(id, "go");
    expect(await after()).toMatchObject({ status: "completed", result: "no paper" });
  });

  test("gets the result of its job, whatever a signal of its name says", async () => {
    const go = gate();
    const { after, client, id } = await startDurable(
      (ctx) => ctx.call("child", "other", null),
      {},
      () => go.promise,
    );
    await client.signal(id, "child", "a forged result");
    expect(await after()).toMatchObject({ status: "blocked" });
    go.resolve("its own");
    expect(await after()).toMatchObject({ status: "completed", result: "its own" });
  });

  test("gets a result for which its caller has no room as a failure", async () => {
    const mebibyte = "x".repeat(1024 * 1024 - 2);
    const { after } = await startDurable(
      async (ctx) => {
        for (let n = 0; n < 8; n++) await ctx.step(`s${n}`, () => mebibyte);
        return ctx.call("child", "other", null).catch((error: CallFailed) => error.error);
      },
      {},
      () => "one more",
    );
    expect(await after()).toMatchObject({ status: "completed", result: { name: "TooLarge", status: "completed" } });
  });
});

describe("cancelling the caller", () => {
  test("cancels the open jobs that it called, and those that they called", async () => {
    const { after, client, id } = await startDurable(
      (ctx) => Promise.all([ctx.call("a", "other", "deep"), ctx.call("b", "other", "waits")]),
      {},
      (ctx) => (ctx.job.payload === "deep" ? ctx.call("deeper", "other", "waits") : ctx.waitFor("never")),
    );
    await after();
    await client.cancel(id);
    expect(await after()).toMatchObject({ status: "cancelled" });
    const { jobs } = await client.list({ type: "other" });
    expect(jobs.map(({ status }) => status)).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  test("leaves those alone that have ended", async () => {
    const { after, client, id } = await startDurable(async (ctx) => {
      await ctx.call("done", "other", null);
      await ctx.waitFor("never");
    });
    await after();
    await client.cancel(id);
    await after();
    expect((await client.list({ type: "other" })).jobs).toMatchObject([{ status: "completed" }]);
  });
});

describe("a retry by hand", () => {
  test("keeps the steps and goes on where the job died", async () => {
    const ran: string[] = [];
    let isBroken = true;
    const { after, client, id } = await startDurable(
      async (ctx) => {
        await ctx.step("first", () => ran.push("first"));
        await ctx.step("second", () => {
          ran.push("second");
          if (isBroken) throw new Error("broken");
        });
      },
      { job: ONCE },
    );
    expect(await after()).toMatchObject({ status: "dead" });
    isBroken = false;
    await client.retry(id);
    expect(await after()).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["first", "second", "second"]);
  });

  test("with restart forgets them, and calls jobs of their own", async () => {
    const ran: string[] = [];
    const { after, client, id } = await startDurable(
      async (ctx) => {
        await ctx.step("first", () => ran.push("first"));
        const results = [await ctx.call("child", "other", null), await ctx.waitFor("go", { timeout: "1h" })];
        if (ran.length < 2) throw new Error("broken");
        return results;
      },
      { job: ONCE },
      (ctx) => ctx.job.id,
    );
    await client.signal(id, "go", 1);
    expect(await after()).toMatchObject({ status: "dead" });
    const before = (await client.steps(id)).find(({ kind }) => kind === "call")!.value;
    await client.retry(id, { restart: true });
    expect(await after()).toMatchObject({ status: "blocked" });
    expect(await stepsOf(client, id)).toHaveLength(3);
    const { status, result } = await after("1h");
    expect([status, (result as unknown[])[1]]).toEqual(["completed", null]);
    expect((result as unknown[])[0]).not.toBe(before);
    expect(ran).toEqual(["first", "first"]);
  });

  test("with restart hears nothing of the job that it called before", async () => {
    const [old, next] = [gate(), gate()];
    const { after, client, id, deploy, steps } = await startDurable(
      async (ctx) => {
        void ctx.call("child", "other", null);
        await ctx.waitFor("break");
        throw new Error("broken");
      },
      { job: ONCE },
      (ctx) => (ctx.job.parent!.life === 1 ? old : next).promise,
    );
    await client.signal(id, "break");
    expect(await after()).toMatchObject({ status: "dead" });
    deploy((ctx) => ctx.call("child", "other", null));
    await client.retry(id, { restart: true });
    expect(await after()).toMatchObject({ status: "blocked" });
    old.resolve("of the first life");
    expect(await after()).toMatchObject({ status: "blocked" });
    expect(await steps()).toEqual(["call child open null"]);
    next.resolve("of the second life");
    expect(await after()).toMatchObject({ status: "completed", result: "of the second life" });
  });

  test("forgets kept failures and retries those jobs", async () => {
    let isBroken = true;
    const ran: string[] = [];
    const { after, client, id } = await startDurable(
      async (ctx) => {
        const [good, bad] = await Promise.all([ctx.call("good", "other", "good"), ctx.call("bad", "other", "bad", ONCE)]);
        return [good, bad];
      },
      { job: ONCE },
      (ctx) => {
        ran.push(String(ctx.job.payload));
        if (ctx.job.payload === "bad" && isBroken) throw new Error("broken");
        return ctx.job.id;
      },
    );
    expect(await after()).toMatchObject({ status: "dead", error: { name: "CallFailed" } });
    const ids = (await client.steps(id)).map(({ call }) => call!.id);
    isBroken = false;
    await client.retry(id);
    const { status, result } = await after();
    expect([status, (result as string[]).toSorted()]).toEqual(["completed", ids.toSorted()]);
    expect(ran.toSorted()).toEqual(["bad", "bad", "good"]);
    expect((await client.list({ type: "other" })).jobs).toHaveLength(2);
  });

  test("of a cancelled job starts the jobs again that its cancel cancelled", async () => {
    const { after, client, id } = await startDurable(
      (ctx) => ctx.call("child", "other", null),
      {},
      (ctx) => ctx.waitFor("go"),
    );
    await after();
    await client.cancel(id);
    await after();
    await client.retry(id);
    expect(await after()).toMatchObject({ status: "blocked" });
    await client.signal((await client.steps(id))[0]!.call!.id, "go", "went");
    expect(await after()).toMatchObject({ status: "completed", result: "went" });
  });

  test("of the called job alone replaces the failure, if its caller still waits for something else", async () => {
    let isBroken = true;
    const { after, client, id } = await startDurable(
      async (ctx) => {
        await ctx.waitFor("go");
        return ctx.call("child", "other", null, ONCE).catch(() => "failed");
      },
      {},
      () => {
        if (isBroken) throw new Error("broken");
        return "repaired";
      },
    );
    await client.signal(id, "go");
    expect(await after()).toMatchObject({ status: "completed", result: "failed" });
    isBroken = false;
    const { call } = (await client.steps(id)).find(({ kind }) => kind === "call")!;
    await client.retry(call!.id);
    await after();
    expect(await client.get(call!.id)).toMatchObject({ status: "completed", result: "repaired" });
    expect(await client.get(id)).toMatchObject({ status: "completed", result: "failed" });
  });
});
