import { describe, expect, test } from "vitest";
import type { Context } from "../../../src/client/client.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { MAX_STEP_BYTES, MAX_STEPS } from "../../../src/core/steps.ts";
import { gate, startDurable } from "./durable-job.ts";

const MISTAKE = { maxRetries: 0 };

describe("a step", () => {
  test("runs once: later attempts get its result, as JSON says it", async () => {
    const ran: string[] = [];
    const { after, steps } = await startDurable(async (ctx) => {
      const date = await ctx.step("date", () => {
        ran.push("date");
        return new Date(0);
      });
      const nothing = await ctx.step("nothing", () => void ran.push("nothing"));
      await ctx.sleep("nap", "1h");
      return { date, nothing: nothing === undefined };
    });
    const job = await after("1h");
    expect(job).toMatchObject({ status: "completed", attempt: 1, result: { date: "1970-01-01T00:00:00.000Z", nothing: true } });
    expect(ran).toEqual(["date", "nothing"]);
    expect(await steps()).toEqual(['step date done "1970-01-01T00:00:00.000Z"', "step nothing done null", "sleep nap done null"]);
  });

  test("is stored before it resolves, so what fails after it does not run it again", async () => {
    let [ran, failures] = [0, 2];
    const { after } = await startDurable(async (ctx, client) => {
      const seen = await ctx.step("once", () => ++ran);
      expect((await client.steps(ctx.job.id)).map(({ value }) => value)).toEqual([1]);
      if (failures-- > 0) throw new Error("later");
      return seen;
    });
    expect(await after("1m")).toMatchObject({ status: "completed", result: 1, attempt: 3 });
    expect(ran).toBe(1);
  });

  test("that fails fails the attempt, and the retry goes on at that step", async () => {
    const ran: string[] = [];
    const { after } = await startDurable(async (ctx) => {
      await ctx.step("first", () => ran.push("first"));
      await ctx.step("second", () => {
        ran.push("second");
        if (ran.length < 4) throw new Error("not yet");
      });
    });
    expect(await after("1m")).toMatchObject({ status: "completed", attempt: 3 });
    expect(ran).toEqual(["first", "second", "second", "second"]);
  });

  test("may be inside the function of another, and may run beside others", async () => {
    const { after, steps } = await startDurable(async (ctx) => {
      const [one, two] = await Promise.all([
        ctx.step("one", () => 1),
        ctx.step("outer", async () => (await ctx.step("inner", () => 2)) + 1),
      ]);
      return [one, two];
    });
    expect(await after()).toMatchObject({ status: "completed", result: [1, 3] });
    expect((await steps()).toSorted()).toEqual(["step inner done 2", "step one done 1", "step outer done 3"]);
  });

  test("says how long it ran, and in which attempt it began", async () => {
    const { after, clock, client, id } = await startDurable(async (ctx) => {
      if (ctx.job.attempt === 1) throw new Error("once");
      await ctx.step("slow", () => new Promise<void>((resolve) => void clock.setTimer(resolve, 5000)));
    });
    await after("1m");
    expect(await client.steps(id)).toMatchObject([{ name: "slow", runMs: 5000, attempt: 2, state: "done" }]);
  });
});

describe("refused with an error that says why", () => {
  async function messageOf(run: (ctx: Context) => unknown): Promise<string> {
    const { after } = await startDurable(run, { job: MISTAKE });
    const { status, error } = await after();
    expect(status).toBe("dead");
    return error!.message;
  }

  test("a name that is none", async () => {
    for (const name of ["", "x".repeat(129), "a\u0000b", "two\nlines", "\ud800", 7, undefined, null]) {
      expect(await messageOf((ctx) => ctx.step(name as string, () => 1))).toMatch(/^name must be a text of 1 to 128 characters/);
    }
  });

  test("a name of 128 characters is one", async () => {
    const { after } = await startDurable((ctx) => ctx.step("é".repeat(128), () => 1));
    expect(await after()).toMatchObject({ status: "completed", result: 1 });
  });

  test("a name that is used twice in one attempt, also by something else", async () => {
    const twice = /the name "a" is used twice in one attempt/;
    expect(await messageOf(async (ctx) => [await ctx.step("a", () => 1), await ctx.step("a", () => 2)])).toMatch(twice);
    expect(await messageOf(async (ctx) => [await ctx.step("a", () => 1), await ctx.sleep("a", "1s")])).toMatch(twice);
    expect(await messageOf((ctx) => Promise.all([ctx.sleep("a", "1s"), ctx.waitFor("a")]))).toMatch(twice);
    expect(await messageOf((ctx) => Promise.all([ctx.waitFor("a"), ctx.call("a", "other", null)]))).toMatch(twice);
  });

  test("what is no function", async () => {
    expect(await messageOf((ctx) => ctx.step("a", 7 as never))).toBe("run must be a function; got 7");
    expect(await messageOf((ctx) => ctx.step("a", undefined as never))).toMatch(/^run must be a function/);
  });

  test("a result that JSON cannot say", async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    for (const result of [1n, { big: 1n }, () => 1, cycle, Symbol("s")]) {
      expect(await messageOf((ctx) => ctx.step("a", () => result))).toMatch(/^the result of step "a" cannot be stored: /);
    }
  });

  test("a result of more than 1 MiB", async () => {
    const text = "x".repeat(MAX_STEP_BYTES - 2);
    const { after } = await startDurable(async (ctx) => (await ctx.step("a", () => text)).length);
    expect(await after()).toMatchObject({ status: "completed", result: MAX_STEP_BYTES - 2 });
    expect(await messageOf((ctx) => ctx.step("a", () => `${text}x`))).toMatch(/^the result of step "a" cannot be stored: /);
  });

  test("results of more than 8 MiB in all, and those that fit are kept", async () => {
    const mebibyte = "x".repeat(MAX_STEP_BYTES - 2);
    const fill = async (ctx: Context): Promise<void> => {
      for (let n = 0; n < 8; n++) await ctx.step(`s${n}`, () => mebibyte);
    };
    const { after, steps } = await startDurable(
      async (ctx) => {
        await fill(ctx);
        await ctx.step("one too much", () => 1);
      },
      { job: MISTAKE },
    );
    expect(await after()).toMatchObject({
      status: "dead",
      error: { message: expect.stringMatching(/step "one too much" does not fit: .* 8 MiB/) as string },
    });
    expect(await steps()).toHaveLength(8);
    const { after: afterFull } = await startDurable(fill);
    expect(await afterFull()).toMatchObject({ status: "completed" });
  });

  test("more than 1,000 steps, whatever they are", async () => {
    const fill = async (ctx: Context): Promise<unknown> => {
      return Promise.all(Array.from({ length: MAX_STEPS }, (_, n) => ctx.step(`s${n}`, () => n)));
    };
    const tooMany = /^step "one more" does not fit: a job keeps at most 1000 steps/;
    expect(await messageOf(async (ctx) => [await fill(ctx), await ctx.step("one more", () => 1)])).toMatch(tooMany);
    expect(await messageOf(async (ctx) => [await fill(ctx), await ctx.sleep("one more", "1s")])).toMatch(tooMany);
    expect(await messageOf(async (ctx) => [await fill(ctx), await ctx.waitFor("one more")])).toMatch(tooMany);
    expect(await messageOf(async (ctx) => [await fill(ctx), await ctx.call("one more", "other", null)])).toMatch(tooMany);
    const { after } = await startDurable(async (ctx) => void (await fill(ctx)));
    expect(await after()).toMatchObject({ status: "completed" });
  });

  test("a wait inside the function of a step", async () => {
    const inside = /cannot be inside the function of a step \("outer"\)/;
    expect(await messageOf((ctx) => ctx.step("outer", () => ctx.sleep("in", "1s")))).toMatch(inside);
    expect(await messageOf((ctx) => ctx.step("outer", () => ctx.sleepUntil("in", Date.UTC(2031, 0))))).toMatch(inside);
    expect(await messageOf((ctx) => ctx.step("outer", () => ctx.waitFor("in")))).toMatch(inside);
    expect(await messageOf((ctx) => ctx.step("outer", async () => ctx.call("in", "other", null)))).toMatch(inside);
  });

  test("times that are none", async () => {
    const time = /^time must be a (time|Date)/;
    for (const wrong of [-1, "soon", "11y", null, {}]) expect(await messageOf((ctx) => ctx.sleep("a", wrong as never))).toMatch(time);
    for (const wrong of ["tomorrow", NaN, Date.UTC(2050, 0), {}])
      expect(await messageOf((ctx) => ctx.sleepUntil("a", wrong as never))).toMatch(time);
    expect(await messageOf((ctx) => ctx.waitFor("a", { timeout: -1 }))).toMatch(/^timeout must be a time/);
    expect(await messageOf((ctx) => ctx.waitFor("a", { schema: {} as never }))).toMatch(/^schema must be a Standard Schema/);
  });
});

test("a handler of another job that runs in the asynchronous context of a step may wait", async () => {
  // An enqueue may wake a worker in the context of its caller, too; but that depends on who is first.
  const { client, after } = await startDurable((ctx, inside) =>
    ctx.step("start", async () => {
      const { id } = await inside.enqueue("t", null, { queue: "inner", maxRetries: 0 });
      inside.work({ t: (_, own) => own.sleep("nap", "1s") }, { queues: ["inner"] });
      return id;
    }),
  );
  const { result: id } = await after("1s");
  expect(await client.get(id as string)).toMatchObject({ status: "completed" });
});

describe("the context after the end of its attempt", () => {
  test("refuses steps and waits", async () => {
    let left: Context | null = null;
    const { after } = await startDurable((ctx) => void (left = ctx));
    expect(await after()).toMatchObject({ status: "completed" });
    const over = { code: "stale_lease", message: expect.stringContaining("the attempt is over") as string };
    await expect(left!.step("late", () => 1)).rejects.toMatchObject(over);
    await expect(left!.sleep("late", "1s")).rejects.toMatchObject(over);
    await expect(left!.waitFor("late")).rejects.toMatchObject(over);
    await expect(left!.call("late", "other", null)).rejects.toMatchObject(over);
  });

  test("does nothing more once it was suspended", async () => {
    const reached: string[] = [];
    const go = gate();
    const { after, steps } = await startDurable(async (ctx) => {
      void (async () => {
        await go.promise;
        reached.push("goes on", ctx.signal.aborted ? (ctx.signal.reason as Error).name : "not aborted");
        await ctx.step("late", () => reached.push("late"));
        reached.push("after");
      })();
      await ctx.sleep("nap", "1h");
    });
    expect(await after()).toMatchObject({ status: "scheduled" });
    go.resolve(null);
    await after();
    expect(reached).toEqual(["goes on", "Suspended"]);
    expect(await steps()).toEqual(["sleep nap open null"]);
  });
});

test("a step whose lease is gone when it ends is not stored, and its handler hears of it", async () => {
  const go = gate();
  let heard: unknown;
  const { after, client, id, steps } = await startDurable(async (ctx) => {
    try {
      await ctx.step("slow", () => go.promise);
    } catch (error) {
      heard = error;
      throw error;
    }
  });
  await client.cancel(id);
  go.resolve(1);
  expect(await after()).toMatchObject({ status: "cancelled" });
  expect(heard).toBeInstanceOf(MillraceError);
  expect(heard).toMatchObject({ code: "stale_lease" });
  expect(await steps()).toEqual([]);
});
