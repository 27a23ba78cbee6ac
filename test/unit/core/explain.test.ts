import { describe, expect, test } from "vitest";
import { explain, type ExplainFacts, MOST_AHEAD, serves, typesBeside } from "../../../src/core/explain.ts";
import { withGroup } from "../../../src/core/error-group.ts";
import { type JobSummaryRecord, recordOf } from "../../../src/core/job.ts";
import { JOB_DEFAULTS, createJob, readJobOptions } from "../../../src/core/job-options.ts";
import type { LimitObstacle } from "../../../src/core/limit-obstacles.ts";
import type { WorkerEntry } from "../../../src/core/worker-entry.ts";

const NOW = Date.UTC(2030, 0, 1);
const ERROR = withGroup({ name: "TypeError", message: "no such\nfield", stack: null, kind: "error" });

function jobIn(status: JobSummaryRecord["status"], changes: Partial<JobSummaryRecord> = {}): JobSummaryRecord {
  const made = createJob("0190d2f0-7b1a-7abc-8def-0123456789ab", "mail", null, readJobOptions({}, JOB_DEFAULTS, NOW));
  return { ...recordOf(made, status, NOW, NOW), ...changes };
}

function worker(changes: Partial<WorkerEntry> = {}): WorkerEntry {
  const entry = { id: "w-1", host: "h", pid: 1, state: "idle", slots: 2, queues: ["default"], types: ["mail"], startedAt: NOW } as const;
  return { ...entry, running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0, ...changes };
}

const factsOf = (job: JobSummaryRecord, changes: Partial<ExplainFacts> = {}): ExplainFacts => {
  return { job, now: NOW, paused: false, workers: [worker()], ahead: 0, obstacles: [], waits: [], members: [], ...changes };
};

const codes = (job: JobSummaryRecord, changes: Partial<ExplainFacts> = {}): string[] =>
  explain(factsOf(job, changes)).map(({ code }) => code);

describe("a job is not running because", () => {
  test("its queue is paused", () => {
    expect(explain(factsOf(jobIn("pending"), { paused: true }))[0]).toMatchObject({ code: "paused", queue: "default" });
  });

  test("no live worker takes it", () => {
    const [reason] = explain(factsOf(jobIn("pending"), { workers: [worker({ types: ["other"] }), worker({ queues: ["mail"] })] }));
    expect(reason).toMatchObject({
      code: "no_worker",
      queue: "default",
      type: "mail",
      message: expect.stringContaining("no live worker") as string,
    });
  });

  test("the workers that handle its type do not serve its queue, and it says which queues they serve", () => {
    const job = jobIn("pending", { queue: "mail" });
    const told = (...workers: WorkerEntry[]): string => explain(factsOf(job, { workers }))[0]!.message;
    const own = worker({ id: "requests", queues: ["*"], types: ["http:request"] });
    const begin = "no live worker handles jobs of type mail from queue mail: ";
    expect(told(worker(), worker({ types: ["other"], queues: ["mail"] }), own)).toBe(
      `${begin}worker w-1 handles mail, but serves only: default. Add mail to the queues of a worker`,
    );
    const many = Array.from({ length: 5 }, (_, index) => worker({ id: `w-${index}`, queues: ["default", "bulk"], types: "*" }));
    expect(told(...many)).toContain("workers w-0, w-1, w-2 and 2 others handle mail, but serve only: bulk, default.");
    expect(told(worker({ types: ["other"] }))).toContain("spell both names the same way");
  });

  test("every worker that takes it is shutting down", () => {
    const [reason] = explain(factsOf(jobIn("pending"), { workers: [worker({ state: "stopping" })] }));
    expect(reason).toMatchObject({ code: "no_worker", message: expect.stringContaining("shutting down") as string });
  });

  test("every worker that takes it has stopped claiming, because its handlers ignored their abort", () => {
    const overrun = worker({ abandoned: 2 });
    expect(explain(factsOf(jobIn("pending"), { workers: [overrun] }))).toMatchObject([
      { code: "no_worker", message: expect.stringMatching(/has stopped claiming.*restart it/) as string },
      { code: "position", message: "no other job goes before it" },
    ]);
    const [reason] = explain(factsOf(jobIn("pending"), { workers: [overrun, worker({ state: "stopping" })] }));
    expect(reason?.message).toMatch(/shutting down or has stopped claiming/);
  });

  test("nobody works deliveries, which servers do", () => {
    const delivery = jobIn("pending", { queue: "default~webhooks", type: "millrace:webhook" });
    expect(explain(factsOf(delivery))[0]).toMatchObject({
      code: "no_worker",
      message: expect.stringContaining("millrace server") as string,
    });
    expect(codes(delivery, { workers: [worker({ queues: ["*~webhooks"], types: ["millrace:webhook"] })] })).toEqual(["position"]);
  });

  test("the slots of those that claim are taken", () => {
    const busy = worker({ state: "busy", runningCount: 2 });
    expect(explain(factsOf(jobIn("pending"), { workers: [busy, busy] }))[0]).toMatchObject({ code: "no_free_slot", workers: 2, slots: 4 });
    expect(explain(factsOf(jobIn("pending"), { workers: [busy, worker({ abandoned: 2 })] }))[0]).toMatchObject({ workers: 1, slots: 2 });
    expect(codes(jobIn("pending"), { workers: [busy, worker()] })).toEqual(["position"]);
    const one = worker({ slots: 1, runningCount: 1 });
    expect(explain(factsOf(jobIn("pending"), { workers: [one] }))[0]?.message).toMatch(/^the one slot of the worker/);
  });

  test("a limit of its key or its queue is reached", () => {
    const job = jobIn("pending", { queue: "mail", limitKey: "acme" });
    const workers = [worker({ queues: ["mail"], runningCount: 2 })];
    const told = (obstacle: LimitObstacle) => explain(factsOf(job, { workers, obstacles: [obstacle] }))[0];
    expect(told({ kind: "held", key: "acme", until: NOW + 30_000 })).toEqual({
      code: "key_held",
      message: 'limit key "acme" in queue mail is held until 2030-01-01T00:00:30.000Z: a handler asked for that with HoldKey',
      queue: "mail",
      limitKey: "acme",
      until: NOW + 30_000,
    });
    expect(told({ kind: "running", key: "acme", limit: 2, running: 2, holders: ["a", "b"] })).toEqual({
      code: "limit_running",
      message: '2 jobs of limit key "acme" in queue mail run (a, b), and its limit is 2: it starts when one of them ends',
      queue: "mail",
      limitKey: "acme",
      limit: 2,
      running: 2,
      holders: ["a", "b"],
    });
    expect(told({ kind: "running", key: null, limit: 1, running: 1, holders: ["a"] })?.message).toBe(
      "1 job of queue mail runs (a), and its limit is 1: it starts when that one ends",
    );
    expect(told({ kind: "running", key: null, limit: 4, running: 5, holders: ["a", "b", "c", "d", "e"] })?.message).toBe(
      "5 jobs of queue mail run (a, b, c, …), and its limit is 4: it starts when fewer than 4 run",
    );
    expect(told({ kind: "rate", key: null, rate: "5/s", until: NOW + 200 })).toEqual({
      code: "limit_rate",
      message: "queue mail may start 5/s, and has used that up: the next start is possible at 2030-01-01T00:00:00.200Z",
      queue: "mail",
      limitKey: null,
      rate: "5/s",
      until: NOW + 200,
    });
    const obstacles = [{ kind: "rate", key: null, rate: "5/s", until: NOW + 200 }] as const;
    expect(codes(job, { workers, obstacles })).toEqual(["limit_rate", "position"]);
    expect(codes(job, { workers: [], paused: true, obstacles })).toEqual(["paused", "no_worker", "limit_rate", "position"]);
    expect(codes(jobIn("scheduled", { runAt: NOW + 1000 }), { obstacles })).toEqual(["due_later"]);
  });

  test("others go before it", () => {
    expect(explain(factsOf(jobIn("pending")))).toEqual([
      { code: "position", message: "it is next in line", ahead: 0, aheadIsCapped: false },
    ]);
    expect(explain(factsOf(jobIn("pending"), { ahead: 1 }))[0]?.message).toBe("about 1 job goes before it");
    expect(explain(factsOf(jobIn("pending"), { ahead: 1234 }))[0]?.message).toBe("about 1,234 jobs go before it");
    expect(explain(factsOf(jobIn("pending"), { ahead: MOST_AHEAD }))[0]).toMatchObject({
      aheadIsCapped: true,
      message: "at least 10,000 jobs go before it",
    });
  });

  test("its time has not come, and then it would still be kept waiting", () => {
    const later = jobIn("scheduled", { runAt: NOW + 60_000 });
    expect(explain(factsOf(later))).toEqual([{ code: "due_later", message: "it is due at 2030-01-01T00:01:00.000Z", at: NOW + 60_000 }]);
    expect(codes(later, { paused: true, workers: [] })).toEqual(["due_later", "paused", "no_worker"]);
  });

  test("it waits for something else, and then it would still be kept waiting", () => {
    expect(explain(factsOf(jobIn("blocked")))).toEqual([
      { code: "blocked", message: expect.stringMatching(/no worker takes it until then.*cancel it/) as string },
    ]);
    expect(codes(jobIn("blocked"), { paused: true, workers: [] })).toEqual(["blocked", "paused", "no_worker"]);
  });

  test("its handler waits for a signal, with the command that sends it; a name that a shell could take for more is left to the reader", () => {
    const told = (name: string): string =>
      explain(factsOf(jobIn("blocked"), { waits: [{ name, kind: "wait", until: NOW, call: null }] }))[0]!.message;
    const begin = (name: string): string => `its handler waits for the signal "${name}", until 2030-01-01T00:00:00.000Z: send it with`;
    const command = "client.signal, or millrace signal 0190d2f0-7b1a-7abc-8def-0123456789ab";
    expect(told("order:paid-2")).toBe(`${begin("order:paid-2")} ${command} order:paid-2`);
    for (const name of ["go on", "$(reboot)", "--help"]) expect(told(name)).toBe(`${begin(name)} ${command} <name>`);
  });

  test("it was lost and waits to run again", () => {
    const error = { ...ERROR, name: "LeaseLost", message: "the lease ran out", kind: "lost" } as const;
    const job = jobIn("retrying", { runAt: NOW + 1000, attempt: 3, retryCount: 1, lostCount: 2, maxLost: 3, error });
    expect(explain(factsOf(job))[0]?.message).toBe(
      "attempt 3 was lost (LeaseLost: the lease ran out), loss 2 of 3 allowed; it runs again at 2030-01-01T00:00:01.000Z",
    );
  });

  test("it failed and waits for its retry", () => {
    const job = jobIn("retrying", { runAt: NOW + 1000, attempt: 2, retryCount: 2, maxRetries: 3, error: ERROR });
    expect(explain(factsOf(job))[0]?.message).toBe(
      "attempt 2 failed (TypeError: no such field); retry 2 of 3 is due at 2030-01-01T00:00:01.000Z",
    );
  });

  test("it is due, but no process made it pending", () => {
    expect(codes(jobIn("scheduled", { runAt: NOW - 1000 }))).toEqual(["due_later"]);
    expect(codes(jobIn("scheduled", { runAt: NOW - 60_000 }))).toEqual(["overdue"]);
  });

  test("it has ended", () => {
    const at = { completedAt: NOW, attempt: 1 };
    expect(explain(factsOf(jobIn("completed", at)))).toEqual([
      { code: "ended", message: "it completed at 2030-01-01T00:00:00.000Z: nothing is left to run", status: "completed", at: NOW },
    ]);
    for (const status of ["dead", "failed"] as const) {
      const [reason] = explain(factsOf(jobIn(status, { ...at, error: { ...ERROR, message: "x".repeat(500) } })));
      expect(reason).toMatchObject({ code: "ended", status, message: expect.stringMatching(/TypeError: x+….*retry it/) as string });
      expect(reason?.message.length).toBeLessThan(400);
    }
    expect(explain(factsOf(jobIn("cancelled", at)))[0]?.message).toMatch(/cancelled.*retry it/);
  });
});

describe("reasons never contradict each other", () => {
  const busy = worker({ state: "busy", runningCount: 2 });
  const overrun = worker({ abandoned: 2 });
  const stopping = worker({ state: "stopping" });
  const crews: readonly (readonly [string, readonly WorkerEntry[]])[] = [
    ["no worker", []],
    ["a worker for others", [worker({ types: ["other"] })]],
    ["a free worker", [worker()]],
    ["a free worker of all", [worker({ queues: ["*"], types: "*" })]],
    ["a busy worker", [busy]],
    ["a worker that shuts down", [stopping]],
    ["a worker that gave up its handlers", [overrun]],
    ["a busy one and one that gave up", [busy, overrun]],
    ["one that shuts down and one that gave up", [stopping, overrun]],
    ["a free one and one that gave up", [worker(), overrun]],
    ["a worker for deliveries", [worker({ queues: ["*~webhooks"], types: "*" })]],
  ];
  const jobs: readonly (readonly [string, JobSummaryRecord])[] = [
    ["pending", jobIn("pending")],
    ["due tomorrow", jobIn("scheduled", { runAt: NOW + 86_400_000 })],
    ["retried soon", jobIn("retrying", { runAt: NOW + 1000, error: ERROR })],
    ["overdue", jobIn("scheduled", { runAt: NOW - 60_000 })],
    ["a delivery", jobIn("pending", { queue: "default~webhooks", type: "millrace:webhook" })],
  ];
  const table = jobs.flatMap(([name, job]) =>
    crews.flatMap(([crew, workers]) =>
      [false, true].flatMap((paused) =>
        [0, 5].map(
          (ahead) => [`${name}, ${crew}, paused ${paused}, ${ahead} before it`, factsOf(job, { workers, paused, ahead })] as const,
        ),
      ),
    ),
  );

  test.each(table)("%s", (_, facts) => {
    const reasons = explain(facts);
    const text = reasons.map(({ message }) => message).join("\n");
    const has = (...wanted: string[]): boolean => reasons.some(({ code }) => wanted.includes(code));
    expect(reasons.length).toBeGreaterThan(0);
    expect(new Set(reasons.map(({ code }) => code)).size).toBe(reasons.length);
    // What says that it starts next, or with the next free slot, stands beside nothing that keeps it from starting.
    if (has("paused", "no_worker", "due_later", "overdue")) expect(text).not.toMatch(/next in line|starts when one is free/);
    if (has("no_worker")) expect(has("no_free_slot")).toBe(false);
    if (facts.workers.length > 0) expect(text).not.toContain("none seems to be running");
    if (has("no_worker") && text.includes("no live worker")) expect(facts.workers.some((one) => serves(one, facts.job))).toBe(false);
  });
});

describe("a job that runs", () => {
  const running = jobIn("running", { workerId: "w-1", startedAt: NOW, attempt: 1 });

  test("is told with its worker", () => {
    expect(explain(factsOf(running))).toEqual([
      {
        code: "running",
        message: "worker w-1 has been running it since 2030-01-01T00:00:00.000Z, attempt 1",
        workerId: "w-1",
        startedAt: NOW,
      },
    ]);
  });

  test("on a worker that is not live may be lost", () => {
    expect(explain(factsOf(running, { workers: [] }))[0]?.message).toMatch(/if it is gone, its lease runs out/);
  });
});

describe("a worker takes a job", () => {
  test("of its types, from its queues, or of all", () => {
    const job = { queue: "default", type: "mail" };
    expect(serves(worker(), job)).toBe(true);
    expect(serves(worker({ types: "*" }), { ...job, type: "any" })).toBe(true);
    expect(serves(worker({ queues: ["*"] }), { ...job, queue: "reports" })).toBe(true);
    expect(serves(worker({ queues: ["*"] }), { ...job, queue: "default~webhooks" })).toBe(false);
    expect(serves(worker({ queues: ["other"] }), job)).toBe(false);
    expect(serves(worker({ types: ["other"] }), job)).toBe(false);
  });

  test("among the types of those that take it", () => {
    const job = { queue: "default", type: "mail" };
    expect(typesBeside(job, [])).toEqual(["mail"]);
    expect(typesBeside(job, [worker({ types: ["mail", "sms"] }), worker({ types: ["other"] })])).toEqual(["mail", "sms"]);
    expect(typesBeside(job, [worker(), worker({ types: "*" })])).toBe("*");
  });
});
