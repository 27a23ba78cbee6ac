import { describe, expect, test } from "vitest";
import { explain, type ExplainFacts, MOST_AHEAD, serves, typesBeside } from "../../../src/core/explain.ts";
import { withGroup } from "../../../src/core/error-group.ts";
import { type JobSummaryRecord, recordOf } from "../../../src/core/job.ts";
import { JOB_DEFAULTS, makeJob, readJobOptions } from "../../../src/core/job-options.ts";
import type { WorkerEntry } from "../../../src/core/worker-entry.ts";

const NOW = Date.UTC(2030, 0, 1);
const ERROR = withGroup({ name: "TypeError", message: "no such\nfield", stack: null, kind: "error" });

function jobIn(status: JobSummaryRecord["status"], changes: Partial<JobSummaryRecord> = {}): JobSummaryRecord {
  const made = makeJob("0190d2f0-7b1a-7abc-8def-0123456789ab", "mail", null, readJobOptions({}, JOB_DEFAULTS, NOW));
  return { ...recordOf(made, status, NOW, NOW), ...changes };
}

function worker(changes: Partial<WorkerEntry> = {}): WorkerEntry {
  const entry = { id: "w-1", host: "h", pid: 1, state: "idle", slots: 2, queues: ["default"], types: ["mail"], startedAt: NOW } as const;
  return { ...entry, running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0, ...changes };
}

const factsOf = (job: JobSummaryRecord, changes: Partial<ExplainFacts> = {}): ExplainFacts => {
  return { job, now: NOW, paused: false, workers: [worker()], ahead: 0, ...changes };
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

  test("every worker that takes it is shutting down", () => {
    const [reason] = explain(factsOf(jobIn("pending"), { workers: [worker({ state: "stopping" })] }));
    expect(reason).toMatchObject({ code: "no_worker", message: expect.stringContaining("shutting down") as string });
  });

  test("their slots are taken, also by handlers that ignored their abort", () => {
    const busy = worker({ state: "busy", runningCount: 2 });
    expect(explain(factsOf(jobIn("pending"), { workers: [busy, busy] }))[0]).toMatchObject({ code: "no_free_slot", workers: 2, slots: 4 });
    expect(codes(jobIn("pending"), { workers: [worker({ abandoned: 2 })] })).toEqual(["no_free_slot", "position"]);
    expect(codes(jobIn("pending"), { workers: [busy, worker()] })).toEqual(["position"]);
    const one = worker({ slots: 1, runningCount: 1 });
    expect(explain(factsOf(jobIn("pending"), { workers: [one] }))[0]?.message).toMatch(/^the one slot of the worker/);
  });

  test("others go before it", () => {
    expect(explain(factsOf(jobIn("pending")))).toEqual([
      { code: "position", message: "it is the next that is taken", ahead: 0, aheadIsCapped: false },
    ]);
    expect(explain(factsOf(jobIn("pending"), { ahead: 1 }))[0]?.message).toBe("about 1 job goes before it");
    expect(explain(factsOf(jobIn("pending"), { ahead: 1234 }))[0]?.message).toBe("about 1,234 jobs go before it");
    expect(explain(factsOf(jobIn("pending"), { ahead: MOST_AHEAD }))[0]).toMatchObject({
      aheadIsCapped: true,
      message: "more than 10,000 jobs go before it",
    });
  });

  test("its time has not come, and then it would still be kept waiting", () => {
    const later = jobIn("scheduled", { runAt: NOW + 60_000 });
    expect(explain(factsOf(later))).toEqual([{ code: "due_later", message: "it is due at 2030-01-01T00:01:00.000Z", at: NOW + 60_000 }]);
    expect(codes(later, { paused: true, workers: [] })).toEqual(["due_later", "paused", "no_worker"]);
  });

  test("it failed and waits for its retry", () => {
    const job = jobIn("retrying", { runAt: NOW + 1000, attempt: 2, retryCount: 2, maxRetries: 3, error: ERROR });
    expect(explain(factsOf(job))[0]?.message).toBe(
      "attempt 2 failed (TypeError: no such field); retry 2 of 3 is due at 2030-01-01T00:00:01.000Z",
    );
  });

  test("its time has come, and nobody made it ready", () => {
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

describe("a job that runs", () => {
  const running = jobIn("running", { workerId: "w-1", startedAt: NOW, attempt: 1 });

  test("is told with its worker", () => {
    expect(explain(factsOf(running))).toEqual([
      { code: "running", message: "worker w-1 runs it since 2030-01-01T00:00:00.000Z, attempt 1", workerId: "w-1", startedAt: NOW },
    ]);
  });

  test("on a worker that is not among the live ones may be lost", () => {
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
