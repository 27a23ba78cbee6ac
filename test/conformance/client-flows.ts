import { describe, expect } from "vitest";
import type { Client, Context, CreatedFlow, Flow, FlowMemberInput, Handler, MemberOutcome } from "../../src/client/client.ts";
import { defineJob } from "../../src/client/define-job.ts";
import { Discard } from "../../src/core/control-errors.ts";
import { MAX_FLOW_CALL } from "../../src/core/flow.ts";
import type { Event } from "../../src/core/event.ts";
import type { Status } from "../../src/core/job.ts";
import { MAX_BATCH } from "../../src/core/work-limits.ts";
import { MISSING_ID } from "../unit/http/open-api.ts";
import type { Promises } from "./client.ts";

/** What ran, in order, and what it does. A type without a script completes. */
class Script {
  readonly ran: string[] = [];
  readonly #does = new Map<string, Handler>();

  on(name: string, run: Handler): this {
    this.#does.set(name, run);
    return this;
  }

  /** Fails for good as often as this. */
  dies(name: string, times = 1): this {
    let left = times;
    return this.on(name, () => {
      if (left-- > 0) throw new Discard(`${name} broke`);
      return name;
    });
  }

  work(client: Client, queues = ["default"]): void {
    client.work({ "*": (payload, ctx) => this.#run(payload, ctx) }, { concurrency: 5, queues });
  }

  async #run(payload: unknown, ctx: Context): Promise<unknown> {
    const name = ctx.flow.name!;
    this.ran.push(name);
    return (this.#does.get(name) ?? (() => name))(payload, ctx);
  }
}

const member = (name: string, after: string | readonly string[] = [], rest: Partial<FlowMemberInput> = {}): FlowMemberInput => ({
  name,
  type: "task",
  payload: { name },
  after,
  ...rest,
});

async function eventually<Answer>(read: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await read();
    if (isDone(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function untilStatus(client: Client, flow: CreatedFlow, name: string, status: Status): Promise<unknown> {
  return eventually(
    () => client.get(flow.jobs[name]!),
    (job) => job?.status === status,
  );
}

function untilFlow(client: Client, id: string, isDone: (flow: Flow) => boolean): Promise<Flow> {
  return eventually(() => client.flows.get(id) as Promise<Flow>, isDone);
}

export function flowSuite(promises: Promises): void {
  describe("flows", () => {
    promises("run their members after each other, each once, and hand results on", async (client) => {
      const script = new Script()
        .on("fetch", () => ({ rows: 3 }))
        .on("a", async (_, ctx) => ((await ctx.flow.results()).fetch as { rows: number }).rows + 1)
        .on("report", async (_, ctx) => ctx.flow.results())
        .on("done", async (_, ctx) => Object.keys(await ctx.flow.results()).sort());
      const flow = await client.flow([
        member("fetch"),
        member("a", "fetch"),
        member("b", ["fetch"], { queue: "slow" }),
        member("report", ["a", "b"]),
        member("done", "*"),
      ]);
      expect(flow).toMatchObject({ status: "running", members: 5, open: 5, completed: 0, created: true, key: null, endedAt: null });
      expect((await client.get(flow.jobs.report!))!).toMatchObject({
        status: "blocked",
        flow: { id: flow.id, name: "report" },
        parent: null,
        facets: null,
      });
      expect((await client.get(flow.jobs.fetch!))!.status).toBe("pending");
      script.work(client, ["default", "slow"]);
      const ended = await client.flows.wait(flow.id);
      expect(ended).toMatchObject({ id: flow.id, status: "completed", completed: 5, failed: 0, cancelled: 0, open: 0 });
      expect(ended.endedAt).toBeGreaterThanOrEqual(ended.createdAt);
      expect(script.ran.toSorted()).toEqual(["a", "b", "done", "fetch", "report"]);
      expect([script.ran[0], script.ran[3], script.ran[4]]).toEqual(["fetch", "report", "done"]);
      expect((await client.get(flow.jobs.report!))!.result).toEqual({ a: 4, b: "b" });
      expect((await client.get(flow.jobs.done!))!.result).toEqual(["a", "b", "fetch", "report"]);
    });

    promises("a single member, and members that all wait for all others, run", async (client) => {
      new Script().work(client);
      const [one, last] = [await client.flow([member("only")]), await client.flow([member("x", "*"), member("y", "*")])];
      expect((await client.flows.wait(one.id)).status).toBe("completed");
      expect(await client.flows.wait(last.id)).toMatchObject({ status: "completed", completed: 2 });
    });

    promises("a bad end cancels what waits for it, downwards, with the cause; the callback too", async (client) => {
      const script = new Script().dies("a");
      script.work(client);
      const flow = await client.flow([member("a"), member("b", "a"), member("c", "b"), member("free"), member("done", "*")]);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "failed", completed: 1, failed: 1, cancelled: 3, open: 0 });
      expect(script.ran.toSorted()).toEqual(["a", "free"]);
      const b = (await client.get(flow.jobs.b!))!;
      expect(b).toMatchObject({ status: "cancelled", error: { name: "PredecessorFailed", kind: "cancelled" } });
      expect(b.error!.message).toContain('"a" ended dead');
      expect((await client.get(flow.jobs.c!))!.error!.message).toContain('"b" ended cancelled');
    });

    promises("a member that runs in any case sees the outcome", async (client) => {
      const seen: (MemberOutcome | null)[] = [];
      const script = new Script().dies("a").on("b", async (_, ctx) => {
        seen.push(await ctx.flow.outcome("a"), await ctx.flow.outcome("nobody"));
        return ctx.flow.results();
      });
      script.work(client);
      const flow = await client.flow([member("a"), member("b", "a", { onFailure: "run" }), member("c", "b")]);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "failed", completed: 2, failed: 1 });
      expect(seen).toEqual([
        { name: "a", status: "dead", result: null, error: { name: "Discard", message: "a broke", kind: "error", status: "dead" } },
        null,
      ]);
      expect((await client.get(flow.jobs.b!))!.result).toEqual({});
    });

    promises("a member that waits does so until somebody retries what it waits for", async (client) => {
      const script = new Script().dies("a");
      script.work(client);
      const flow = await client.flow([member("a"), member("b", "a", { onFailure: "wait" }), member("c", "b")]);
      expect(await untilFlow(client, flow.id, ({ stuck }) => stuck.count > 0)).toMatchObject({
        status: "running",
        stuck: { count: 1, names: ["b"] },
        failed: 1,
      });
      const { reasons } = await client.explain(flow.jobs.b!);
      expect(reasons[0]).toMatchObject({ code: "waits_for_members", flowId: flow.id, names: ["a"] });
      await client.retry(flow.jobs.a!);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed", completed: 3, stuck: { count: 0, names: [] } });
      expect(script.ran).toEqual(["a", "a", "b", "c"]);
    });

    promises("a callback is stuck no more once a member is added that it waits for, too", async (client) => {
      new Script().dies("a").work(client);
      const flow = await client.flow([member("a"), member("done", "*", { onFailure: "wait" })]);
      await untilFlow(client, flow.id, ({ stuck }) => stuck.count > 0);
      await client.flows.add(flow.id, [member("b", [], { delay: "1h" })]);
      expect((await client.flows.get(flow.id))!.stuck).toEqual({ count: 0, names: [] });
    });

    promises("a retry by hand revives what its death had cancelled, and nothing runs twice that completed", async (client) => {
      const script = new Script().dies("a").dies("x");
      script.work(client);
      const flow = await client.flow([
        member("a"),
        member("x"),
        member("ok"),
        member("b", ["a", "ok"]),
        member("both", ["b", "x"]),
        member("done", "*"),
      ]);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "failed", failed: 2, cancelled: 3, completed: 1 });
      await client.retry(flow.jobs.a!);
      await untilStatus(client, flow, "b", "completed");
      // One of its predecessors is still dead.
      const again = await untilFlow(client, flow.id, ({ status }) => status === "failed");
      expect(again).toMatchObject({ completed: 3, failed: 1, cancelled: 2 });
      const revived = await client.flows.retry(flow.id);
      expect(revived.status).not.toBe("failed");
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed", completed: 6, failed: 0, cancelled: 0 });
      expect(script.ran.toSorted()).toEqual(["a", "a", "b", "both", "done", "ok", "x", "x"]);
      await expect(client.flows.retry(flow.id)).rejects.toMatchObject({ code: "wrong_status" });
    });

    promises("a retry makes a member anew whose job was removed", async (client) => {
      const script = new Script().dies("a");
      script.work(client);
      const flow = await client.flow([member("a"), member("b", "a", { onFailure: "wait" }), member("c", "a")]);
      await untilFlow(client, flow.id, ({ stuck, cancelled }) => stuck.count === 1 && cancelled === 1);
      await client.remove(flow.jobs.a!);
      await client.remove(flow.jobs.c!);
      const { members } = await client.flows.members(flow.id);
      expect(members.find(({ name }) => name === "a")).toMatchObject({ status: "dead", error: { message: "a broke" } });
      await client.flows.retry(flow.id);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed", completed: 3 });
      expect(script.ran.toSorted()).toEqual(["a", "a", "b", "c"]);
      expect((await client.list({ flow: flow.id })).jobs.map((job) => job.flow!.name).toSorted()).toEqual(["a", "b", "c"]);
    });

    promises("cancelling a flow cancels all members that have not ended; a repeat succeeds; a retry goes on", async (client) => {
      const gate = Promise.withResolvers<void>();
      const script = new Script().on("a", (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", resolve)));
      script.work(client);
      const flow = await client.flow([member("a"), member("b", "a"), member("later", [], { delay: "1h" })]);
      await untilStatus(client, flow, "a", "running");
      await client.flows.cancel(flow.id, { reason: "enough" });
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "cancelled", cancelled: 3, open: 0 });
      expect(await client.flows.cancel(flow.id)).toMatchObject({ status: "cancelled" });
      expect(await client.changes(flow.jobs.later!)).toMatchObject([{ action: "cancelled", reason: "enough" }]);
      script.on("a", () => gate.promise);
      await client.flows.retry(flow.id);
      gate.resolve();
      await untilStatus(client, flow, "b", "completed");
      await client.cancel(flow.jobs.later!);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "failed", completed: 2, cancelled: 1 });
      await expect(client.flows.cancel(flow.id)).rejects.toMatchObject({ code: "wrong_status" });
    });

    promises("a retry of a cancelled flow takes all its members, however many", async (client) => {
      const many = MAX_BATCH + 1;
      const flow = await client.flow(Array.from({ length: many }, (_, index) => member(`m${index}`, [], { delay: "1h" })));
      new Script().work(client);
      await client.flows.cancel(flow.id);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "cancelled", cancelled: many });
      expect(await client.flows.retry(flow.id)).toMatchObject({ status: "running", cancelled: 0, open: many });
    });

    promises("a member by hand: cancelled it counts as a bad end, and its flow has no road of its own", async (client) => {
      new Script().work(client);
      const flow = await client.flow([member("a", [], { delay: "1h" }), member("b", "a")]);
      await client.cancel(flow.jobs.a!);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "failed", cancelled: 2 });
      await expect(client.cancel(flow.id)).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining("flows.cancel"),
      });
      await expect(client.retry(flow.id)).rejects.toMatchObject({ code: "invalid_input", message: expect.stringContaining("flows.retry") });
    });

    promises("a key makes one flow of two calls, and another flow with it is refused", async (client) => {
      const members = [member("a"), member("b", "a")];
      const first = await client.flow(members, { key: "import-42" });
      const second = await client.flow(members, { key: "import-42" });
      expect(second).toMatchObject({ id: first.id, created: false, jobs: first.jobs, key: "import-42" });
      await expect(client.flow([member("a")], { key: "import-42" })).rejects.toMatchObject({ code: "key_conflict", field: "key" });
      expect((await client.list({ flow: first.id })).jobs).toHaveLength(2);
    });

    promises("a running member adds more, once, however often it runs", async (client) => {
      let runs = 0;
      const script = new Script().on("scan", async (_, ctx) => {
        const found = ["p1", "p2"].map((name) => member(name, "scan"));
        const jobs = await ctx.flow.add([...found, member("sum", ["p1", "p2"])]);
        if (++runs === 1) throw new Error("died after it added");
        return jobs;
      });
      script.work(client);
      const flow = await client.flow([member("scan", [], { maxRetries: 1, retryDelay: 1 }), member("done", "*")]);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed", members: 5, completed: 5 });
      expect(script.ran.filter((name) => name !== "scan").toSorted()).toEqual(["done", "p1", "p2", "sum"]);
      expect(script.ran.slice(-2)).toEqual(["sum", "done"]);
      await expect(client.flows.add(flow.id, [member("late")])).rejects.toMatchObject({ code: "wrong_status" });
      await expect(client.flows.add(MISSING_ID, [member("late")])).rejects.toMatchObject({ code: "not_found" });
    });

    promises("what is added to a flow waits for what is there, judged by how that ended", async (client) => {
      const script = new Script()
        .dies("bad")
        .on("gate", (_, ctx) => new Promise((resolve) => ctx.signal.addEventListener("abort", resolve)));
      script.work(client);
      const flow = await client.flow([member("bad"), member("good"), member("gate")]);
      await untilFlow(client, flow.id, ({ failed, completed }) => failed === 1 && completed === 1);
      const jobs = await client.flows.add(flow.id, [member("x", "good"), member("y", "bad"), member("z", ["good", "gate"])]);
      await untilStatus(client, { ...flow, jobs }, "x", "completed");
      await untilStatus(client, { ...flow, jobs }, "y", "cancelled");
      expect((await client.get(jobs.z!))!.status).toBe("blocked");
      expect(await client.flows.add(flow.id, [member("x", "good")])).toEqual({ x: jobs.x });
      await expect(client.flows.add(flow.id, [member("x", "good", { payload: 1 })])).rejects.toMatchObject({ code: "key_conflict" });
      await client.flows.cancel(flow.id);
      expect((await client.flows.wait(flow.id)).status).toBe("cancelled");
    });

    promises("nothing that is added can wait for what waits for it, nor too many for one", async (client) => {
      const flow = await client.flow([member("a", [], { delay: "1h" }), member("done", "*")]);
      await expect(client.flows.add(flow.id, [member("x", "done")])).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining("x → done → x"),
      });
      const many = (from: number): FlowMemberInput[] => Array.from({ length: 6_000 }, (_, index) => member(`n${from + index}`, "a"));
      await client.flows.add(flow.id, many(0));
      await expect(client.flows.add(flow.id, many(6_000))).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining("10000"),
      });
      expect(await client.flows.get(flow.id)).toMatchObject({ members: 6_002, status: "running" });
    });

    promises("that is created again under its id runs nothing twice, and nothing that is not in it", async (client) => {
      const script = new Script();
      script.work(client);
      const { id } = await client.flow([member("a")]);
      await client.flows.wait(id);
      const [job] = (await client.list({ flow: id })).jobs;
      await client.remove(job!.id);
      await client.flow([member("a"), member("z")], { id });
      await client.wait((await client.enqueue("last")).id).catch(() => {});
      expect(script.ran.filter((name) => name === "a" || name === "z")).toEqual(["a"]);
    });

    promises("names that every object inherits are names like others, and a type is needed", async (client) => {
      const script = new Script().on("last", async (_, ctx) => Object.keys(await ctx.flow.results()));
      script.work(client);
      const flow = await client.flow([member("__proto__"), member("constructor"), member("last", ["__proto__", "constructor"])]);
      await client.flows.wait(flow.id);
      const { members } = await client.flows.members(flow.id);
      const last = members.find(({ name }) => name === "last")!;
      expect(((await client.get(last.jobId))!.result as string[]).toSorted()).toEqual(["__proto__", "constructor"]);
      await expect(client.flow([{ name: "a" } as FlowMemberInput])).rejects.toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining('"a"'),
      });
    });

    promises("lists, counts and bulk operations take a flow, and flows are listed by status", async (client) => {
      new Script().work(client, ["done"]);
      const one = await client.flow([member("a"), member("b", "a")]);
      const two = await client.flow([member("a", [], { queue: "done" })]);
      await client.enqueue("task", { name: "other" });
      await client.flows.wait(two.id);
      expect((await client.list({ flow: one.id })).jobs.map(({ flow }) => flow!.name).toSorted()).toEqual(["a", "b"]);
      expect(await client.count({ flow: one.id, status: "blocked" })).toEqual({ count: 1, isCapped: false });
      expect((await client.list({ flow: one.id, where: { name: "b" } })).jobs).toHaveLength(1);
      expect((await client.flows.list()).flows.map(({ id }) => id)).toEqual([two.id, one.id]);
      expect((await client.flows.list({ status: "running" })).flows.map(({ id }) => id)).toEqual([one.id]);
      const page = await client.flows.list({ limit: 1 });
      expect(page.flows.map(({ id }) => id)).toEqual([two.id]);
      expect((await client.flows.list({ limit: 1, cursor: page.cursor })).flows.map(({ id }) => id)).toEqual([one.id]);
      const { id } = await client.bulk.start({ action: "cancel", filter: { flow: one.id } });
      await client.wait(id);
      expect(await client.flows.wait(one.id)).toMatchObject({ status: "failed", cancelled: 2 });
      expect(await client.flows.get(MISSING_ID)).toBeNull();
      // A job that is no flow.
      expect(await client.flows.get(one.jobs.a!)).toBeNull();
    });

    promises("its members are told page by page, with what they wait for", async (client) => {
      const flow = await client.flow([member("a"), member("b", "a", { onFailure: "run" }), member("c", "*")]);
      const members = [];
      for (let cursor: string | null = null; ;) {
        const page: Awaited<ReturnType<Client["flows"]["members"]>> = await client.flows.members(flow.id, { limit: 1, cursor });
        members.push(...page.members);
        cursor = page.cursor;
        if (cursor === null) break;
      }
      expect(members.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toMatchObject([
        { name: "a", jobId: flow.jobs.a, type: "task", queue: "default", after: [], onFailure: "cancel", status: "pending", error: null },
        { name: "b", after: ["a"], onFailure: "run", status: "blocked", startedAt: null },
        { name: "c", after: "*", status: "blocked" },
      ]);
      await expect(client.flows.members(MISSING_ID)).rejects.toMatchObject({ code: "not_found" });
    });

    promises("its end is told as an event, with its members", async (client) => {
      const script = new Script();
      const heard: Event[] = [];
      const events = client.events()[Symbol.asyncIterator]();
      const first = events.next();
      const flow = await client.flow([member("a")]);
      script.work(client);
      for (let event = await first; ; event = await events.next()) {
        const value = event.value as Event;
        if (value.event !== "flow:completed") continue;
        heard.push(value);
        break;
      }
      expect(heard).toMatchObject([{ event: "flow:completed", flowId: flow.id, members: 1 }]);
      await events.return?.();
    });

    promises("a definition gives type, options and payload, and a delay counts from when a member opens", async (client) => {
      const report = defineJob<{ of: string }>({ type: "report:make", maxRetries: 7 });
      const flow = await client.flow([member("a"), { name: "b", after: "a", ...report.job({ of: "a" }, { delay: "30ms", tags: ["x"] }) }]);
      expect((await client.get(flow.jobs.b!))!).toMatchObject({
        type: "report:make",
        maxRetries: 7,
        payload: { of: "a" },
        tags: ["x"],
        status: "blocked",
      });
      new Script().work(client);
      expect(await client.flows.wait(flow.id)).toMatchObject({ status: "completed" });
      const [a, b] = [(await client.get(flow.jobs.a!))!, (await client.get(flow.jobs.b!))!];
      expect(b.startedAt! - a.completedAt!).toBeGreaterThanOrEqual(30);
    });

    promises("what no flow can be is refused whole, and nothing is left behind", async (client) => {
      await client.configure("small", { capacity: 1 });
      const many = Array.from({ length: MAX_FLOW_CALL + 1 }, (_, index) => member(`m${index}`));
      const bad: [members: unknown, code: string, told: string][] = [
        [[], "invalid_input", "at least one"],
        ["x", "invalid_input", "list of members"],
        [many, "invalid_input", "10000"],
        [[member("a", "b"), member("b", "c"), member("c", "a")], "invalid_input", "a → c → b → a"],
        [[member("a", "a")], "invalid_input", "a → a"],
        [[member("a", "*"), member("b", "a")], "invalid_input", "a → b → a"],
        [[member("a"), member("b", "nobody")], "invalid_input", '"nobody"'],
        [[member("a"), member("a")], "invalid_input", "two members"],
        [[member("")], "invalid_input", "members[0].name"],
        [[member("*")], "invalid_input", '"*"'],
        [[member("a"), member("b", ["a", "*"])], "invalid_input", "alone"],
        [[member("a", [], { onFailure: "explode" as "run" })], "invalid_input", "onFailure"],
        [[{ ...member("a"), idempotencyKey: "k" }], "invalid_input", "idempotencyKey"],
        [[{ ...member("a"), type: "no type!" }], "invalid_input", 'member "a"'],
        [[member("a"), { ...member("b", "a"), priority: 1000 }], "invalid_input", 'member "b"'],
        [[member("a", [], { queue: "small" }), member("b", [], { queue: "small" })], "queue_full", 'member "b"'],
      ];
      for (const [members, code, told] of bad) {
        await expect(client.flow(members as FlowMemberInput[])).rejects.toMatchObject({
          code,
          message: expect.stringContaining(told),
        });
      }
      await expect(client.flow([member("a")], { key: "" })).rejects.toMatchObject({ code: "invalid_input", field: "key" });
      await expect(client.flow([member("a")], { bogus: 1 } as object)).rejects.toMatchObject({ code: "invalid_input" });
      expect((await client.flows.list()).flows).toEqual([]);
      expect((await client.list()).jobs).toEqual([]);
    });

    promises("a handler of a job that is in no flow is told so", async (client) => {
      const told = Promise.withResolvers<unknown>();
      client.work({
        alone: async (_, ctx) =>
          told.resolve([ctx.flow.id, ctx.flow.name, await ctx.flow.results().catch((error: Error) => error.message)]),
      });
      await client.enqueue("alone");
      expect(await told.promise).toEqual([null, null, expect.stringContaining("is in no flow")]);
    });
  });
}
