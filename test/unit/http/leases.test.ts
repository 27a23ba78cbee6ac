import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../../../src/http/listen.ts";
import { createServer } from "../../../src/http/server.ts";
import { claimOver, MISSING_ID, openApi, WAYS } from "./open-api.ts";

describe.each(WAYS)("by %s: POST /api/v1/leases", (way) => {
  test("claims jobs with their payload, a fence, and the end of the lease", async () => {
    const { ask, client } = await openApi({}, way);
    const { id } = await client.enqueue("t", { a: 1 }, { priority: "high" });
    const { body } = await ask("POST /api/v1/leases", {
      json: { worker_id: "py-1", queues: ["default"], types: ["t"], limit: 5, lease: "1m" },
    });
    expect(body.results).toEqual([]);
    expect(body.jobs).toMatchObject([
      { id, status: "running", payload: { a: 1 }, priority: "high", worker_id: "py-1", fence: 1, attempt: 1 },
    ]);
    const [job] = body.jobs;
    expect(Date.parse(job!.lease_expires_at) - Date.parse(job!.started_at!)).toBe(60_000);
    expect((await ask("POST /api/v1/leases", { json: { worker_id: "py-2" } })).body.jobs).toEqual([]);
  });

  test.each([
    [{}, "worker_id"],
    [{ worker_id: "a b" }, "worker_id"],
    [{ worker_id: "w", queues: [] }, "queues"],
    [{ worker_id: "w", queues: "default" }, "queues"],
    [{ worker_id: "w", types: ["a b"] }, "types"],
    [{ worker_id: "w", types: "t" }, "types"],
    [{ worker_id: "w", limit: 0 }, "limit"],
    [{ worker_id: "w", limit: 1001 }, "limit"],
    [{ worker_id: "w", lease: "500ms" }, "lease"],
    [{ worker_id: "w", lease: "2h" }, "lease"],
    [{ worker_id: "w", wait: "31s" }, "wait"],
    [{ worker_id: "w", wait: -1 }, "wait"],
    [{ worker_id: "w", again: true }, "turn"],
    [{ worker_id: "w", turn: -1 }, "turn"],
    [{ worker_id: "w", turn: 1, again: true, wait: "1s" }, "wait"],
    [{ worker_id: "w", holding: [{ id: "x", fence: 1 }] }, "holding[0].id"],
    [{ worker_id: "w", outcomes: [{ id: MISSING_ID, fence: 1, outcome: "lost" }] }, "outcomes[0].outcome"],
    [{ worker_id: "w", facts: {} }, "facts"],
  ])("422: %j names %s, and claims nothing", async (json, field) => {
    const { refuse, client } = await openApi({}, way);
    const { id } = await client.enqueue("t");
    expect(await refuse("POST /api/v1/leases", { json }, "invalid_input")).toMatchObject({ field });
    expect(await client.get(id)).toMatchObject({ status: "pending", fence: 0 });
  });

  test("reports and claims in one round trip, by its own facts and not by the worker's", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany([{ type: "t", maxRetries: 0 }, { type: "t", delay: "1h" }, { type: "u" }]);
    const [job] = await claimOver({ ask } as never, { types: ["t"] });
    const outcomes = [{ id: job!.id, fence: job!.fence, outcome: "failed", error: { name: "Boom", message: "no", stack: "at x" } }];
    const { body } = await ask("POST /api/v1/leases", { json: { worker_id: "w1", limit: 3, outcomes } });
    expect(body.results).toEqual([{ id: job!.id, ok: true }]);
    expect(body.jobs.map(({ type }) => type)).toEqual(["u"]);
    expect(await client.get(job!.id)).toMatchObject({
      status: "dead",
      error: { name: "Boom", message: "no", stack: "at x", kind: "error" },
    });
  });

  test("waits until there is work, and is answered by the first job that comes", async () => {
    const { ask, client } = await openApi({}, way);
    const waiting = ask("POST /api/v1/leases", { json: { worker_id: "w", types: ["t"], wait: "30s" } });
    await client.enqueue("other");
    const { id } = await client.enqueue("t");
    expect((await waiting).body.jobs.map((job) => job.id)).toEqual([id]);
  });

  test("waits no longer than it was told", async () => {
    const { ask } = await openApi({}, way);
    expect((await ask("POST /api/v1/leases", { json: { worker_id: "w", wait: "20ms" } })).body.jobs).toEqual([]);
  });

  test("of many that wait, each job goes to one, and none waits while there is work", async () => {
    const { ask, client } = await openApi({}, way);
    const waiting = Array.from({ length: 20 }, (_, index) =>
      ask("POST /api/v1/leases", { json: { worker_id: `w${index}`, limit: 3, wait: "30s" } }),
    );
    await client.enqueueMany(Array.from({ length: 60 }, () => ({ type: "t" })));
    const all = (await Promise.all(waiting)).map(({ body }) => body.jobs.map(({ id }) => id));
    expect(all.map((ids) => ids.length)).toEqual(Array.from({ length: 20 }, () => 3));
    expect(new Set(all.flat()).size).toBe(60);
  });

  test("what a worker does not name as held goes back at no cost", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany([{ type: "a" }, { type: "b" }, { type: "c" }]);
    const [a, b] = await claimOver({ ask } as never, { worker_id: "w1", limit: 2 });
    const others = await claimOver({ ask } as never, { worker_id: "w2", limit: 1 });
    const holding = [{ id: a!.id, fence: a!.fence }];
    const again = await claimOver({ ask } as never, { worker_id: "w1", limit: 10, holding });
    expect(again.map(({ id, attempt, fence }) => [id, attempt, fence])).toEqual([[b!.id, 1, 3]]);
    expect(await client.get(a!.id)).toMatchObject({ status: "running", fence: 1 });
    expect(await client.get(others[0]!.id)).toMatchObject({ status: "running", fence: 1 });
  });

  test("S39: a claim whose answer was lost is given the same jobs again", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany([{ type: "t" }, { type: "t" }, { type: "t" }]);
    const first = await claimOver({ ask } as never, { limit: 2, turn: 7 });
    const again = await claimOver({ ask } as never, { limit: 2, turn: 7, again: true });
    expect(again.map(({ id, fence, attempt }) => [id, fence, attempt])).toEqual(
      first.map(({ id, fence, attempt }) => [id, fence, attempt]),
    );
    expect((await client.stats()).counts).toMatchObject({ pending: 1, running: 2 });
  });
});

describe("a worker that hung up", () => {
  test("gets nothing: what it would have got is there for the next", async () => {
    const waits = Promise.withResolvers<void>();
    const noticed = Promise.withResolvers<void>();
    const { client } = await openApi();
    const { leases } = client;
    const watched = {
      ...leases,
      watch: (listener: Parameters<typeof leases.watch>[0]) => {
        waits.resolve();
        return leases.watch(listener);
      },
    };
    const server = createServer({ ...client, leases: watched }, { onRequest: () => noticed.resolve() });
    const port = await listen(server, { port: 0 });
    onTestFinished(() => port.close({ graceMs: 0 }));
    const over = new AbortController();
    const gone = fetch(`${port.url}/api/v1/leases`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ worker_id: "gone", wait: "30s" }),
      signal: over.signal,
    });
    await waits.promise;
    over.abort();
    await expect(gone).rejects.toThrow("aborted");
    await noticed.promise;
    const { id } = await client.enqueue("t");
    const { jobs } = await leases.exchange([], {
      workerId: "w",
      queues: ["default"],
      types: "*",
      limit: 1,
      leaseMs: 30_000,
      turn: 1,
      again: false,
    });
    expect(jobs).toMatchObject([{ job: { id, attempt: 1 }, fence: 1 }]);
  });
});

describe.each(WAYS)("by %s: the rest of a lease", (way) => {
  test("extend, note and settle answer one by one", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany([{ type: "a" }, { type: "b" }, { type: "c" }]);
    const [a, b, c] = await claimOver({ ask } as never);
    await client.cancel(c!.id);
    const leases = [a, b, c].map((job) => ({ id: job!.id, fence: job!.fence }));
    leases[1]!.fence = 99;
    const results = [
      { id: a!.id, ok: true },
      { id: b!.id, ok: false, code: "stale" },
      { id: c!.id, ok: false, code: "cancelled" },
    ];
    expect((await ask("POST /api/v1/leases/extend", { json: { leases, lease: "5m" } })).body).toEqual({ results });
    const notes = leases.map((lease) => ({ ...lease, progress: { percent: 40, note: "on it" }, lines: ["one", "two"] }));
    expect((await ask("POST /api/v1/leases/note", { json: { notes } })).body).toEqual({ results });
    expect(await client.get(a!.id)).toMatchObject({ progress: { percent: 40, note: "on it" } });
    expect((await client.logs(a!.id)).map(({ text }) => text)).toEqual(["one", "two"]);
    const outcomes = leases.map((lease) => ({ ...lease, outcome: "completed", result: { sent: true } }));
    expect((await ask("POST /api/v1/leases/settle", { json: { outcomes } })).body).toEqual({ results });
    expect(await client.get(a!.id)).toMatchObject({ status: "completed", result: { sent: true } });
    expect((await client.get(a!.id))?.durationMs).toBeGreaterThanOrEqual(0);
  });

  test("S05, S08: the repeat of what was applied is ok, anything else that is late is stale", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueue("t");
    const [job] = await claimOver({ ask } as never);
    const lease = { id: job!.id, fence: job!.fence };
    const settle = async (outcome: object): Promise<unknown> =>
      (await ask("POST /api/v1/leases/settle", { json: { outcomes: [{ ...lease, ...outcome }] } })).body.results[0];
    expect(await settle({ outcome: "completed", run_ms: 5 })).toMatchObject({ ok: true });
    expect(await settle({ outcome: "completed", run_ms: 5 })).toMatchObject({ ok: true });
    expect(await settle({ outcome: "failed", error: "late" })).toMatchObject({ ok: false, code: "stale" });
    expect(await client.get(job!.id)).toMatchObject({ status: "completed", durationMs: 5 });
  });

  test("every outcome does what it says", async () => {
    const { ask, client } = await openApi({}, way);
    await client.enqueueMany(["completed", "failed", "discard", "snooze", "release"].map((type) => ({ type, maxRetries: 1 })));
    const jobs = await claimOver({ ask } as never);
    const more: Record<string, object> = { failed: { error: "no", delay: "1m" }, discard: { error: "never" }, snooze: { delay: "1h" } };
    const outcomes = jobs.map(({ id, fence, type }) => ({ id, fence, outcome: type, ...more[type] }));
    await ask("POST /api/v1/leases/settle", { json: { outcomes } });
    const found = Object.fromEntries((await client.list()).jobs.map((job) => [job.type, [job.status, job.attempt, job.retryCount]]));
    expect(found).toEqual({
      completed: ["completed", 1, 0],
      failed: ["retrying", 1, 1],
      discard: ["dead", 1, 0],
      snooze: ["scheduled", 0, 0],
      release: ["pending", 0, 0],
    });
  });

  test.each([
    [{ outcome: "failed" }, "outcomes[0].error"],
    [{ outcome: "discard" }, "outcomes[0].error"],
    [{ outcome: "snooze" }, "outcomes[0].delay"],
    [{ outcome: "snooze", delay: "soon" }, "outcomes[0].delay"],
    [{ outcome: "failed", error: { message: 5 } }, "outcomes[0].error"],
    [{ outcome: "failed", error: "x".repeat(70_000) }, "outcomes[0].error"],
    [{ outcome: "completed", result: "x".repeat(1024 * 1024) }, "outcomes[0].result"],
    [{ outcome: "completed", run_ms: -1 }, "outcomes[0].run_ms"],
  ])("422: outcome %# names its field, and nothing is settled", async (outcome, field) => {
    const { ask, refuse, client } = await openApi({}, way);
    const { id } = await client.enqueue("t");
    const [job] = await claimOver({ ask } as never);
    const json = { outcomes: [{ id, fence: job!.fence, ...outcome }] };
    expect(await refuse("POST /api/v1/leases/settle", { json }, "invalid_input")).toMatchObject({ field });
    expect(await client.get(id)).toMatchObject({ status: "running" });
  });

  test("a lease that this server did not grant is settled by what the store knows", async () => {
    const { ask, client } = await openApi({}, way);
    const { id } = await client.enqueue("t", null, { maxRetries: 0 });
    const { jobs } = await client.leases.exchange([], {
      workerId: "w",
      queues: ["default"],
      types: "*",
      limit: 1,
      leaseMs: 30_000,
      turn: 0,
      again: false,
    });
    await ask("POST /api/v1/leases/note", { json: { notes: [{ id, fence: jobs[0]!.fence, lines: ["x"] }] } });
    await ask("POST /api/v1/leases/settle", { json: { outcomes: [{ id, fence: jobs[0]!.fence, outcome: "failed", error: "no" }] } });
    expect(await client.get(id)).toMatchObject({ status: "dead" });
    expect((await client.get(id))?.durationMs).toBeGreaterThanOrEqual(0);
  });

  test("422: notes that are none", async () => {
    const { refuse } = await openApi({}, way);
    const note = { id: MISSING_ID, fence: 1 };
    for (const [json, field] of [
      [{ notes: [{ ...note, progress: { percent: 101 } }] }, "notes[0].progress.percent"],
      [{ notes: [{ ...note, lines: ["x".repeat(5000)] }] }, "notes[0].lines"],
      [{ notes: [{ ...note, lines: ["ü".repeat(4000)] }] }, "notes[0].lines[0]"],
      [{ notes: [{ ...note, progress: { percent: 1, note: "ü".repeat(4000) } }] }, "notes[0].progress.note"],
      [{ notes: [{ ...note, fence: 1e300 }] }, "notes[0].fence"],
      [{ notes: {} }, "notes"],
    ] as const) {
      expect(await refuse("POST /api/v1/leases/note", { json }, "invalid_input")).toMatchObject({ field });
    }
  });
});

describe("workers", () => {
  const entry = {
    host: "py.example.com",
    pid: 7,
    state: "busy",
    slots: 2,
    queues: ["default"],
    types: "*",
    started_at: "2030-01-01T00:00:00Z",
    running: [],
    running_count: 1,
    processed: 5,
    per_minute: 0.5,
    abandoned: 0,
  };

  test("say what they do, are listed, and leave", async () => {
    const { ask } = await openApi();
    const params = { worker: "py-1" };
    expect((await ask("PUT /api/v1/workers/{worker}", { params, json: { ...entry, ttl: "1m" } })).body).toEqual({
      message: "Worker registered",
      worker_id: "py-1",
      ttl: 60_000,
    });
    expect((await ask("GET /api/v1/workers")).body.workers).toMatchObject([
      { id: "py-1", ...entry, started_at: "2030-01-01T00:00:00.000Z" },
    ]);
    expect((await ask("DELETE /api/v1/workers/{worker}", { params })).body).toEqual({ message: "Worker removed", worker_id: "py-1" });
    expect((await ask("GET /api/v1/workers")).body.workers).toEqual([]);
  });

  test.each([
    [{ ...entry, state: "asleep" }, "state"],
    [{ ...entry, ttl: "2d" }, "ttl"],
    [{ ...entry, ttl: 0 }, "ttl"],
    [{ ...entry, running: ["x"] }, "running[0]"],
    [{ ...entry, started_at: "yesterday" }, "started_at"],
    [{ ...entry, started_at: -5 }, "started_at"],
    [{ ...entry, pid: 1e300 }, "pid"],
    [{ ...entry, extra: 1 }, "extra"],
  ])("422: entry %# names its field", async (json, field) => {
    const { refuse } = await openApi();
    expect(await refuse("PUT /api/v1/workers/{worker}", { params: { worker: "w" }, json }, "invalid_input")).toMatchObject({ field });
    await refuse("PUT /api/v1/workers/{worker}", { params: { worker: "a b" }, json: entry }, "invalid_input");
    await refuse("DELETE /api/v1/workers/{worker}", { params: { worker: "a b" } }, "invalid_input");
  });
});
