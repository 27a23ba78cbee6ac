import { describe, expect, test } from "vitest";
import type { LeasedJob, Report } from "../../../src/client/client.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { claim, listenTo, MISSING_ID, openClient, spyOn, START } from "./open-client.ts";

const boom = { name: "Error", message: "boom", stack: null, kind: "error" } as const;
const completed: Outcome = { kind: "completed", result: '{"ok":true}', runMs: 12 };
const failed: Outcome = { kind: "failed", error: boom, runMs: 5 };

const reportOf = ({ job, fence, facts }: LeasedJob, outcome: Outcome): Report => ({ id: job.id, fence, facts, outcome });

describe("an exchange", () => {
  test("claims jobs with all that a worker needs", async () => {
    const { client } = await openClient();
    const { id } = await client.enqueue("t", { a: 1 }, { maxRetries: 2 });
    const { results, jobs } = await claim(client);
    expect(results).toEqual([]);
    expect(jobs).toMatchObject([
      {
        job: { id, payload: { a: 1 }, status: "running", attempt: 1, workerId: "w1" },
        fence: 1,
        leaseUntil: START + 30_000,
        facts: {
          type: "t",
          queue: "default",
          retryCount: 0,
          maxRetries: 2,
          lostCount: 0,
          maxLost: 3,
          retryDelayMs: 1000,
          snoozes: 0,
          deadLetters: true,
        },
      },
    ]);
  });

  test("settles and claims in one round trip, and asks the core what follows", async () => {
    const { client, store } = await openClient();
    await client.enqueueMany([{ type: "good" }, { type: "bad" }, { type: "next" }]);
    const { jobs } = await claim(client, 2);
    const exchanges = spyOn(store, "exchange");
    const reports = [reportOf(jobs[0]!, completed), reportOf(jobs[1]!, failed)];
    const request = { workerId: "w1", queues: ["default"], types: ["next"], limit: 5, leaseMs: 1000, turn: 1, again: false };
    const answer = await client.leases.exchange(reports, request);
    expect(exchanges).toHaveLength(1);
    expect(answer.results).toEqual(["ok", "ok"]);
    expect(answer.jobs.map(({ job }) => job.type)).toEqual(["next"]);
    expect(await client.get(jobs[0]!.job.id)).toMatchObject({ status: "completed", result: { ok: true }, durationMs: 12 });
    expect(await client.get(jobs[1]!.job.id)).toMatchObject({ status: "retrying", retryCount: 1, scheduledAt: START + 1000, error: boom });
  });

  test("looks up what a report does not bring, the queue's dead letters too", async () => {
    const { client } = await openClient();
    await client.configure("default", { deadLetters: false });
    await client.enqueue("t", null, { maxRetries: 0 });
    const [lease] = (await claim(client)).jobs;
    const { id } = lease!.job;
    const { results } = await client.leases.exchange(
      [
        { id: MISSING_ID, fence: 1, outcome: completed },
        { id, fence: lease!.fence, outcome: failed },
      ],
      null,
    );
    expect(results).toEqual(["stale", "ok"]);
    expect((await client.get(id))?.status).toBe("failed");
  });

  test("answers each report by itself: repeats are ok, late ones stale", async () => {
    const { client } = await openClient();
    await client.enqueueMany([{ type: "a" }, { type: "b" }]);
    const { jobs } = await claim(client);
    const [a, b] = jobs.map((job) => reportOf(job, completed));
    await client.leases.exchange([a!], null);
    expect((await client.leases.exchange([a!, { ...b!, fence: 99 }, b!], null)).results).toEqual(["ok", "stale", "ok"]);
  });

  test("carries no more than a store may be given, and the claim goes with the last ones", async () => {
    const { client, store } = await openClient();
    await client.enqueueMany(Array.from({ length: 2301 }, () => ({ type: "t" })));
    const leases: LeasedJob[] = [];
    while (leases.length < 2300) leases.push(...(await claim(client, Math.min(1000, 2300 - leases.length))).jobs);
    const exchanges = spyOn(store, "exchange");
    const { results, jobs } = await client.leases.exchange(
      leases.map((lease) => reportOf(lease, completed)),
      { workerId: "w1", queues: ["default"], types: "*", limit: 5, leaseMs: 1000, turn: 1, again: false },
    );
    expect(exchanges.map(([settlements, claims]) => [settlements.length, claims.length])).toEqual([
      [1000, 0],
      [300, 0],
      [1000, 1],
    ]);
    expect(results).toEqual(Array.from({ length: 2300 }, () => "ok"));
    expect(jobs).toHaveLength(1);
  });

  test("announces what started and what ended, once each, and not what only went back", async () => {
    const { client, store } = await openClient();
    await client.enqueueMany(["good", "bad", "worst", "back", "snoozed"].map((type) => ({ type })));
    const heard = listenTo(store);
    const { jobs } = await claim(client);
    expect(heard.map((event) => event.event)).toEqual(Array.from({ length: 5 }, () => "job:started"));
    expect(heard[0]).toMatchObject({ workerId: "w1", attempt: 1, type: "good", at: START });
    heard.length = 0;
    const outcomes: Outcome[] = [
      completed,
      failed,
      { kind: "discard", error: boom, runMs: 1 },
      { kind: "release" },
      { kind: "snooze", delayMs: 5 },
    ];
    const reports = jobs.map((lease, index) => reportOf(lease, outcomes[index]!));
    await client.leases.exchange([...reports, { ...reports[0]!, fence: 99 }], null);
    expect(heard).toMatchObject([
      { event: "job:completed", type: "good", durationMs: 12 },
      { event: "job:failed", type: "bad", error: "boom", retryCount: 1, lostCount: 0, retryAt: START + 1000 },
      { event: "job:dead", type: "worst", error: "boom" },
    ]);
    expect(heard).toHaveLength(3);
  });

  test("in a transaction of the caller's is refused where the engine has none", async () => {
    const { client } = await openClient();
    await client.enqueue("t");
    const [lease] = (await claim(client)).jobs;
    await expect(client.leases.settleWithin({}, reportOf(lease!, completed))).rejects.toMatchObject({ code: "invalid_transaction" });
  });
});

describe("a lease", () => {
  test("is extended by its holder, and by nobody else", async () => {
    const { client, clock } = await openClient();
    await client.enqueue("t");
    const [lease] = (await claim(client)).jobs;
    const { id } = lease!.job;
    await clock.advance("20s");
    const answers = await client.leases.extend(
      [
        { id, fence: 1 },
        { id, fence: 2 },
        { id: MISSING_ID, fence: 1 },
      ],
      30_000,
    );
    expect(answers).toEqual(["ok", "stale", "stale"]);
    expect(await client.leases.extend([], 30_000)).toEqual([]);
  });

  test("lets its holder write progress and lines, which are announced", async () => {
    const { client, store } = await openClient();
    await client.enqueue("t");
    const [lease] = (await claim(client)).jobs;
    const heard = listenTo(store);
    const note = { id: lease!.job.id, fence: 1, type: "t", queue: "default", progress: { percent: 50, note: "half" }, lines: ["x"] };
    expect(await client.leases.note([note, { ...note, fence: 9 }, { ...note, progress: null }])).toEqual(["ok", "stale", "ok"]);
    expect(heard).toMatchObject([{ event: "job:progress", progress: { percent: 50, note: "half" } }]);
    expect((await client.get(note.id))?.progress).toEqual({ percent: 50, note: "half" });
  });

  test("that somebody else ended, and work that came, are hinted at", async () => {
    const { client, clock } = await openClient();
    const hints: object[] = [];
    const stop = client.leases.watch((hint) => hints.push(hint));
    const { id } = await client.enqueue("t");
    await client.enqueue("t", null, { delay: "1h" });
    await claim(client);
    await client.cancel(id);
    await clock.settle();
    expect(hints).toEqual([{ topic: "work", queue: "default" }, { topic: "lease" }]);
    stop();
    await client.enqueue("t");
    expect(hints).toHaveLength(2);
  });
});

describe("what is not made of leases", () => {
  const good = { id: MISSING_ID, fence: 1, outcome: completed } as const;
  const facts = {
    type: "t",
    queue: "q",
    retryCount: 0,
    maxRetries: 3,
    lostCount: 0,
    maxLost: 3,
    retryDelayMs: 1000,
    snoozes: 0,
    webhookUrl: null,
    deadLetters: true,
  };
  const error = boom;

  test.each<[string, unknown, string]>([
    ["no list", "reports", "reports"],
    ["nothing", [null], "reports[0]"],
    ["a bad id", [{ ...good, id: "x" }], "reports[0].id"],
    ["a fence that is a text", [{ ...good, fence: "1" }], "reports[0].fence"],
    ["a fence below 0", [{ ...good, fence: -1 }], "reports[0].fence"],
    ["no outcome", [good, { ...good, outcome: undefined }], "reports[1].outcome"],
    ["an unknown outcome", [{ ...good, outcome: { kind: "banana" } }], "reports[0].outcome.kind"],
    ["a result that is no JSON", [{ ...good, outcome: { ...completed, result: "{" } }], "reports[0].outcome.result"],
    ["a result that is no text", [{ ...good, outcome: { ...completed, result: 5 } }], "reports[0].outcome.result"],
    ["a run time below 0", [{ ...good, outcome: { ...completed, runMs: -1 } }], "reports[0].outcome.runMs"],
    ["no error", [{ ...good, outcome: { kind: "failed", runMs: 1 } }], "reports[0].outcome.error"],
    ["an unknown kind of error", [{ ...good, outcome: { ...failed, error: { ...error, kind: "x" } } }], "reports[0].outcome.error.kind"],
    [
      "a message that is no text",
      [{ ...good, outcome: { ...failed, error: { ...error, message: 1 } } }],
      "reports[0].outcome.error.message",
    ],
    ["a delay of 100 years", [{ ...good, outcome: { ...failed, delayMs: 3e12 } }], "reports[0].outcome.delayMs"],
    ["a snooze without a delay", [{ ...good, outcome: { kind: "snooze" } }], "reports[0].outcome.delayMs"],
    ["facts that are none", [{ ...good, facts: {} }], "reports[0].facts.type"],
    ["facts that count below 0", [{ ...good, facts: { ...facts, retryCount: -1 } }], "reports[0].facts.retryCount"],
    ["facts whose flag is none", [{ ...good, facts: { ...facts, deadLetters: 1 } }], "reports[0].facts.deadLetters"],
  ])("is no report: %s", async (_, reports, field) => {
    const { client, store } = await openClient();
    const exchanges = spyOn(store, "exchange");
    await expect(client.leases.exchange(reports as Report[], null)).rejects.toMatchObject({ code: "invalid_input", field });
    expect(exchanges).toEqual([]);
  });

  test.each<[string, unknown, string?]>([
    ["workerId", 5],
    ["workerId", ""],
    ["queues", "default"],
    ["queues", []],
    ["queues", ["a b"], "queues[0]"],
    ["types", "x"],
    ["types", ["t", 5], "types[1]"],
    ["limit", "x"],
    ["limit", 0],
    ["limit", 1001],
    ["leaseMs", Number.NaN],
    ["leaseMs", 999],
    ["leaseMs", 3_600_001],
    ["turn", -1],
    ["again", 0],
  ])("is no claim: %s %j", async (field, value, place = field) => {
    const { client } = await openClient();
    const request = { workerId: "w1", queues: ["default"], types: "*", limit: 1, leaseMs: 1000, turn: 1, again: false, [field]: value };
    await expect(client.leases.exchange([], request as never)).rejects.toMatchObject({ code: "invalid_input", field: `claim.${place}` });
  });

  test("is refused by every other verb, too", async () => {
    const { client } = await openClient();
    const { leases } = client;
    const ref = { id: MISSING_ID, fence: 1 };
    const note = { ...ref, type: "t", queue: "q", progress: null, lines: [] };
    const entry = {
      id: "w",
      host: "h",
      pid: 1,
      state: "idle",
      slots: 1,
      queues: ["q"],
      types: "*",
      startedAt: 0,
      running: [],
      runningCount: 0,
    };
    const worker = { ...entry, processed: 0, perMinute: 0, abandoned: 0 };
    const calls: [string, Promise<unknown>][] = [
      ["claim", leases.exchange([], 5 as never)],
      ["leases[0].id", leases.extend([{ ...ref, id: "x" }], 1000)],
      ["leaseMs", leases.extend([ref], 0)],
      ["report.id", leases.settleWithin({}, { ...good, id: "x" })],
      ["notes[0].fence", leases.note([{ ...note, fence: 0.5 }])],
      ["notes[0].lines", leases.note([{ ...note, lines: "x" as never }])],
      ["notes[0].lines[0]", leases.note([{ ...note, lines: [5 as never] }])],
      ["notes[0].lines[0]", leases.note([{ ...note, lines: ["x".repeat(5000)] }])],
      ["notes[0].progress.percent", leases.note([{ ...note, progress: { percent: 101, note: null } }])],
      ["notes[0].queue", leases.note([{ ...note, queue: "" }])],
      ["worker", leases.register(null as never, 1000)],
      ["worker.id", leases.register({ ...worker, id: "" } as never, 1000)],
      ["worker.state", leases.register({ ...worker, state: "stopped" } as never, 1000)],
      ["worker.running[0]", leases.register({ ...worker, running: ["x"] } as never, 1000)],
      ["worker.slots", leases.register({ ...worker, slots: -1 } as never, 1000)],
      ["ttlMs", leases.register(worker as never, Infinity)],
      ["workerId", leases.unregister(5 as never)],
    ];
    for (const [field, call] of calls) await expect(call).rejects.toMatchObject({ code: "invalid_input", field });
    expect(() => leases.watch(5 as never)).toThrow(expect.objectContaining({ code: "invalid_input", field: "listener" }) as Error);
    await leases.register(worker as never, 1000);
    expect(await leases.extend([ref], 1000)).toEqual(["stale"]);
    expect(await leases.exchange([{ ...good, facts, outcome: { kind: "release" } }], null)).toMatchObject({ results: ["stale"] });
  });
});
