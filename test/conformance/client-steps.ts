import { describe, expect } from "vitest";
import { z } from "zod";
import type { Client, Context, JobStep } from "../../src/client/client.ts";
import { defineJob } from "../../src/client/define-job.ts";
import type { Event } from "../../src/core/event.ts";
import { JsonText, valueOf } from "../../src/core/json-text.ts";
import { schemaOf } from "../../src/core/payload-schema.ts";
import { CallFailed, MAX_REFUSAL_BYTES, MAX_STEPS, MAX_WAIT_SCHEMA_BYTES } from "../../src/core/steps.ts";
import { MISSING_ID } from "../unit/http/open-api.ts";
import type { Promises } from "./client.ts";

type Work = (ctx: Context) => unknown;

/** Runs one job of a type that does this, with its workers; others may run beside it. */
async function start(client: Client, work: Work, others: Record<string, Work> = {}, options = {}): Promise<string> {
  const { id } = await client.enqueue("onboard", null, options);
  const handlers = Object.entries({ onboard: work, ...others }).map(([type, run]) => [type, (_: unknown, ctx: Context) => run(ctx)]);
  client.work(Object.fromEntries(handlers) as Record<string, (_: unknown, ctx: Context) => unknown>, { concurrency: 5 });
  return id;
}

async function eventually<Answer>(read: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await read();
    if (isDone(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const isSuspended = (client: Client, id: string): Promise<unknown> =>
  eventually(
    () => client.get(id),
    (job) => job?.status === "blocked" || job?.status === "scheduled",
  );

function byFirst([a]: readonly string[], [b]: readonly string[]): number {
  return a!.localeCompare(b!);
}

async function stepOf(client: Client, id: string, name: string): Promise<JobStep> {
  return (await client.steps(id)).find((step) => step.name === name)!;
}

/** Durable work: what crosses the wire of it, and what a worker makes of it. What stores do with it, the store suite proves. */
export function stepSuite(promises: Promises): void {
  describe("a handler that does durable work", () => {
    promises("runs each step once, sleeps, waits for a signal, calls other jobs, and ends with all of it", async (client) => {
      const ran: string[] = [];
      const render = defineJob<{ page: number }, { file: string }>({ type: "render", maxRetries: 0 });
      client.work([render.handle(({ page }) => ({ file: `${page}.png` }))]);
      const id = await start(client, async (ctx) => {
        const account = await ctx.step("account", () => {
          ran.push("account");
          return { id: 7 };
        });
        const nothing = await ctx.step("nothing", () => {
          ran.push("nothing");
        });
        const nil = await ctx.step("nil", () => null);
        await ctx.sleep("nap", "30ms");
        const approval = await ctx.waitFor("approval");
        const files = await Promise.all([1, 2].map((page) => ctx.call(`render ${page}`, render, { page })));
        return { account, nothing: nothing === undefined, nil, approval, files };
      });
      await eventually(
        () => client.explain(id),
        ({ reasons }) => reasons[0]?.code === "waits_for_signal",
      );
      expect(await client.signal(id, "approval", { by: "ann" })).toEqual({ accepted: true });
      const job = await client.wait(id);
      expect(job).toMatchObject({
        status: "completed",
        hasSteps: true,
        parent: null,
        attempt: 1,
        result: { account: { id: 7 }, nothing: true, nil: null, approval: { by: "ann" }, files: [{ file: "1.png" }, { file: "2.png" }] },
      });
      expect(ran).toEqual(["account", "nothing"]);
      const steps = await client.steps(id);
      expect(steps.map(({ name, kind, state }) => [name, kind, state]).sort(byFirst)).toEqual([
        ["account", "step", "done"],
        ["approval", "wait", "done"],
        ["nap", "sleep", "done"],
        ["nil", "step", "done"],
        ["nothing", "step", "done"],
        ["render 1", "call", "done"],
        ["render 2", "call", "done"],
      ]);
      const call = steps.find(({ name }) => name === "render 1")!;
      expect(call).toMatchObject({ value: { file: "1.png" }, error: null, runMs: null, call: { type: "render", queue: "default" } });
      expect((await client.get(call.call!.id))?.parent).toEqual({ id, step: "render 1", life: 1 });
      const step = steps.find(({ name }) => name === "account")!;
      expect(step).toMatchObject({ value: { id: 7 }, attempt: 1, until: null, call: null, schema: null, refused: [] });
      expect(step.runMs).toBeGreaterThanOrEqual(0);
      expect(step.endedAt).toBeGreaterThanOrEqual(step.startedAt);
    });

    promises("goes on where it failed, and each step that it stores renews its patience", async (client) => {
      const ran: string[] = [];
      const id = await start(
        client,
        async (ctx) => {
          for (const name of ["one", "two", "three"]) {
            await ctx.step(name, () => {
              ran.push(name);
              if (ran.filter((each) => each === name).length === 1) throw new Error(`no ${name}`);
            });
          }
        },
        {},
        { maxRetries: 1, retryDelay: 0 },
      );
      expect(await client.wait(id)).toMatchObject({ status: "completed", attempt: 4 });
      expect(ran).toEqual(["one", "one", "two", "two", "three", "three"]);
    });

    promises("gets null at the timeout of a wait, and a later signal is told so", async (client) => {
      const id = await start(client, async (ctx) => {
        const late = await ctx.waitFor("approval", { timeout: "20ms" });
        await ctx.waitFor("end");
        return { late };
      });
      await eventually(
        () => client.explain(id),
        ({ reasons }) => reasons[0]?.code === "waits_for_signal" && reasons[0].step === "end",
      );
      expect(await client.signal(id, "approval", 1)).toEqual({ accepted: false, reason: "timed_out" });
      await client.signal(id, "end");
      expect(await client.wait(id)).toMatchObject({ result: { late: null } });
      expect(await stepOf(client, id, "approval")).toMatchObject({ state: "timeout", value: null });
    });

    promises(
      "takes only a signal that fits its schema: others are kept with their errors, and the wait goes on",
      async (client, { direct }) => {
        const id = await start(client, async (ctx) => ctx.waitFor("approval", { timeout: "1h", schema: z.object({ by: z.string() }) }));
        await isSuspended(client, id);
        expect(await stepOf(client, id, "approval")).toMatchObject({ state: "open", schema: { type: "object", required: ["by"] } });
        // A client over the store checks nothing, so the wait itself does.
        expect(await direct.signal(id, "approval", { by: 7 }, { id: "bad" })).toEqual({ accepted: true });
        const open = await eventually(
          () => stepOf(client, id, "approval"),
          ({ state, refused }) => state === "open" && refused.length === 1,
        );
        expect(open.refused).toEqual([{ at: expect.any(Number) as number, by: "bad", error: expect.stringContaining("string") as string }]);
        expect(open.until).toBeGreaterThan(Date.now() + 3_000_000);
        expect(open.schema).toMatchObject({ type: "object" });
        await isSuspended(client, id);
        expect(await client.signal(id, "approval", { by: "ann" })).toEqual({ accepted: true });
        expect(await client.wait(id)).toMatchObject({ status: "completed", result: { by: "ann" } });
      },
    );

    promises(
      "publishes the schema of a wait only if it is small: a larger one checks the signal when the wait takes it",
      async (client) => {
        const of = (description: string): z.ZodObject => z.object({ by: z.string().describe(description) });
        const around = schemaOf(of(""), undefined)!.text.length;
        const fits = of("x".repeat(MAX_WAIT_SCHEMA_BYTES - around));
        const large = of("x".repeat(MAX_WAIT_SCHEMA_BYTES - around + 1));
        const id = await start(client, (ctx) => Promise.all([ctx.waitFor("a", { schema: fits }), ctx.waitFor("b", { schema: large })]));
        await isSuspended(client, id);
        expect(await stepOf(client, id, "a")).toMatchObject({ schema: { type: "object" } });
        expect(await stepOf(client, id, "b")).toMatchObject({ schema: null });
        expect(await client.signal(id, "b", { by: 7 })).toEqual({ accepted: true });
        await eventually(
          () => stepOf(client, id, "b"),
          ({ state, refused }) => state === "open" && refused.length === 1,
        );
        await isSuspended(client, id);
        for (const name of ["a", "b"]) expect(await client.signal(id, name, { by: "ann" })).toEqual({ accepted: true });
        expect(await client.wait(id)).toMatchObject({ result: [{ by: "ann" }, { by: "ann" }] });
      },
    );

    promises("goes on waiting after a signal whose error is long: the error is cut", async (client, { direct }) => {
      const long = `${"ä".repeat(700)}😀`.repeat(3);
      const schema = z.object({ by: z.string({ error: long }) });
      const id = await start(client, async (ctx) => ctx.waitFor("approval", { schema }), {}, { maxRetries: 0 });
      await isSuspended(client, id);
      for (const n of [1, 2]) {
        expect(await direct.signal(id, "approval", { by: n }, { id: `bad ${n}` })).toEqual({ accepted: true });
        const { refused } = await eventually(
          () => stepOf(client, id, "approval"),
          (step) => step.state === "open" && step.refused.length === n,
        );
        expect(Buffer.byteLength(refused.at(-1)!.error)).toBeLessThanOrEqual(MAX_REFUSAL_BYTES);
        expect(refused.at(-1)!.error).toMatch(/^payload\.by: ä{400,}$/);
        await isSuspended(client, id);
      }
      expect(await client.signal(id, "approval", { by: "ann" })).toEqual({ accepted: true });
      expect(await client.wait(id)).toMatchObject({ status: "completed", result: { by: "ann" } });
    });

    promises("is told why a called job failed, and may catch it", async (client) => {
      const id = await start(
        client,
        async (ctx) => {
          try {
            return await ctx.call("part", "part", null, { maxRetries: 0, tags: ["small"], runAt: new Date(Date.now() - 1000) });
          } catch (error) {
            const { step, status, error: cause } = error as CallFailed;
            return { isCallFailed: error instanceof CallFailed, step, status, message: cause.message };
          }
        },
        {
          part: () => {
            throw new Error("broken");
          },
        },
      );
      expect((await client.wait(id)).result).toEqual({ isCallFailed: true, step: "part", status: "dead", message: "broken" });
      const step = await stepOf(client, id, "part");
      expect(step).toMatchObject({
        state: "failed",
        value: null,
        error: { name: "Error", message: "broken", kind: "error", status: "dead" },
      });
      expect(await client.get(step.call!.id)).toMatchObject({ tags: ["small"], maxRetries: 0, status: "dead" });
    });

    promises("fails if a call is refused, with the reason", async (client) => {
      const id = await start(client, (ctx) => ctx.call("part", "no type!", null), {}, { maxRetries: 0 });
      const job = await client.wait(id);
      expect(job.status).toBe("dead");
      expect(job.error?.message).toContain("type");
    });

    promises("that waits for several things goes on at the first, and finds those that are still open", async (client) => {
      const id = await start(
        client,
        async (ctx) => {
          const first = ctx.call("slow", "slow");
          const [, slow] = await Promise.all([ctx.sleep("nap", "20ms"), first, ctx.waitFor("go")]);
          return slow;
        },
        { slow: () => ({ done: true }) },
      );
      await eventually(
        () => client.steps(id),
        (steps) => steps.filter(({ state }) => state === "done").length === 2,
      );
      await client.signal(id, "go");
      expect(await client.wait(id)).toMatchObject({ status: "completed", result: { done: true } });
      expect((await client.list({ type: "slow" })).jobs).toHaveLength(1);
    });

    promises("cannot make a link without the address and the secret of its server, and is told what to set", async (client) => {
      const id = await start(client, (ctx) => ctx.signalUrl("approval"), {}, { maxRetries: 0 });
      expect((await client.wait(id)).error?.message).toMatch(/PUBLIC_URL and SIGNAL_SECRET/);
    });

    promises("cannot keep more than fits", async (client) => {
      const id = await start(
        client,
        async (ctx) => {
          const large = "x".repeat(1_000_000);
          for (let index = 0; index < 9; index++) await ctx.step(`step ${index}`, () => large);
        },
        {},
        { maxRetries: 0 },
      );
      const job = await client.wait(id);
      expect(job.error?.message).toMatch(/step "step 8" does not fit: a job keeps at most 1000 steps, and 8 MiB/);
      expect(await client.steps(id)).toHaveLength(8);
    });

    promises("keeps at most 1,000 steps, also if its worker does not count: an attempt that waits for more has failed", async (client) => {
      const { id } = await client.enqueue("onboard", null, { maxRetries: 0 });
      const claim = { workerId: "w1", queues: ["default"], types: "*", limit: 1, leaseMs: 60_000, turn: 1, again: false } as const;
      const suspend = async (names: readonly string[]): Promise<unknown> => {
        // Some engines wake a job by the clock, others at once.
        const { jobs } = await eventually(
          () => client.leases.exchange([], claim),
          (answer) => answer.jobs.length === 1,
        );
        const waits = names.map((name) => ({ name, kind: "sleep", state: "open", value: null, untilMs: 0, detail: null }) as const);
        const report = { id, fence: jobs[0]!.fence, outcome: { kind: "suspend", waits, calls: [] } } as const;
        return (await client.leases.exchange([report], null)).results[0];
      };
      const names = Array.from({ length: MAX_STEPS }, (_, index) => `nap ${index}`);
      for (const some of [names.slice(0, 600), names.slice(600), names.slice(300, 700)]) expect(await suspend(some)).toBe("ok");
      expect(await suspend(["nap 7", "one more"])).toBe("ok");
      const job = await client.wait(id);
      expect(job).toMatchObject({ status: "dead", error: { message: expect.stringContaining('step "one more" does not fit') as string } });
      expect(await client.steps(id)).toHaveLength(MAX_STEPS);
    });

    promises("that is restarted hears nothing of the job that it called before", async (client) => {
      let isBroken = true;
      const id = await start(
        client,
        async (ctx) => {
          const part = ctx.call("part", "part");
          if (!isBroken) return part;
          await ctx.waitFor("break");
          throw new Error("broken");
        },
        { part: (ctx) => ctx.waitFor("go") },
        { maxRetries: 0 },
      );
      const called = (before?: string): Promise<JobStep> =>
        eventually(
          () => stepOf(client, id, "part"),
          (step?: JobStep) => step !== undefined && step.call!.id !== before,
        );
      const old = (await called()).call!.id;
      await client.signal(id, "break");
      expect((await client.wait(id)).status).toBe("dead");
      isBroken = false;
      await client.retry(id, { restart: true });
      const next = (await called(old)).call!.id;
      await client.signal(old, "go", "to the first life");
      expect((await client.wait(old)).parent).toEqual({ id, step: "part", life: 1 });
      await client.signal(next, "go", "to the second life");
      expect((await client.wait(next)).parent).toEqual({ id, step: "part", life: 2 });
      expect((await client.wait(id)).result).toBe("to the second life");
    });
  });

  describe("signals", () => {
    promises("that come early are kept; the first of a name counts, and a repeat of it is a success", async (client) => {
      const { id } = await client.enqueue("onboard");
      expect(await client.signal(id, "approval", { n: 1 }, { id: "s-1" })).toEqual({ accepted: true });
      expect(await client.signal(id, "approval", { n: 2 }, { id: "s-2" })).toEqual({ accepted: false, reason: "already_received" });
      expect(await client.signal(id, "approval", { n: 1 }, { id: "s-1" })).toEqual({ accepted: true });
      expect(await stepOf(client, id, "approval")).toMatchObject({ kind: "wait", state: "done", value: { n: 1 }, by: "s-1", attempt: 0 });
      client.work({ onboard: (_payload, ctx) => ctx.waitFor("approval") });
      expect((await client.wait(id)).result).toEqual({ n: 1 });
    });

    promises("may have any name and any JSON, which keeps its text", async (client) => {
      const { id } = await client.enqueue("onboard");
      const names = ["acme/eu", "50% off", "a b?c#d", "é✓", "signals", "...", '"q"', "\\", "x".repeat(128)];
      for (const name of names) expect(await client.signal(id, name)).toEqual({ accepted: true });
      const text = '{"n":12345678901234567890}';
      await client.signal(id, "large", new JsonText(text, JSON.parse(text)));
      expect((await client.steps(id)).map(({ name }) => name).sort()).toEqual([...names, "large"].sort());
      const value = valueOf(await stepOf(client, id, "large"));
      expect((value as JsonText).text).toBe(text);
    });

    promises("are refused by jobs that have ended, that do not exist, and with bad input", async (client) => {
      const { id } = await client.enqueue("onboard");
      const refused = (promise: Promise<unknown>): Promise<unknown> =>
        promise.then(
          () => "accepted",
          ({ code, field }: { code: string; field?: string }) => `${code} ${field ?? ""}`.trim(),
        );
      expect(await refused(client.signal(id, ""))).toBe("invalid_input name");
      expect(await refused(client.signal(id, "x".repeat(129)))).toBe("invalid_input name");
      expect(await refused(client.signal(id, "a\nb"))).toBe("invalid_input name");
      expect(await refused(client.signal(id, 7 as never))).toBe("invalid_input name");
      expect(await refused(client.signal(id, "go", 7n))).toBe("invalid_input payload");
      expect(await refused(client.signal(id, "go", "x".repeat(1024 * 1024)))).toBe("invalid_input payload");
      expect(await refused(client.signal(id, "go", 1, { id: "" }))).toBe("invalid_input id");
      expect(await refused(client.signal(id, "go", 1, { key: "a" } as never))).toBe("invalid_input key");
      expect(await refused(client.signal("7", "go"))).toBe("invalid_input id");
      expect(await refused(client.signal(MISSING_ID, "go"))).toBe("not_found");
      expect(await refused(client.steps(MISSING_ID))).toBe("not_found");
      expect(await client.steps(id)).toEqual([]);
      await client.cancel(id);
      expect(await refused(client.signal(id, "go"))).toBe("wrong_status status");
    });
  });

  describe("a suspended job", () => {
    promises("explains what it waits for, and tells it to those who listen", async (client) => {
      const heard: Event[] = [];
      const listening = new AbortController();
      const events = client.events({ signal: listening.signal });
      const reading = (async () => {
        for await (const event of events) heard.push(event);
      })();
      const id = await start(
        client,
        async (ctx) => {
          await Promise.all([
            ctx.sleep("nap", "1h"),
            ctx.waitFor("approval", { timeout: "2h" }),
            ctx.call("part", "part", null, { delay: "1h" }),
          ]);
        },
        { part: () => {} },
      );
      const { reasons } = await eventually(
        () => client.explain(id),
        (explained) => explained.reasons.length === 3,
      );
      const steps = await client.steps(id);
      const child = steps.find(({ kind }) => kind === "call")!.call!;
      expect(reasons.toSorted((a, b) => a.code.localeCompare(b.code))).toMatchObject([
        { code: "sleeps", step: "nap", until: steps.find(({ kind }) => kind === "sleep")!.until },
        { code: "waits_for_call", step: "part", jobId: child.id, type: "part" },
        { code: "waits_for_signal", step: "approval", until: steps.find(({ kind }) => kind === "wait")!.until },
      ]);
      await client.signal(id, "approval");
      await eventually(
        async () => heard,
        (all) => all.some(({ event }) => event === "job:resumed"),
      );
      const own = heard.filter((event) => "jobId" in event && event.jobId === id);
      const [suspended, resumed] = ["job:suspended", "job:resumed"].map((name) => own.find(({ event }) => event === name));
      expect(suspended).toMatchObject({ type: "onboard", queue: "default", steps: ["nap", "approval", "part"] });
      expect(resumed).toMatchObject({ step: "approval", type: "onboard" });
      expect(heard).toContainEqual(expect.objectContaining({ event: "job:created", jobId: child.id, type: "part", level: "default" }));
      await client.cancel(id);
      expect(await client.wait(child.id)).toMatchObject({ status: "cancelled" });
      listening.abort();
      await reading;
    });

    promises("that died keeps its steps when it is retried, and forgets them with restart", async (client) => {
      const ran: string[] = [];
      let isBroken = true;
      const id = await start(
        client,
        async (ctx) => {
          await ctx.step("one", () => void ran.push("one"));
          if (isBroken) throw new Error("no");
        },
        {},
        { maxRetries: 0 },
      );
      expect((await client.wait(id)).status).toBe("dead");
      await client.retry(id);
      expect((await client.wait(id)).status).toBe("dead");
      expect(ran).toEqual(["one"]);
      isBroken = false;
      await expect(client.retry(id, { restart: true, now: true })).rejects.toMatchObject({ code: "invalid_input", field: "restart" });
      await client.retry(id, { restart: true });
      expect((await client.wait(id)).status).toBe("completed");
      expect(ran).toEqual(["one", "one"]);
    });
  });
}
