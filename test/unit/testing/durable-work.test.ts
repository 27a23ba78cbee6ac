import { readFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { CallFailed, defineJob } from "../../../src/index.ts";
import { createTestClient, type TestClient } from "../../../src/testing/index.ts";
import { strayRejections } from "../stray-rejections.ts";

async function open(): Promise<TestClient> {
  const client = await createTestClient();
  onTestFinished(() => client.close());
  return client;
}

const NOTHING = { completed: 0, retried: 0, dead: 0, failed: 0, cancelled: 0, pending: 0, waiting: 0, blocked: 0 };
const render = defineJob({ type: "render", queue: "renders", input: z.object({ n: z.string() }), output: z.object({ file: z.string() }) });

describe("drain", () => {
  test("waits for the work of a handler that has won a race, and for nothing behind a part of a Promise.all", async () => {
    const client = await open();
    const handlers = {
      race: async (_: unknown, ctx: Parameters<Parameters<typeof render.handle>[0]>[1]) => {
        await Promise.race([ctx.waitFor("stop"), ctx.sleep("rest", "1h")]);
        return (await readFile(import.meta.filename, "utf8")).length > 0;
      },
      all: (_: unknown, ctx: Parameters<Parameters<typeof render.handle>[0]>[1]) => Promise.all([ctx.waitFor("a"), ctx.waitFor("b")]),
    };
    const race = await client.enqueue("race");
    const all = await client.enqueue("all");
    await client.drain(handlers, { advance: "1h" });
    expect(await client.get(race.id)).toMatchObject({ status: "completed", result: true });
    const before = client.clock.now();
    await client.signal(all.id, "a", 1);
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, blocked: 1 });
    expect(client.clock.now()).toBe(before);
    await client.signal(all.id, "b", 2);
    await client.drain(handlers);
    expect(await client.get(all.id)).toMatchObject({ status: "completed", result: [1, 2] });
  });

  test("stops at sleeps, since time does not pass, and goes on when it has", async () => {
    const client = await open();
    const ran: string[] = [];
    const handlers = {
      onboarding: async (_: unknown, ctx: Parameters<Parameters<typeof render.handle>[0]>[1]) => {
        await ctx.step("create", () => ran.push("create"));
        await ctx.sleep("three days", "3d");
        await ctx.step("remind", () => ran.push("remind"));
      },
    };
    await client.enqueue("onboarding");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, waiting: 1 });
    expect(ran).toEqual(["create"]);
    await client.clock.advance("3d");
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1 });
    expect(ran).toEqual(["create", "remind"]);
  });

  test("with advance jumps over sleeps, timeouts, delays and retries, no further than it must", async () => {
    const client = await open();
    const startedAt = client.clock.now();
    let failures = 2;
    const { id } = await client.enqueue("long", null, { delay: "1d" });
    const summary = await client.drain(
      {
        long: async (_, ctx) => {
          await ctx.sleep("nap", "3d");
          if (failures-- > 0) throw new Error("once more");
          return [await ctx.waitFor("never", { timeout: "7d" }), ctx.job.attempt];
        },
      },
      { advance: "30d" },
    );
    expect(summary).toEqual({ ...NOTHING, completed: 1, retried: 2 });
    expect(await client.get(id)).toMatchObject({ status: "completed", result: [null, 3] });
    expect(client.clock.now() - startedAt).toBe(11 * 86_400_000 + 1000 + 2000);
  });

  test("with advance goes no further than it may", async () => {
    const client = await open();
    const handlers = { long: (_: unknown, ctx: { sleep(name: string, time: string): Promise<void> }) => ctx.sleep("nap", "3d") };
    await client.enqueue("long");
    expect(await client.drain(handlers as never, { advance: "2d" })).toEqual({ ...NOTHING, waiting: 1 });
    expect(await client.drain(handlers as never, { advance: "3d" })).toEqual({ ...NOTHING, completed: 1 });
  });

  test("refuses options that it does not know", async () => {
    const client = await open();
    await expect(client.drain({}, { advanced: "1d" } as never)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(client.drain({}, { advance: "soon" as never })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("with advance uses started workers, too", async () => {
    const client = await open();
    client.work({ long: (_, ctx) => ctx.sleep("nap", "1h") });
    await client.enqueue("long");
    expect(await client.drain(undefined, { advance: "1d" })).toEqual({ ...NOTHING, completed: 1 });
  });

  test("runs called jobs in any queue, and their callers go on, at the same moment", async () => {
    const client = await open();
    const { id } = await client.enqueue("parent");
    const startedAt = client.clock.now();
    const summary = await client.drain({
      parent: async (_, ctx) => Promise.all(["a", "b"].map((n) => ctx.call(`render ${n}`, render, { n }))),
      render: ({ n }: { n: string }) => ({ file: `${n}.png` }),
    });
    expect(summary).toEqual({ ...NOTHING, completed: 3 });
    expect(await client.get(id)).toMatchObject({ result: [{ file: "a.png" }, { file: "b.png" }] });
    expect(client.clock.now()).toBe(startedAt);
  });

  test("ends when what is left waits for a signal, or for a job that nobody handles", async () => {
    const client = await open();
    const handlers = {
      waits: async (_: unknown, ctx: Parameters<Parameters<typeof render.handle>[0]>[1]) => ctx.waitFor("approval"),
      calls: async (_: unknown, ctx: Parameters<Parameters<typeof render.handle>[0]>[1]) => ctx.call("child", "nobody", null),
    };
    const { id } = await client.enqueue("waits");
    await client.enqueue("calls");
    expect(await client.drain(handlers, { advance: "365d" })).toEqual({ ...NOTHING, pending: 1, blocked: 2 });
    expect(await client.signal(id, "approval", { by: "ann" })).toEqual({ accepted: true });
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1, pending: 1, blocked: 1 });
    expect(await client.get(id)).toMatchObject({ result: { by: "ann" } });
  });
});

describe("resolveCalls", () => {
  const parent = defineJob<{ names: string[] }>({ type: "parent" });
  const handled = parent.handle(async ({ names }, ctx) => {
    try {
      return await Promise.all(names.map((n) => ctx.call(`render ${n}`, render, { n }, { tags: [n] })));
    } catch (error) {
      return error instanceof CallFailed ? [error.step, error.status, error.error.name, error.error.message] : "another error";
    }
  });

  test("gives the results of calls without the called jobs", async () => {
    const client = await open();
    client.resolveCalls(render, ({ n }, job) => ({ file: `${n}.${job.queue}`, more: 1 }));
    const { id } = await client.enqueue(parent, { names: ["a", "b"] });
    expect(await client.drain([handled])).toEqual({ ...NOTHING, completed: 1 });
    expect(await client.get(id)).toMatchObject({ result: [{ file: "a.renders" }, { file: "b.renders" }] });
    expect((await client.list({ type: "render" })).jobs).toEqual([]);
  });

  test("takes an asynchronous answer, and what it throws is the failure of the call, at once", async () => {
    const client = await open();
    client.resolveCalls("render", async ({ n }: { n: string }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (n === "b") throw new TypeError("no paper");
      return { file: n };
    });
    const { id } = await client.enqueue(parent, { names: ["a", "b"] });
    await client.drain([handled]);
    expect(await client.get(id)).toMatchObject({ result: ["render b", "dead", "TypeError", "no paper"] });
  });

  test("refuses a result that does not fit the definition, as its worker would", async () => {
    const client = await open();
    client.resolveCalls(render, () => ({ file: 7 }) as never);
    const { id } = await client.enqueue(parent, { names: ["a"] });
    await client.drain([handled]);
    expect(await client.get(id)).toMatchObject({
      result: ["render a", "dead", "InvalidResult", expect.stringContaining("result.file") as string],
    });
  });

  test("leaves jobs of the type that were enqueued to their handlers", async () => {
    const client = await open();
    client.resolveCalls(render, () => ({ file: "resolved" }));
    const { id } = await client.enqueue(render, { n: "a" });
    expect(await client.drain([render.handle(() => ({ file: "handled" }))])).toEqual({ ...NOTHING, completed: 1 });
    expect(await client.get(id)).toMatchObject({ result: { file: "handled" } });
  });

  test("is asked again when a retry of the caller calls again", async () => {
    const client = await open();
    let isBroken = true;
    client.resolveCalls("child", () => {
      if (isBroken) throw new Error("broken");
      return "repaired";
    });
    const handlers = { caller: (_: unknown, ctx: Parameters<Parameters<typeof render.handle>[0]>[1]) => ctx.call("child", "child", null) };
    const { id } = await client.enqueue("caller", null, { maxRetries: 0 });
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, dead: 1 });
    isBroken = false;
    await client.retry(id);
    await client.drain(handlers);
    expect(await client.get(id)).toMatchObject({ status: "completed", result: "repaired" });
  });

  test("an answer that comes after the client was closed is lost, and no unhandled rejection", async () => {
    const client = await createTestClient();
    const answer = Promise.withResolvers<unknown>();
    const called = Promise.withResolvers<void>();
    client.resolveCalls("child", () => {
      called.resolve();
      return answer.promise;
    });
    client.work({ parent: (_, ctx) => ctx.call("child", "child", null) });
    await client.enqueue("parent");
    await called.promise;
    await client.close();
    const strays = strayRejections();
    answer.resolve(1);
    expect(await strays()).toEqual([]);
  });

  test("refuses what is no function", async () => {
    const client = await open();
    expect(() => client.resolveCalls("render", { file: "x" } as never)).toThrow("answer must be a function");
    expect(() => client.resolveCalls("", () => 1)).toThrow("type must be");
  });

  test("called jobs are among the enqueued ones, resolved or not, and once", async () => {
    const client = await open();
    client.resolveCalls(render, () => ({ file: "x" }));
    const { id } = await client.enqueue(parent, { names: ["a", "b"] });
    await client.drain([handled]);
    const called = client.assertEnqueued({ type: render, payload: { n: "b" }, tag: "b", calledBy: id });
    expect(called).toMatchObject({ queue: "renders", parent: { id, step: "render b" }, status: "pending" });
    expect(client.enqueued({ calledBy: id })).toHaveLength(2);
    client.assertNotEnqueued({ type: render, payload: { n: "c" } });
    expect(() => client.assertEnqueued({ type: "parent", calledBy: id })).toThrow(`no job of type parent called by ${id} was enqueued`);
    expect(() => client.enqueued({ calledBy: "nobody" })).toThrow("id must be the id of a job");

    const { id: unresolved } = await client.enqueue("plain");
    await client.drain({ plain: (_, ctx) => ctx.call("later", "mail", { to: "ann" }, { delay: "1h" }) });
    expect(client.assertEnqueued({ type: "mail", calledBy: unresolved })).toMatchObject({ status: "scheduled", payload: { to: "ann" } });
  });
});

test("a step that is tested alone runs at once, and its context can be taken apart", async () => {
  const client = await open();
  const { id } = await client.enqueue("t");
  await client.drain({ t: async (_, { step }) => step("one", async () => 1) });
  expect(await client.steps(id)).toMatchObject([{ name: "one", kind: "step", state: "done", value: 1 }]);
});
