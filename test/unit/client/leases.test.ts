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
