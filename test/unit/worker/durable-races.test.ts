import { describe, expect, test } from "vitest";
import type { Context } from "../../../src/client/client.ts";
import { RACE_GRACE_MS } from "../../../src/worker/race-watch.ts";
import { START } from "../client/open-client.ts";
import { type DurableJob, gate, startDurable } from "./durable-job.ts";

/** Work of a handler that is no step, by the clock of the test. */
const ownWork = (opened: () => DurableJob, ms: number): Promise<void> =>
  new Promise((resolve) => void opened().clock.setTimer(() => resolve(), ms));

/** Runs a handler that wins a race 300 ms after its start, and then does 50 ms of work that is no step. */
async function afterRace(race: (ctx: Context) => Promise<unknown>): Promise<DurableJob> {
  const started: DurableJob = await startDurable(
    async (ctx) => {
      const which = await race(ctx);
      await ownWork(() => started, 50);
      return which;
    },
    { job: { maxRetries: 0, maxLost: 0 } },
    (ctx) => ctx.waitFor("never"),
  );
  return started;
}

const rest = (ctx: Context): Promise<string> => ctx.sleep("rest", "300ms").then(() => "rested");

describe("a handler that goes on after a race", () => {
  test.each<readonly [string, (ctx: Context) => Promise<unknown>]>([
    ["a race", (ctx) => Promise.race([ctx.waitFor("stop"), rest(ctx)])],
    ["a race whose loser comes last", (ctx) => Promise.race([rest(ctx), ctx.waitFor("stop")])],
    ["a race with a timeout that is far away", (ctx) => Promise.race([ctx.waitFor("stop", { timeout: "30d" }), rest(ctx)])],
    ["a race with a called job", (ctx) => Promise.race([ctx.call("part", "other", null), rest(ctx)])],
    ["a nested race", (ctx) => Promise.race([Promise.race([ctx.waitFor("stop"), rest(ctx)]), ctx.waitFor("end")])],
    ["Promise.any", (ctx) => Promise.any([ctx.waitFor("stop"), rest(ctx)])],
    [
      "a race of functions",
      (ctx) => Promise.race([(async () => ctx.waitFor("stop"))(), (async () => (await ctx.step("a", () => 1), await rest(ctx)))()]),
    ],
  ])("is not suspended while it does work of its own: %s", async (_, race) => {
    const { after } = await afterRace(race);
    expect(await after()).toMatchObject({ status: "blocked" });
    await after("300ms");
    expect(await after("50ms")).toMatchObject({ status: "completed", result: "rested" });
  });

  test("is not suspended at a wait that is new, if what won the race had come before it", async () => {
    const go = gate();
    const started: DurableJob = await startDurable(async (ctx) => {
      await ctx.step("slow", () => go.promise);
      const which = await Promise.race([ctx.waitFor("go"), ctx.waitFor("stop")]);
      await ownWork(() => started, 50);
      return which;
    });
    await started.client.signal(started.id, "go", "went");
    await started.after();
    go.resolve(null);
    await started.after("1s");
    expect(await started.after("50ms")).toMatchObject({ status: "completed", result: "went" });
  });

  test("is suspended at once at the next wait that it reaches, in a loop around one wait", async () => {
    const started: DurableJob = await startDurable(async (ctx) => {
      const stop = ctx.waitFor("stop");
      for (let n = 1; ; n++) {
        const got = await Promise.race([stop, ctx.sleep(`rest ${n}`, "1h").then(() => "rested")]);
        if (got !== "rested") return [n, got];
        await ownWork(() => started, 50);
      }
    });
    const { after, client, id } = started;
    expect(await after("1h")).toMatchObject({ status: "running" });
    expect(await after("50ms")).toMatchObject({ status: "blocked", scheduledAt: START + 2 * 3_600_000 + 50 });
    await after("1h");
    expect(await after("100ms")).toMatchObject({ status: "blocked" });
    await client.signal(id, "stop", "stopped");
    expect(await after("1s")).toMatchObject({ status: "completed", result: [1, "stopped"] });
  });

  test("is suspended if it is quiet for longer than the grace", async () => {
    const started: DurableJob = await startDurable(async (ctx) => {
      await Promise.race([ctx.waitFor("stop"), rest(ctx)]);
      await ownWork(() => started, RACE_GRACE_MS + 1);
    });
    const { after, client, id } = started;
    await after("300ms");
    expect(await after(RACE_GRACE_MS - 1)).toMatchObject({ status: "running" });
    expect(await after(1)).toMatchObject({ status: "blocked", attempt: 0 });
    await client.signal(id, "stop");
    await after();
    expect(await after(RACE_GRACE_MS + 1)).toMatchObject({ status: "completed" });
  });

  test("is suspended before its timeout, which costs no retry", async () => {
    const { after } = await startDurable(async (ctx) => void (await Promise.all([ctx.waitFor("go"), ctx.sleep("nap", "1m")])), {
      job: { maxRetries: 0, timeout: "2s" },
    });
    expect(await after("1m")).toMatchObject({ status: "running" });
    expect(await after("1s")).toMatchObject({ status: "blocked" });
  });

  test("ends at once when it is cancelled meanwhile", async () => {
    const { after, client, id, worker } = await startDurable(
      async (ctx) => void (await Promise.all([ctx.waitFor("go"), ctx.sleep("nap", "1m")])),
    );
    expect(await after("1m")).toMatchObject({ status: "running" });
    await client.cancel(id);
    await after("2s");
    expect(worker).toMatchObject({ running: 0, abandoned: 0 });
  });

  test("is counted as abandoned only until the grace has ended, if its slot is freed before", async () => {
    const { after, client, id, worker } = await startDurable(
      async (ctx) => void (await Promise.all([ctx.waitFor("go"), ctx.sleep("nap", "1m")])),
      { work: { settle: 0 } },
    );
    await after("1m");
    await client.cancel(id);
    await after("1s");
    await after(RACE_GRACE_MS);
    expect(worker).toMatchObject({ running: 0, abandoned: 0 });
  });
});

describe("a handler that waits for all", () => {
  test("goes on as soon as the last has ended, also during the grace after another", async () => {
    const { after, client, id } = await startDurable((ctx) => Promise.all([ctx.waitFor("a"), ctx.waitFor("b")]));
    await client.signal(id, "a", 1);
    await after();
    await client.signal(id, "b", 2);
    await after("50ms");
    expect(await after()).toMatchObject({ status: "completed", result: [1, 2] });
  });

  test("of its calls takes no slot between their ends", async () => {
    const { after, client, id } = await startDurable(
      (ctx) => Promise.all([1, 2, 3].map((n) => ctx.call(`part ${n}`, "other", null))),
      { work: { concurrency: 1 } },
      (ctx) => ctx.waitFor("go"),
    );
    await after();
    const children = (await client.steps(id)).map(({ call }) => call!.id);
    for (const [index, child] of children.entries()) {
      await client.signal(child, "go", index);
      expect(await after()).toMatchObject(index < 2 ? { status: "blocked" } : { status: "completed", result: [0, 1, 2] });
    }
  });

  test("of one thing after the other is suspended at once", async () => {
    const { after, client, id } = await startDurable(async (ctx) => {
      await ctx.sleep("nap", "1h");
      await ctx.waitFor("a");
      await Promise.all([ctx.waitFor("b"), ctx.sleep("rest", "1h")]);
    });
    expect(await after("1h")).toMatchObject({ status: "blocked" });
    await client.signal(id, "a");
    expect(await after()).toMatchObject({ status: "blocked" });
  });
});
