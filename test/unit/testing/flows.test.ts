import { describe, expect, onTestFinished, test } from "vitest";
import { type Context, defineJob, Discard } from "../../../src/index.ts";
import { createTestClient, type TestClient } from "../../../src/testing/index.ts";

async function open(): Promise<TestClient> {
  const client = await createTestClient();
  onTestFinished(() => client.close());
  return client;
}

const NOTHING = { completed: 0, retried: 0, dead: 0, failed: 0, cancelled: 0, pending: 0, waiting: 0, blocked: 0 };
const report = defineJob<{ of: string }>({ type: "report", queue: "reports" });
const named = (_: unknown, ctx: Context): string => ctx.flow.name!;

describe("drain", () => {
  test("runs the members of a flow after each other, in any queue, at one moment", async () => {
    const client = await open();
    const ran: string[] = [];
    const flow = await client.flow([
      { name: "a", type: "task" },
      { name: "b", type: "task", after: "a", queue: "slow" },
      { name: "c", after: "b", ...report.job({ of: "b" }) },
      { name: "done", type: "task", after: "*" },
    ]);
    const startedAt = client.clock.now();
    expect(await client.drain({ "*": (_, ctx) => void ran.push(ctx.flow.name!) })).toEqual({ ...NOTHING, completed: 4 });
    expect(ran).toEqual(["a", "b", "c", "done"]);
    expect(await client.flows.get(flow.id)).toMatchObject({ status: "completed", completed: 4 });
    expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed" });
    expect(client.clock.now()).toBe(startedAt);
  });

  test("runs long chains and wide flows to their end", async () => {
    const client = await open();
    const chain = Array.from({ length: 60 }, (_, n) => ({ name: `c${n}`, type: "task", after: n === 0 ? [] : [`c${n - 1}`] }));
    const wide = Array.from({ length: 300 }, (_, n) => ({ name: `w${n}`, type: "task" }));
    const flow = await client.flow([...chain, ...wide, { name: "done", type: "task", after: "*" }]);
    expect(await client.drain({ task: named })).toEqual({ ...NOTHING, completed: 361 });
    expect((await client.flows.get(flow.id))!.status).toBe("completed");
  });

  test("runs what a member adds", async () => {
    const client = await open();
    const flow = await client.flow([
      { name: "scan", type: "scan" },
      { name: "done", type: "task", after: "*" },
    ]);
    const summary = await client.drain({
      scan: (_, ctx) => ctx.flow.add(["x", "y"].map((name) => ({ name, type: "task", after: "scan" }))),
      task: named,
    });
    expect(summary).toEqual({ ...NOTHING, completed: 4 });
    expect((await client.flows.get(flow.id))!).toMatchObject({ status: "completed", members: 4 });
  });

  test("counts what a bad end cancelled, and runs what a retry revives", async () => {
    const client = await open();
    let isBroken = true;
    const handlers = {
      task: (_: unknown, ctx: Context) => {
        if (isBroken && ctx.flow.name === "a") throw new Discard("broken");
      },
    };
    const flow = await client.flow([
      { name: "a", type: "task" },
      { name: "b", type: "task", after: "a" },
      { name: "c", type: "task", after: "b" },
    ]);
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, dead: 1, cancelled: 2 });
    expect((await client.flows.get(flow.id))!.status).toBe("failed");
    isBroken = false;
    await client.flows.retry(flow.id);
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 3 });
    expect((await client.flows.get(flow.id))!.status).toBe("completed");
  });

  test("with advance jumps over the delays of members; a member that waits is counted as blocked", async () => {
    const client = await open();
    const flow = await client.flow([
      { name: "a", type: "task" },
      { name: "later", type: "task", after: "a", delay: "2d" },
      { name: "asks", type: "asks", after: "later" },
    ]);
    const handlers = { task: named, asks: (_: unknown, ctx: Context) => ctx.waitFor("approval") };
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1, waiting: 1, blocked: 1 });
    expect(await client.drain(handlers, { advance: "7d" })).toEqual({ ...NOTHING, completed: 1, blocked: 1 });
    await client.signal(flow.jobs.asks!, "approval", { by: "ann" });
    expect(await client.drain(handlers)).toEqual({ ...NOTHING, completed: 1 });
    expect((await client.flows.get(flow.id))!.status).toBe("completed");
  });

  test("uses started workers, too", async () => {
    const client = await open();
    client.work({ task: named });
    await client.flow([
      { name: "a", type: "task" },
      { name: "b", type: "task", after: "a" },
    ]);
    expect(await client.drain()).toEqual({ ...NOTHING, completed: 2 });
  });
});

describe("enqueued", () => {
  test("has the members, as they were when the flow was made, and not the flow itself", async () => {
    const client = await open();
    const flow = await client.flow([
      { name: "a", type: "task", payload: { n: 1 }, tags: ["x"] },
      { name: "b", after: "a", ...report.job({ of: "a" }) },
    ]);
    const other = await client.flow([{ name: "a", type: "task" }]);
    expect(client.enqueued()).toHaveLength(3);
    expect(client.assertEnqueued({ type: report, payload: { of: "a" } })).toMatchObject({
      id: flow.jobs.b,
      status: "blocked",
      queue: "reports",
      flow: { id: flow.id, name: "b" },
      parent: null,
    });
    expect(client.assertEnqueued({ type: "task", tag: "x", flow: flow.id })).toMatchObject({ status: "pending", id: flow.jobs.a });
    expect(client.enqueued({ flow: other.id }).map(({ id }) => id)).toEqual([other.jobs.a]);
    client.assertNotEnqueued({ type: report, flow: other.id });
    expect(() => client.assertEnqueued({ type: report, flow: other.id })).toThrow(`no job of type report in flow ${other.id} was enqueued`);
    expect(() => client.enqueued({ flow: "nobody" })).toThrow("flow must be");
    expect(client.enqueued({ calledBy: flow.id })).toEqual([]);
  });
});

describe("transactions", () => {
  test("a flow appears with its members when the function returns, and never if it throws", async () => {
    const client = await open();
    const members = [
      { name: "a", type: "task" },
      { name: "b", type: "task", after: "a" },
    ];
    const tx = {};
    const made = await client.transaction(async () => {
      const flow = await client.flow(members, { tx, key: "order-42" });
      expect(await client.flows.get(flow.id)).toBeNull();
      expect(flow).toMatchObject({ created: true, status: "running", members: 2, open: 2 });
      return flow;
    });
    await expect(
      client.transaction(async () => {
        await client.flow(members, { tx, key: "order-43" });
        throw new Error("out of stock");
      }),
    ).rejects.toThrow("out of stock");
    expect(await client.drain({ task: named })).toEqual({ ...NOTHING, completed: 2 });
    expect((await client.flows.list()).flows.map(({ id }) => id)).toEqual([made.id]);
    expect(new Set(client.enqueued().map(({ flow }) => flow?.name))).toEqual(new Set(["a", "b"]));
    expect(client.enqueued()).toHaveLength(2);
  });

  test("the same key twice in one transaction is one flow", async () => {
    const client = await open();
    const members = [{ name: "a", type: "task" }];
    const tx = {};
    await client.transaction(async () => {
      const first = await client.flow(members, { tx, key: "order-42" });
      expect(await client.flow(members, { tx, key: "order-42" })).toMatchObject({ id: first.id, created: false, jobs: first.jobs });
    });
    expect((await client.flows.list()).flows).toHaveLength(1);
  });
});
