import { describe, expect, test } from "vitest";
import * as z from "zod";
import { MillraceError } from "../../../src/core/errors.ts";
import { HOUR_MS } from "../../../src/core/time-units.ts";
import { START } from "../client/open-client.ts";
import { gate, startDurable } from "./durable-job.ts";

describe("a suspension", () => {
  test("ends the attempt at no cost: no attempt, no snooze, no slot", async () => {
    const { after, client, clock } = await startDurable(
      async (ctx) => {
        await ctx.sleep("one", "1h");
        await ctx.sleep("two", "1h");
        return ctx.job.attempt;
      },
      { work: { concurrency: 1 } },
    );
    expect(await after()).toMatchObject({ status: "scheduled", attempt: 0, workerId: null });
    const other = await client.enqueue("other");
    await clock.settle();
    expect(await client.get(other.id)).toMatchObject({ status: "completed" });
    expect(await after("59m")).toMatchObject({ status: "scheduled" });
    expect(await after("1m")).toMatchObject({ status: "scheduled", attempt: 0 });
    expect(await after("1h")).toMatchObject({ status: "completed", result: 1, attempt: 1 });
  });

  test("runs neither catch nor finally, and aborts the signal with the reason Suspended", async () => {
    const ran: string[] = [];
    const { after } = await startDurable(async (ctx) => {
      ctx.signal.addEventListener("abort", () => ran.push((ctx.signal.reason as Error).name));
      try {
        await ctx.sleep("nap", "1h");
      } catch {
        ran.push("catch");
      } finally {
        ran.push(ctx.signal.aborted ? "finally of a suspended attempt" : "finally");
      }
    });
    expect(await after()).toMatchObject({ status: "scheduled" });
    expect(ran).toEqual(["Suspended"]);
    expect(await after("1h")).toMatchObject({ status: "completed" });
    expect(ran).toEqual(["Suspended", "finally"]);
  });

  test("does not wait for what the handler does beside the wait", async () => {
    const own = gate();
    const { after, client, id } = await startDurable(async (ctx) => {
      const [result] = await Promise.all([own.promise, ctx.sleep("nap", "1h")]);
      return result;
    });
    expect(await after()).toMatchObject({ status: "scheduled" });
    expect(await client.explain(id)).toMatchObject({ reasons: [{ code: "sleeps", step: "nap" }] });
    own.resolve("done");
    expect(await after("1h")).toMatchObject({ status: "completed", result: "done" });
  });

  test("waits for a step beside it, which is stored first, and for what the handler begins then", async () => {
    const slow = gate();
    const { after, steps } = await startDurable(async (ctx) => {
      const work = async (): Promise<unknown> => {
        const first = await ctx.step("slow", () => slow.promise);
        return ctx.step("next", () => [first]);
      };
      const [result] = await Promise.all([work(), ctx.sleep("nap", "1h")]);
      return result;
    });
    expect(await after("1m")).toMatchObject({ status: "running" });
    expect(await steps()).toEqual([]);
    slow.resolve(7);
    expect(await after()).toMatchObject({ status: "scheduled" });
    expect((await steps()).toSorted()).toEqual(["sleep nap open null", "step next done [7]", "step slow done 7"]);
    expect(await after("1h")).toMatchObject({ status: "completed", result: [7] });
  });

  test("registers every wait of a Promise.all, also behind a schema that takes its time", async () => {
    const checked = {
      "~standard": { version: 1, vendor: "test", validate: async (value: unknown) => (await turns(), { value }) },
    } as const;
    const { after, steps } = await startDurable(
      async (ctx) => {
        await Promise.all([
          ctx.sleep("a", "1h"),
          ctx.waitFor("b"),
          ctx.call("c", { type: "other", options: {}, input: checked } as never, null),
          (async () => {
            await Promise.resolve();
            await ctx.waitFor("d");
          })(),
        ]);
      },
      {},
      (ctx) => ctx.waitFor("never"),
    );
    expect(await after()).toMatchObject({ status: "blocked" });
    expect((await steps()).map((step) => step.split(" ").slice(0, 2).join(" ")).toSorted()).toEqual([
      "call c",
      "sleep a",
      "wait b",
      "wait d",
    ]);
  });

  test("goes on when the first of its waits ends, and what else has ended is there too", async () => {
    const { after, client, id } = await startDurable(async (ctx) => {
      const first = await Promise.race([
        ctx.sleep("long", "1d").then(() => "slept"),
        ctx.waitFor("a").then((got) => `a ${String(got)}`),
        ctx.waitFor("b").then((got) => `b ${String(got)}`),
      ]);
      return first;
    });
    expect(await after()).toMatchObject({ status: "blocked" });
    await client.signal(id, "b", 2);
    expect(await after()).toMatchObject({ status: "completed", result: "b 2" });
  });

  test("of a race between a call and a sleep that is over first leaves the called job to itself", async () => {
    const { after, client, id } = await startDurable(
      async (ctx) => {
        const which = await Promise.race([
          ctx.call("slow", "other", null).then(() => "called"),
          ctx.sleep("limit", "1m").then(() => "slept"),
        ]);
        await ctx.sleep("after", "1m");
        return which;
      },
      {},
      (ctx) => ctx.sleep("nap", "1h"),
    );
    expect(await after()).toMatchObject({ status: "blocked" });
    expect(await after("1m")).toMatchObject({ status: "blocked" });
    expect(await after("1m")).toMatchObject({ status: "completed", result: "slept" });
    const call = (await client.steps(id)).find(({ kind }) => kind === "call")!;
    await after("1h");
    expect(await client.get(call.call!.id)).toMatchObject({ status: "completed" });
  });

  test("stops middleware where it stands; the next attempt passes through it again", async () => {
    const seen: string[] = [];
    const { after, client, clock } = await startDurable(() => null);
    client.use({
      handle: async (payload, ctx, next) => {
        seen.push("in");
        await ctx.step(`before ${ctx.job.type}`, () => "kept");
        const result = await next(payload);
        seen.push("out");
        return result;
      },
    });
    client.work({ t: (_, ctx) => ctx.sleep("nap", "1s") }, { queues: ["more"] });
    const { id } = await client.enqueue("t", null, { queue: "more" });
    await clock.settle();
    expect(seen).toEqual(["in"]);
    await after("1s");
    expect(seen).toEqual(["in", "in", "out"]);
    expect(await client.get(id)).toMatchObject({ status: "completed" });
  });

  test("is told to listeners of the worker", async () => {
    const told: string[] = [];
    const { after, worker, client, clock } = await startDurable(() => null);
    worker.on("suspended", (job) => told.push(job.id));
    const { id } = await client.enqueue("other");
    await clock.settle();
    expect(told).toEqual([]);
    client.work({ t: (_, ctx) => ctx.sleep("nap", "1s") }, { queues: ["more"] }).on("suspended", (job) => told.push(job.type));
    await client.enqueue("t", null, { queue: "more" });
    await after("1s");
    expect(told).toEqual(["t"]);
    expect(id).not.toBe("");
  });
});

function turns(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
}

describe("a sleep", () => {
  test("until a time that has passed, or of no length, does not suspend", async () => {
    const { after } = await startDurable(async (ctx) => {
      await ctx.sleepUntil("past", "2029-12-31T00:00:00Z");
      await ctx.sleep("none", 0);
      return "at once";
    });
    expect(await after()).toMatchObject({ status: "completed", result: "at once" });
  });

  test("until a time is over then", async () => {
    const { after } = await startDurable((ctx) => ctx.sleepUntil("new year", "2030-01-01T01:00:00Z"));
    expect(await after("59m")).toMatchObject({ status: "scheduled" });
    expect(await after("1m")).toMatchObject({ status: "completed" });
  });

  test.each([
    ["ahead", 5 * 60_000],
    ["behind", -5 * 60_000],
  ])("until a time is over then, by the clock of the store, if that of the worker is %s", async (_, clientAheadMs) => {
    const { after } = await startDurable(
      async (ctx) => {
        const times = ["2029-12-31T23:58:00Z", "2030-01-01T01:00:00Z", "2030-01-01T02:00:00Z"];
        await Promise.all([ctx.step("a", () => 1), ...times.map((time) => ctx.sleepUntil(time, time))]);
      },
      { clientAheadMs },
    );
    expect(await after("59m")).toMatchObject({ status: "scheduled", scheduledAt: START + HOUR_MS });
    // The handler may have won a race at its first sleep: it is suspended after a grace.
    await after("1m");
    expect(await after("10s")).toMatchObject({ status: "scheduled", scheduledAt: START + 2 * HOUR_MS });
    expect(await after("1h")).toMatchObject({ status: "completed" });
  });

  test("counts from where the handler reached it, also beside a step that takes long", async () => {
    const go = gate();
    const { after } = await startDurable(
      async (ctx) => {
        await Promise.all([ctx.sleep("nap", "1h"), ctx.sleepUntil("new year", "2030-01-01T02:00:00Z"), ctx.step("slow", () => go.promise)]);
      },
      { job: { timeout: "1h" } },
    );
    await after("2m");
    go.resolve(null);
    expect(await after()).toMatchObject({ status: "scheduled", scheduledAt: START + HOUR_MS });
    await after("58m");
    expect(await after("10s")).toMatchObject({ status: "scheduled", scheduledAt: START + 2 * HOUR_MS });
  });

  test("until a time asks the store for its time as long as the attempt lasts, and once", async () => {
    let asked = 0;
    const { after } = await startDurable(
      async (ctx) => {
        const times = ["2030-01-01T01:00:00Z", "2030-01-01T02:00:00Z"];
        await Promise.all(times.map((time) => ctx.sleepUntil(time, time)));
      },
      {
        job: { maxRetries: 0, maxLost: 0 },
        prepare: (store) => {
          const read = store.readSteps.bind(store);
          store.readSteps = async (...args) => {
            if (++asked < 10) throw new MillraceError("store_unavailable", "the store is away");
            return read(...args);
          };
        },
      },
    );
    expect(await after("1m")).toMatchObject({ status: "scheduled", scheduledAt: START + HOUR_MS });
    expect(asked).toBe(10);
    expect(await after("2h")).toMatchObject({ status: "completed" });
  });

  test("keeps its time, whatever a later attempt says", async () => {
    const { after, deploy, client, id } = await startDurable((ctx) => Promise.all([ctx.sleep("nap", "1h"), ctx.waitFor("go")]));
    deploy(async (ctx) => void (await Promise.all([ctx.sleep("nap", "9d"), ctx.waitFor("go")])));
    await after("30m");
    await client.signal(id, "go", null);
    expect(await after("29m")).toMatchObject({ status: "scheduled" });
    expect(await after("1m")).toMatchObject({ status: "completed" });
  });

  test("that a signal of its name meets is slept to its end", async () => {
    const { after, client, id } = await startDurable((ctx) => ctx.sleep("nap", "1h"));
    await client.signal(id, "nap", "wake up");
    expect((await client.steps(id))[0]).toMatchObject({ kind: "sleep", state: "open" });
    expect(await after("59m")).toMatchObject({ status: "scheduled" });
    expect(await after("1m")).toMatchObject({ status: "completed", attempt: 1 });
  });

  test("whose name a signal took before it began is slept all the same", async () => {
    const go = gate();
    const { after, client, id } = await startDurable(async (ctx) => {
      await ctx.step("slow", () => go.promise);
      await ctx.sleep("nap", "1h");
    });
    await client.signal(id, "nap");
    go.resolve(null);
    expect(await after("59m")).toMatchObject({ status: "scheduled" });
    expect(await after("1m")).toMatchObject({ status: "completed" });
  });
});

describe("a wait for a signal", () => {
  test("is over when it comes, with its payload; other jobs of the test go on meanwhile", async () => {
    const { after, client, id } = await startDurable((ctx) => ctx.waitFor("approval"));
    expect(await after("1h")).toMatchObject({ status: "blocked", attempt: 0 });
    expect(await client.signal(id, "approval", { by: "ann" })).toEqual({ accepted: true });
    expect(await after()).toMatchObject({ status: "completed", result: { by: "ann" }, attempt: 1 });
  });

  test("takes one that came before it, whatever the job did then", async () => {
    const go = gate();
    const { after, client, id } = await startDurable(async (ctx) => {
      if (ctx.job.attempt === 1) {
        await go.promise;
        throw new Error("retry");
      }
      return [await ctx.waitFor("pending"), await ctx.waitFor("running"), await ctx.waitFor("retrying")];
    });
    const { id: scheduled } = await client.enqueue("long", null, { delay: "1h" });
    expect(await client.signal(scheduled, "pending", 0)).toEqual({ accepted: true });
    expect(await client.signal(id, "running", 1)).toEqual({ accepted: true });
    await client.signal(id, "pending", 0);
    go.resolve(null);
    expect(await after()).toMatchObject({ status: "retrying" });
    expect(await client.signal(id, "retrying", 2)).toEqual({ accepted: true });
    expect(await after("1m")).toMatchObject({ status: "completed", result: [0, 1, 2] });
  });

  test("without a payload is undefined, and null is null: only a timeout is null by itself", async () => {
    const { after, client, id } = await startDurable(async (ctx) => [
      typeof (await ctx.waitFor("a")),
      typeof (await ctx.waitFor("b")),
      await ctx.waitFor("c", { timeout: "1s" }),
    ]);
    await client.signal(id, "a");
    await client.signal(id, "b", null);
    expect(await after("1s")).toMatchObject({ result: ["undefined", "object", null] });
  });

  test("resolves with null at its timeout; a signal that comes later is told so", async () => {
    const { after, client, id } = await startDurable(async (ctx) => {
      const got = await ctx.waitFor("approval", { timeout: "1h" });
      await ctx.sleep("nap", "1h");
      return got;
    });
    expect(await after("1h")).toMatchObject({ status: "scheduled" });
    expect(await client.signal(id, "approval", 1)).toEqual({ accepted: false, reason: "timed_out" });
    expect(await after("1h")).toMatchObject({ status: "completed", result: null });
    await expect(client.signal(id, "approval", 1)).rejects.toMatchObject({ code: "wrong_status" });
  });

  test("refuses a signal that does not fit: the wait goes on, its deadline stays, and one that fits is taken", async () => {
    const schema = z.object({ by: z.string() });
    const { after, client, id } = await startDurable((ctx) => ctx.waitFor("approval", { timeout: "1h", schema }));
    await client.signal(id, "approval", { by: 7 }, { id: "s1" });
    expect(await after("30m")).toMatchObject({ status: "blocked" });
    expect(await client.steps(id)).toMatchObject([
      { name: "approval", state: "open", refused: [{ by: "s1", error: expect.stringMatching(/^payload\.\w+: .*string/) as string }] },
    ]);
    const [step] = await client.steps(id);
    expect(step!.until! - step!.startedAt).toBe(3_600_000);
    await client.signal(id, "approval", { by: "ann", more: 1 });
    expect(await after()).toMatchObject({ status: "completed", result: { by: "ann" } });
    expect(await client.steps(id)).toMatchObject([{ state: "done", refused: [{ by: "s1" }] }]);
  });

  test("still times out after signals that did not fit, as one that came too early", async () => {
    const go = gate();
    const schema = z.string();
    const { after, client, id } = await startDurable(async (ctx) => {
      await ctx.step("slow", () => go.promise);
      return ctx.waitFor("name", { timeout: "1h", schema });
    });
    await client.signal(id, "name", 1);
    go.resolve(null);
    expect(await after("30m")).toMatchObject({ status: "blocked" });
    for (let n = 0; n < 15; n++) {
      await client.signal(id, "name", n);
      await after("1m");
    }
    expect((await client.steps(id)).find(({ name }) => name === "name")!.refused).toHaveLength(10);
    expect(await after("14m")).toMatchObject({ status: "blocked" });
    expect(await after("1m")).toMatchObject({ status: "completed", result: null });
  });

  test("whose schema throws has failed", async () => {
    const schema = {
      "~standard": {
        version: 1,
        vendor: "t",
        validate: () => {
          throw new Error("a broken schema");
        },
      },
    } as never;
    const { after, client, id } = await startDurable((ctx) => ctx.waitFor("a", { schema }), { job: { maxRetries: 0 } });
    await client.signal(id, "a", 1);
    expect(await after()).toMatchObject({ status: "dead", error: { message: "a broken schema" } });
  });
});

describe("signals", () => {
  test("are told apart by their ids: a repeat is accepted again, another one is late", async () => {
    const { client, id, after } = await startDurable(async (ctx) => (await Promise.all([ctx.waitFor("a"), ctx.sleep("nap", "1h")]))[0]);
    expect(await client.signal(id, "a", 1, { id: "s1" })).toEqual({ accepted: true });
    expect(await client.signal(id, "a", 1, { id: "s1" })).toEqual({ accepted: true });
    expect(await client.signal(id, "a", 2, { id: "s2" })).toEqual({ accepted: false, reason: "already_received" });
    expect(await after("1h")).toMatchObject({ status: "completed", result: 1 });
  });

  test("that are none are refused", async () => {
    const { client, id } = await startDurable((ctx) => ctx.waitFor("a"));
    const invalid = { code: "invalid_input" };
    await expect(client.signal("no id", "a")).rejects.toMatchObject(invalid);
    await expect(client.signal(id, "")).rejects.toMatchObject(invalid);
    await expect(client.signal(id, "x".repeat(129))).rejects.toMatchObject(invalid);
    await expect(client.signal(id, "a", 1n)).rejects.toMatchObject(invalid);
    await expect(client.signal(id, "a", "x".repeat(1024 * 1024))).rejects.toMatchObject(invalid);
    await expect(client.signal(id, "a", 1, { id: "" })).rejects.toMatchObject(invalid);
    await expect(client.signal(id, "a", 1, { di: "s" } as never)).rejects.toMatchObject(invalid);
    await expect(client.signal("0190d2f0-7b1a-7abc-8def-0123456789ab", "a")).rejects.toMatchObject({ code: "not_found" });
  });

  test("are kept up to 1,000", async () => {
    const { client, id } = await startDurable((ctx) => ctx.waitFor("a"));
    for (let n = 1; n < 1000; n++) await client.signal(id, `s${n}`);
    await expect(client.signal(id, "one more")).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringContaining("as many steps and signals") as string,
    });
    expect(await client.signal(id, "a")).toEqual({ accepted: true });
  });
});

describe("progress renews patience", () => {
  test("a new step sets the retries back, so each step has all of them", async () => {
    const failures = new Map([
      ["a", 2],
      ["b", 2],
      ["c", 2],
    ]);
    const { after } = await startDurable(
      async (ctx) => {
        for (const name of ["a", "b", "c"]) {
          await ctx.step(name, () => {
            const left = failures.get(name)!;
            failures.set(name, left - 1);
            if (left > 0) throw new Error(`${name} fails`);
          });
        }
      },
      { job: { maxRetries: 2, backoff: "fixed", retryDelay: "1s" } },
    );
    expect(await after("1m")).toMatchObject({ status: "completed", attempt: 7 });
  });

  test("and so does the end of a wait", async () => {
    let failures = 2;
    const { after } = await startDurable(
      async (ctx) => {
        if (failures-- > 0) throw new Error("first");
        await ctx.sleep("nap", "1h");
        throw new Error("last");
      },
      { job: { maxRetries: 2, backoff: "fixed", retryDelay: "1s" } },
    );
    expect(await after("2s")).toMatchObject({ status: "scheduled", retryCount: 0 });
    expect(await after("1h")).toMatchObject({ status: "retrying", retryCount: 1 });
    expect(await after("1m")).toMatchObject({ status: "dead", retryCount: 2 });
  });

  test("but what was done before does not", async () => {
    const { after } = await startDurable(
      async (ctx) => {
        await ctx.step("a", () => 1);
        throw new Error("always");
      },
      { job: { maxRetries: 2, backoff: "fixed", retryDelay: "1s" } },
    );
    expect(await after("1m")).toMatchObject({ status: "dead", attempt: 3 });
  });
});
