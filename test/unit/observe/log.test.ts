import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { LeasedJob } from "../../../src/client/client.ts";
import type { Outcome } from "../../../src/core/lifecycle.ts";
import { JobLines } from "../../../src/observe/job-lines.ts";
import { watchLeases } from "../../../src/observe/lease-watch.ts";
import { type Logger, type LogOptions, openLog, requestLines, troubleLines } from "../../../src/observe/log.ts";
import { prettyLine } from "../../../src/observe/pretty-log.ts";
import type { SeenRequest } from "../../../src/observe/request-figures.ts";
import { openClient } from "../client/open-client.ts";

type Line = Record<string, unknown>;

/** A log that is kept instead of printed. */
async function keptLog(level: LogOptions["level"] = "trace"): Promise<{ logger: Logger; raw: string[]; lines: () => Line[] }> {
  const raw: string[] = [];
  const { logger } = await openLog({ level, write: (line) => raw.push(line) });
  return { logger, raw, lines: () => raw.map((line) => JSON.parse(line) as Line) };
}

describe("a line for people", () => {
  const line = (fields: object): string =>
    `${JSON.stringify({ level: "info", time: "2026-03-01T10:00:00.000Z", pid: 1, hostname: "h", ...fields })}\n`;

  test("has the time of day, the level, the message and the fields", () => {
    const shown = prettyLine(line({ method: "GET", status: 200, key: null, note: "two words", msg: "request" }), false);
    expect(shown).toMatch(/^\d\d:00:00 INFO {2}request {2}method=GET {2}status=200 {2}note="two words"\n$/);
  });

  test("shows the stack of an error below, and nothing that a terminal would obey", () => {
    const error = { name: "Error", message: "no", stack: "Error: no\n    at f (x.ts:1:2)\u001b[2J" };
    const shown = prettyLine(line({ level: "error", type: "\u001b[2J", error, msg: "\u202efailed" }), false);
    expect(shown.split("\n").slice(1)).toEqual(["    Error: no", "    at f (x.ts:1:2)\\u001b[2J", ""]);
    expect(shown).toContain("\\u202efailed  type=\\u001b[2J");
  });

  test("is coloured on request, and what is no line of the log stays as it is", () => {
    expect(prettyLine(line({ msg: "x" }), true)).toContain("\u001b[32mINFO");
    expect(prettyLine("plain\n", true)).toBe("plain\n");
  });
});

describe("a line", () => {
  test("is JSON with time, level, process and message", async () => {
    const { logger, raw, lines } = await keptLog();
    logger.info({ job_id: "x" }, "hello");
    expect(raw[0]!.endsWith("}\n")).toBe(true);
    expect(lines()).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        pid: process.pid,
        hostname: expect.any(String) as string,
        job_id: "x",
        msg: "hello",
      },
    ]);
  });

  test("below the level is not written", async () => {
    const { logger, raw } = await keptLog("warn");
    logger.info({}, "no");
    logger.warn({}, "yes");
    expect(raw).toHaveLength(1);
    expect(logger.isLevelEnabled?.("info")).toBe(false);
  });

  test("stays one line without a dangerous character, whatever it says, and is read back as it was", async () => {
    const { logger, raw, lines } = await keptLog();
    const nasty = 'a\r\nb\u0000\u001b[31m"\\\u007f\u0085\u009b\u202e\u2066\u2028\u2029\ufeff\u200f\ud800 ü 漢 😀';
    logger.warn({ nasty, [`key ${nasty}`]: 1 }, nasty);
    expect(raw).toHaveLength(1);
    expect(raw[0]!.slice(0, -1)).toMatch(
      /^[\u0020-\u007e\u00a0-\u200a\u2010-\u2027\u2030-\u205f\u206a-\ud7ff\ue000-\ufefe\uff00-\u{10ffff}]*$/u,
    );
    expect(lines()[0]).toMatchObject({ nasty, msg: nasty });
  });

  test("goes to standard output, and is out when the process ends", async () => {
    const log = JSON.stringify(new URL("../../../src/observe/log.ts", import.meta.url).href);
    const program = `
      const { openLog } = await import(${log});
      const { logger, flush } = await openLog();
      for (let n = 0; n < 10_000; n++) logger.info({ n }, "line");
      flush();
      process.exit(0);
    `;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { maxBuffer: 1e8 });
    const numbers = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { n: number }).n);
    expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
  });
});

const DONE: Outcome = { kind: "completed", result: '{"secret":1}', runMs: 40 };
const ERROR = { name: "Error", message: "no way to postgres://ann:hunter2@db/x", stack: "at secret place", kind: "error" } as const;
const WAIT = { name: "nap", kind: "sleep", state: "open", value: null, untilMs: 1000, detail: null } as const;
const FAILED: Outcome = { kind: "failed", error: ERROR, runMs: 7 };

/** Claims one job of a payload that must not be seen, reports its end, and answers what was logged. */
async function workOne(
  outcome: Outcome,
  {
    level,
    maxRetries,
    before,
    withFacts = true,
  }: { level?: LogOptions["level"]; maxRetries?: number; before?: (lease: LeasedJob) => Promise<unknown>; withFacts?: boolean } = {},
): Promise<{ lines: Line[]; raw: string; id: string }> {
  const { client } = await openClient();
  const { logger, raw, lines } = await keptLog(level);
  const leases = watchLeases(client.leases, [new JobLines(logger)]);
  const { id } = await client.enqueue(
    "mail:send",
    { to: "payload@example.com" },
    { queue: "post", maxRetries, meta: { m: "meta-secret" } },
  );
  const claim = { workerId: "w1", queues: ["post"], types: "*", limit: 1, leaseMs: 30_000, turn: 1, again: false } as const;
  const [lease] = (await leases.exchange([], claim)).jobs;
  await before?.(lease!);
  await leases.exchange([{ id, fence: lease!.fence, facts: withFacts ? lease!.facts : undefined, outcome }], null);
  return { lines: lines(), raw: raw.join(""), id };
}

describe("the lines of a job", () => {
  test("tell its start and its end with all that identifies them", async () => {
    const { lines, id } = await workOne(DONE);
    const job = { job_id: id, type: "mail:send", queue: "post", worker_id: "w1", fence: 1, retry_count: 0 };
    expect(lines).toMatchObject([
      { level: "debug", msg: "job claimed", attempt: 1, ...job },
      { level: "info", msg: "job completed", duration_ms: 40, ...job },
    ]);
  });

  test.each([
    [FAILED, 3, "warn", "job failed and will be retried"],
    [FAILED, 0, "error", "job failed for good"],
    [{ kind: "discard", error: ERROR, runMs: 7 } as const, 3, "error", "job failed for good"],
  ])("tell a failure and what follows: %j", async (outcome, maxRetries, level, msg) => {
    const { lines, raw } = await workOne(outcome, { maxRetries });
    const error = { name: "Error", message: "no way to postgres://ann:***@db/x", kind: "error" };
    expect(lines[1]).toMatchObject({ level, msg, worker_id: "w1", fence: 1, retry_count: 0, error });
    expect(raw).not.toMatch(/hunter2|secret place/);
  });

  test("tell a failure also of a worker that says nothing of the job", async () => {
    const { lines, id } = await workOne(FAILED, { withFacts: false });
    expect(lines[1]).toMatchObject({ level: "warn", msg: "attempt failed", job_id: id, fence: 1, error: { name: "Error" } });
  });

  test.each([
    [{ kind: "snooze", delayMs: 1000 } as const, "debug", "job snoozed"],
    [{ kind: "release" } as const, "info", "job released unfinished"],
    [{ kind: "suspend", waits: [WAIT], calls: [] } as const, "debug", "job suspended"],
  ])("tell %j", async (outcome, level, msg) => {
    expect((await workOne(outcome)).lines[1]).toMatchObject({ level, msg });
  });

  test("tell a report that came too late, and one after a cancel", async () => {
    const { client } = await openClient();
    const { logger, lines } = await keptLog();
    const leases = watchLeases(client.leases, [new JobLines(logger)]);
    await client.enqueueMany([{ type: "a" }, { type: "a" }]);
    const claim = { workerId: "w1", queues: ["default"], types: "*", limit: 2, leaseMs: 30_000, turn: 1, again: false } as const;
    const [first, second] = (await leases.exchange([], claim)).jobs as [LeasedJob, LeasedJob];
    await client.cancel(second.job.id);
    await leases.exchange(
      [
        { id: first.job.id, fence: 9, facts: first.facts, outcome: DONE },
        { id: second.job.id, fence: second.fence, facts: second.facts, outcome: DONE },
      ],
      null,
    );
    expect(lines().slice(2)).toMatchObject([
      { level: "warn", msg: expect.stringContaining("late report refused") as string, job_id: first.job.id, fence: 9 },
      { level: "info", msg: "job was cancelled while it ran", job_id: second.job.id },
    ]);
  });

  test("never tell what the job carries", async () => {
    for (const outcome of [DONE, FAILED]) {
      expect((await workOne(outcome)).raw).not.toMatch(/payload@example\.com|meta-secret|secret"/);
    }
  });

  test("are as few as the level says", async () => {
    expect((await workOne(DONE, { level: "info" })).lines.map(({ msg }) => msg)).toEqual(["job completed"]);
    expect((await workOne(DONE, { level: "warn" })).lines).toEqual([]);
  });
});

describe("the line of a request", () => {
  const request: SeenRequest = {
    requestId: "r-1",
    method: "GET",
    route: "/api/v1/jobs/{id}",
    status: 200,
    durationMs: 1.23456,
    caller: "ci",
    address: "127.0.0.1",
  };

  test.each([
    [{}, "info", "request"],
    [{ status: 404 }, "info", "request"],
    [{ status: 503 }, "warn", "request refused"],
    [{ status: 500, error: new Error("boom") }, "error", "request failed"],
    [{ route: "/health/ready" }, "debug", "request"],
    [{ route: "/metrics" }, "debug", "request"],
    [{ route: "/health/ready", status: 503 }, "warn", "request refused"],
    [{ route: null, status: 404 }, "info", "request"],
  ])("%j is at %s", async (change, level, msg) => {
    const { logger, lines } = await keptLog();
    requestLines(logger)({ ...request, ...change });
    expect(lines()).toMatchObject([{ level, msg, request_id: "r-1", method: "GET", duration_ms: 1.235, key: "ci", address: "127.0.0.1" }]);
  });

  test("tells an error of ours with its stack, its code and without passwords", async () => {
    const { logger, lines, raw } = await keptLog();
    const error = Object.assign(new Error("connect redis://:p@ss@cache:6379 failed"), { code: "ECONNREFUSED" });
    requestLines(logger)({ ...request, status: 500, error });
    expect(lines()[0]!["error"]).toMatchObject({
      message: "connect redis://:***@cache:6379 failed",
      code: "ECONNREFUSED",
      stack: expect.any(String) as string,
    });
    expect(raw.join("")).not.toContain("p@ss");
  });

  test("bounds what a caller may write", async () => {
    const { logger, raw } = await keptLog();
    requestLines(logger)({ ...request, method: "X".repeat(100_000), error: "e".repeat(100_000) });
    expect(raw[0]!.length).toBeLessThan(3000);
  });
});

describe("the line of a trouble", () => {
  test.each([
    ["store", "warn"],
    ["upkeep", "warn"],
    ["report", "error"],
    ["abandoned", "error"],
  ] as const)("%s is at %s", async (kind, level) => {
    const { logger, lines } = await keptLog();
    troubleLines(logger)({ kind, message: "what is wrong", error: Object.create(null) });
    expect(lines()).toMatchObject([{ level, trouble: kind, msg: "what is wrong", error: { name: "NonError" } }]);
  });
});
