import { describe, expect, test } from "vitest";
import type { BatchContext, Context } from "../../../src/client/client.ts";
import { defineJob } from "../../../src/client/define-job.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { gate, startDurable, stepsOf } from "./durable-job.ts";

const ONCE = { maxRetries: 0, maxLost: 0 };
const quiet = { onTrouble: () => {} };

/** Has a verb of the store fail for as long as the returned switch is on. */
function breakVerb(store: Store, verb: "keepSteps" | "readSteps"): { isAway: boolean; calls: number } {
  const state = { isAway: false, calls: 0 };
  const original = store[verb].bind(store) as (...args: unknown[]) => Promise<unknown>;
  Object.assign(store, {
    [verb]: async (...args: unknown[]) => {
      state.calls++;
      if (state.isAway) throw new MillraceError("store_unavailable", "the store is away");
      return original(...args);
    },
  });
  return state;
}

describe("while the store is away", () => {
  test("an attempt whose steps cannot be read is given back at no cost", async () => {
    const ran: string[] = [];
    const { store, after } = await startDurable(
      async (ctx) => {
        ran.push("attempt");
        await ctx.step("a", () => ran.push("a"));
        await ctx.sleep("nap", "1m");
      },
      { job: ONCE, ...quiet },
    );
    const reads = breakVerb(store, "readSteps");
    reads.isAway = true;
    await after("1m");
    expect(reads.calls).toBeGreaterThan(0);
    expect(ran).toEqual(["attempt", "a"]);
    reads.isAway = false;
    expect(await after("1m")).toMatchObject({ status: "completed", attempt: 1, retryCount: 0, lostCount: 0 });
    expect(ran).toEqual(["attempt", "a", "attempt"]);
    // It did not ask in a loop without a rest.
    expect(reads.calls).toBeLessThan(100);
  });

  test("a step that has run is stored when the store is back, and does not run again", async () => {
    const go = gate();
    let ran = 0;
    const { store, after, steps } = await startDurable(
      async (ctx) => {
        const result = await ctx.step("charge", async () => (await go.promise, ++ran));
        await ctx.sleep("nap", "1m");
        return result;
      },
      { job: { ...ONCE, timeout: "1h" }, ...quiet },
    );
    const keeps = breakVerb(store, "keepSteps");
    keeps.isAway = true;
    go.resolve(null);
    expect(await after("10s")).toMatchObject({ status: "running" });
    expect(keeps.calls).toBeGreaterThan(1);
    keeps.isAway = false;
    expect(await after("10s")).toMatchObject({ status: "scheduled" });
    expect(await steps()).toEqual(["step charge done 1", "sleep nap open null"]);
    expect(await after("1m")).toMatchObject({ status: "completed", result: 1, attempt: 1 });
    expect(ran).toBe(1);
  });

  test("a step whose job somebody's transaction holds is stored when that has ended", async () => {
    const go = gate();
    let isLocked = true;
    const { store, after, steps } = await startDurable((ctx) => ctx.step("a", () => go.promise), {
      job: { ...ONCE, timeout: "1h" },
      ...quiet,
    });
    const keepSteps = store.keepSteps.bind(store);
    store.keepSteps = async (keeps) => (isLocked ? keeps.map(() => "locked" as const) : keepSteps(keeps));
    go.resolve(7);
    expect(await after("10s")).toMatchObject({ status: "running" });
    isLocked = false;
    expect(await after("10s")).toMatchObject({ status: "completed", result: 7 });
    expect(await steps()).toEqual(["step a done 7"]);
  });

  test("a step that cannot be stored before its timeout fails as a timeout does", async () => {
    const go = gate();
    const { store, after } = await startDurable((ctx) => ctx.step("a", () => go.promise), { job: { ...ONCE, timeout: "10s" }, ...quiet });
    breakVerb(store, "keepSteps").isAway = true;
    go.resolve(7);
    expect(await after("1m")).toMatchObject({ status: "dead", error: { name: "TimeoutError" } });
  });

  test("an attempt that calls is suspended when the store is back: it has not failed", async () => {
    const go = gate();
    const { store, after } = await startDurable(
      async (ctx) => {
        await ctx.step("slow", () => go.promise);
        return ctx.call("child", "other", null);
      },
      { job: { ...ONCE, timeout: "1h" }, ...quiet },
      () => "called",
    );
    const reads = breakVerb(store, "readSteps");
    reads.isAway = true;
    go.resolve(null);
    await after("10s");
    reads.isAway = false;
    expect(await after("10s")).toMatchObject({ status: "completed", result: "called" });
  });
});

describe("a worker that stops", () => {
  test("has nothing to do with a suspended job, which another worker goes on with", async () => {
    const { after, worker, client } = await startDurable(async (ctx) => {
      const before = await ctx.step("who", () => ctx.job.workerId);
      await ctx.sleep("nap", "1m");
      return [before, ctx.job.workerId];
    });
    expect(await after()).toMatchObject({ status: "scheduled" });
    await worker.stop();
    const next = client.work({ long: async (_, ctx) => [await ctx.step("who", () => ctx.job.workerId), ctx.job.workerId] });
    expect(await after("1m")).toMatchObject({ status: "completed", result: [worker.id, next.id] });
  });

  test("stores a step that ends within its grace, and suspends behind it", async () => {
    const go = gate();
    const { after, worker, steps } = await startDurable(async (ctx) => {
      await ctx.step("slow", () => go.promise);
      await ctx.sleep("nap", "1m");
    });
    const stopping = worker.stop({ grace: "10s" });
    go.resolve(1);
    expect(await after("1s")).toMatchObject({ status: "scheduled", attempt: 0 });
    await stopping;
    expect(await steps()).toEqual(["step slow done 1", "sleep nap open null"]);
  });

  test("gives back a job whose step does not end; the step runs again, and its late result is not stored", async () => {
    const ends: ReturnType<typeof gate>[] = [];
    const run = (ctx: Context): Promise<unknown> =>
      ctx.step("slow", () => {
        const end = gate();
        ends.push(end);
        return end.promise;
      });
    const { after, worker, client, steps, clock } = await startDurable((ctx) => run(ctx).catch(() => null));
    const stopping = worker.stop({ grace: "1s" });
    await clock.advance("10s");
    await stopping;
    expect(await after()).toMatchObject({ status: "pending", attempt: 0 });
    client.work({ long: (_, ctx) => run(ctx) });
    await after();
    ends[0]!.resolve("late");
    await after();
    expect(await steps()).toEqual([]);
    ends[1]!.resolve("in time");
    expect(await after()).toMatchObject({ status: "completed", result: "in time" });
  });
});

test("an attempt that times out while a step runs is retried at that step, and what was stored stays", async () => {
  const ran: string[] = [];
  const { after } = await startDurable(
    async (ctx) => {
      await ctx.step("fast", () => ran.push("fast"));
      await ctx.step("hangs", () => {
        ran.push("hangs");
        return ran.length < 3 ? new Promise(() => {}) : null;
      });
    },
    { job: { timeout: "1s", maxRetries: 1 }, ...quiet },
  );
  expect(await after("1m")).toMatchObject({ status: "completed", attempt: 2 });
  expect(ran).toEqual(["fast", "hangs", "hangs"]);
});

test("the timeout is per attempt: a sleep does not count", async () => {
  const { after } = await startDurable(
    async (ctx) => {
      await ctx.sleep("one", "1m");
      await ctx.sleep("two", "1m");
    },
    { job: { timeout: "1s", maxRetries: 0 } },
  );
  await after("1m");
  expect(await after("1m")).toMatchObject({ status: "completed" });
});

test("a worker that dies in the middle costs a loss, and a new step forgives it", async () => {
  const { after, store, client, id } = await startDurable(() => null, { work: { queues: ["elsewhere"] } });
  const lose = async (): Promise<void> => {
    const claim = { workerId: "gone", queues: ["default"], types: "*", limit: 1, leaseMs: 10, turn: 0, again: false } as const;
    await client.leases.exchange([], claim);
    await after("1d");
  };
  await lose();
  expect(await client.get(id)).toMatchObject({ lostCount: 1 });
  client.work({
    long: async (_, ctx) => {
      await ctx.step("new", () => 1);
      return (await store.find([ctx.job.id]))[0]!.lostCount;
    },
  });
  expect(await after("1m")).toMatchObject({ status: "completed", result: 0 });
});

test("cancelling a suspended job ends it, and its signals are refused from then on", async () => {
  const { after, client, id } = await startDurable((ctx) => ctx.waitFor("go"));
  await client.cancel(id);
  expect(await after()).toMatchObject({ status: "cancelled" });
  await expect(client.signal(id, "go")).rejects.toMatchObject({ code: "wrong_status" });
});

describe("a deploy in the middle", () => {
  test("may add, remove and reorder steps", async () => {
    const ran: string[] = [];
    const step = (ctx: Context, name: string): Promise<unknown> => ctx.step(name, () => ran.push(name));
    const { after, deploy, steps } = await startDurable(async (ctx) => {
      await step(ctx, "a");
      await step(ctx, "b");
      await ctx.sleep("nap", "1m");
      await step(ctx, "c");
    });
    deploy(async (ctx) => {
      await step(ctx, "new");
      await step(ctx, "b");
      await ctx.sleep("nap", "1m");
      await step(ctx, "c");
    });
    expect(await after("1m")).toMatchObject({ status: "completed", attempt: 1 });
    expect(ran).toEqual(["a", "b", "new", "c"]);
    expect(await steps()).toHaveLength(5);
  });

  test("may remove the wait at which the job stands: it goes on at the end of that wait", async () => {
    const { after, deploy, client, id } = await startDurable((ctx) => ctx.waitFor("go"));
    deploy(() => "no wait any more");
    expect(await after("1m")).toMatchObject({ status: "blocked" });
    await client.signal(id, "go");
    expect(await after()).toMatchObject({ status: "completed", result: "no wait any more" });
  });

  test("may change what a name is: it begins anew as what it is now, once", async () => {
    const kinds = {
      step: (ctx: Context) => ctx.step("x", () => 1),
      sleep: (ctx: Context) => ctx.sleep("x", "1m"),
      wait: (ctx: Context) => ctx.waitFor("x", { timeout: "1m" }),
      endless: (ctx: Context) => ctx.waitFor("x"),
      call: (ctx: Context) => ctx.call("x", "other", null),
    };
    for (const before of ["step", "sleep", "wait", "endless", "call"] as const) {
      for (const now of ["step", "sleep", "wait"] as const) {
        // A wait that is open keeps its time: none.
        if (before === now || (before === "endless" && now === "wait")) continue;
        let attempts = 0;
        const { after, deploy, client, id } = await startDurable(
          (ctx) => Promise.all([kinds[before](ctx), ctx.waitFor("deployed")]),
          {},
          () => new Promise(() => {}),
        );
        deploy(async (ctx) => {
          attempts++;
          await kinds[now](ctx);
        });
        await client.signal(id, "deployed");
        await after("1m");
        await after("1s");
        expect([before, now, (await client.get(id))!.status]).toEqual([before, now, "completed"]);
        expect([before, now, attempts <= 2]).toEqual([before, now, true]);
        const x = (await client.steps(id)).find(({ name }) => name === "x")!;
        expect([before, now, x.kind, x.state]).toEqual([before, now, now, now === "wait" ? "timeout" : "done"]);
      }
    }
  });

  test("may make a wait of a sleep that is over: it has its whole time", async () => {
    const { after, deploy, client, id } = await startDurable((ctx) => ctx.sleep("x", "1m"));
    deploy((ctx) => ctx.waitFor("x", { timeout: "1h" }));
    expect(await after("1m")).toMatchObject({ status: "blocked" });
    expect(await after("59m")).toMatchObject({ status: "blocked" });
    await client.signal(id, "x", "in time");
    expect(await after()).toMatchObject({ status: "completed", result: "in time" });
  });
});

describe("a handler of many jobs", () => {
  const many = defineJob<{ n: number }>({ type: "many" });

  async function run(
    handler: (ctx: BatchContext, job: Parameters<BatchContext["of"]>[0]) => unknown,
  ): Promise<{ statuses: string[]; errors: unknown[]; steps: string[][] }> {
    const { client, after } = await startDurable(() => null);
    client.work([many.handleMany(async (jobs, batch) => Promise.all(jobs.map((job) => handler(batch, job))))], { queues: ["batch"] });
    const jobs = await Promise.all([1, 2].map((n) => client.enqueue(many, { n }, { queue: "batch", maxRetries: 0, timeout: "10s" })));
    await after("1m");
    const ended = await Promise.all(jobs.map(({ id }) => client.get(id)));
    return {
      statuses: ended.map((job) => job!.status),
      errors: ended.map((job) => job!.error?.message),
      steps: await Promise.all(jobs.map(({ id }) => stepsOf(client, id))),
    };
  }

  test("can keep steps of each", async () => {
    const { statuses, steps } = await run((batch, job) => batch.of(job).step("one", () => job.payload));
    expect(statuses).toEqual(["completed", "completed"]);
    expect(steps).toEqual([['step one done {"n":1}'], ['step one done {"n":2}']]);
  });

  test("cannot wait: the others of the batch could not end", async () => {
    const waits: ((ctx: Context) => unknown)[] = [
      (ctx) => ctx.sleep("nap", "1h"),
      (ctx) => ctx.sleepUntil("nap", "2031-01-01T00:00:00Z"),
      (ctx) => ctx.waitFor("go"),
      (ctx) => ctx.call("child", "other", null),
    ];
    for (const wait of waits) {
      const { statuses, errors } = await run((batch, job) => wait(batch.of(job)));
      expect(statuses).toEqual(["dead", "dead"]);
      expect(errors[0]).toMatch(/cannot be used in a handler of many jobs/);
    }
  });
});

describe("a link that sends a signal", () => {
  test("needs to know the server", async () => {
    const { after } = await startDurable((ctx) => ctx.signalUrl("approval"), { job: ONCE });
    expect((await after()).error!.message).toMatch(/^ctx\.signalUrl needs the address of your server and its secret/);
  });

  test("is made in any attempt, with a payload of at most 1 KiB", async () => {
    const signals = { url: "https://jobs.example.com/", secret: "a secret of many letters" };
    const { after, id } = await startDurable((ctx) => ctx.signalUrl("approval", { ttl: "1d", payload: { yes: true } }), { signals });
    const { result } = await after();
    expect(result).toMatch(/^https:\/\/jobs\.example\.com\/signal\//);
    expect(Buffer.from((result as string).split("/signal/")[1]!.split(".")[0]!, "base64url").toString()).toContain(id);
    const wrong: ((ctx: Context) => unknown)[] = [
      (ctx) => ctx.signalUrl(""),
      (ctx) => ctx.signalUrl("a", { ttl: 999 }),
      (ctx) => ctx.signalUrl("a", { ttl: "367d" }),
      (ctx) => ctx.signalUrl("a", { payload: "x".repeat(1024) }),
    ];
    for (const make of wrong) {
      const refused = await startDurable(make, { job: ONCE, signals });
      expect(await refused.after()).toMatchObject({ status: "dead", error: { name: "MillraceError" } });
    }
  });
});
