// What the compiler tells users of durable work. The calls are only compiled, as in client.test.ts.

import { expectTypeOf, test } from "vitest";
import * as z from "zod";
import { type CallOptions, type Client, type Context, defineJob, type JobStep, type SignalAnswer } from "../../src/index.ts";
import type { TestClient } from "../../src/testing/index.ts";

const render = defineJob({
  type: "render",
  input: z.object({ n: z.string(), size: z.coerce.number<number | string>() }),
  output: z.object({ file: z.string() }),
});
const told = defineJob<{ to: string }, { sent: boolean }>({ type: "told" });
const plain = defineJob({ type: "plain" });

function compiled(_calls: (ctx: Context, client: Client, test: TestClient) => unknown): void {}

test("a step resolves with what its function returns, awaited", () => {
  compiled(async (ctx) => {
    expectTypeOf(await ctx.step("a", () => ({ id: 7 }))).toEqualTypeOf<{ id: number }>();
    expectTypeOf(await ctx.step("b", async () => "text")).toEqualTypeOf<string>();
    expectTypeOf(await ctx.step("c", () => {})).toEqualTypeOf<void>();
    // @ts-expect-error -- a step has a function
    await ctx.step("d");
    // @ts-expect-error -- a step has a name
    await ctx.step(() => 1);
  });
});

test("sleeps take times", () => {
  compiled(async (ctx) => {
    expectTypeOf(await ctx.sleep("a", "3d")).toEqualTypeOf<void>();
    await ctx.sleep("b", 1000);
    await ctx.sleepUntil("c", new Date());
    // @ts-expect-error -- no unit has this name
    await ctx.sleep("d", "3 moons");
  });
});

test("a wait resolves with the output of its schema, or with null", () => {
  compiled(async (ctx) => {
    const schema = z.object({ by: z.string(), at: z.coerce.number<string>() });
    expectTypeOf(await ctx.waitFor("a", { timeout: "7d", schema })).toEqualTypeOf<{ by: string; at: number } | null>();
    expectTypeOf(await ctx.waitFor("b")).toEqualTypeOf<unknown>();
    expectTypeOf(await ctx.waitFor("c", { timeout: "1h" })).toEqualTypeOf<unknown>();
    // @ts-expect-error -- there is no such option
    await ctx.waitFor("d", { within: "1h" });
  });
});

test("a call of a definition checks the payload, and has the result that its schema makes", () => {
  compiled(async (ctx) => {
    expectTypeOf(await ctx.call("a", render, { n: "a", size: "5" })).toEqualTypeOf<{ file: string }>();
    expectTypeOf(await ctx.call("b", told, { to: "ann" }, { queue: "mail" })).toEqualTypeOf<{ sent: boolean }>();
    expectTypeOf(await ctx.call("c", "by-name", { any: 1 })).toEqualTypeOf<unknown>();
    expectTypeOf(await Promise.all([1, 2].map((n) => ctx.call(`p${n}`, render, { n: "x", size: n })))).toEqualTypeOf<{ file: string }[]>();
    await ctx.call("d", plain);
    // @ts-expect-error -- n is a text
    await ctx.call("e", render, { n: 7, size: 5 });
    // @ts-expect-error -- the payload is missing
    await ctx.call("f", render);
    // @ts-expect-error -- the step is the key of a call
    await ctx.call("g", told, { to: "ann" }, { idempotencyKey: "k" });
  });
  expectTypeOf<CallOptions>().not.toHaveProperty("idempotencyKey");
});

test("signals and steps of a client", () => {
  compiled(async (ctx, client) => {
    expectTypeOf(await client.signal("id", "approval", { by: "ann" }, { id: "s1" })).toEqualTypeOf<SignalAnswer>();
    const answer = await client.signal("id", "approval");
    if (!answer.accepted) expectTypeOf(answer.reason).toEqualTypeOf<"already_received" | "timed_out">();
    expectTypeOf(await client.steps("id")).toEqualTypeOf<JobStep[]>();
    expectTypeOf(await ctx.signalUrl("approval", { ttl: "7d", payload: { ok: true } })).toEqualTypeOf<string>();
    await client.retry("id", { restart: true });
    // @ts-expect-error -- there is no such option
    await client.signal("id", "approval", null, { key: "s1" });
  });
});

test("answers for calls in tests have the payload and the result of the definition", () => {
  compiled((_ctx, _client, client) => {
    client.resolveCalls(render, ({ n, size }, job) => {
      expectTypeOf(n).toEqualTypeOf<string>();
      expectTypeOf(size).toEqualTypeOf<number | string>();
      expectTypeOf(job.id).toEqualTypeOf<string>();
      return { file: "a.png" };
    });
    client.resolveCalls("by-name", async (payload: { n: string }) => payload.n);
    // @ts-expect-error -- file is a text
    client.resolveCalls(render, () => ({ file: 7 }));
  });
});
