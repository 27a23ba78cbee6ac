import { describe, expect, test } from "vitest";
import { checkHistory } from "./check-history.ts";
import { doubtful } from "./good/doubtful.ts";
import { durable } from "./good/durable.ts";
import { flows } from "./good/flows.ts";
import { limits } from "./good/limits.ts";
import { strangers } from "./good/strangers.ts";
import { unusual } from "./good/unusual.ts";
import type { Line } from "./line.ts";
import { NOON, sentJob, settlement, Tale } from "./tale.ts";

describe("a history is sound in which", () => {
  test.each([...doubtful, ...unusual, ...limits, ...strangers, ...durable, ...flows])("%s", (_name, tell) => {
    expect(checkHistory(tell(new Tale()), { timed: true, epsilonMs: 20 })).toEqual([]);
  });
});

describe("a report that is refused after the next lease was settled", () => {
  /** A failure that is applied, whose answer the engine loses; its repeat comes when another has done the job. */
  const tell = (late: boolean): readonly Line[] => {
    const tale = new Tale().insert("a").claim("w", ["a", 1]).see("end", { worker: "w", job: "a", fence: 1, how: "error" }, "w");
    const failure = { ...settlement("a", 1, {}), outcome: "failed", to: "retrying", delayMs: 1_000, result: null, error: "boom" } as const;
    const before = late ? null : tale.begin("settle", failure, "w");
    const first = tale.engine;
    tale.wait(1_000).claim("v", ["a", 2, { attempt: 2, retryCount: 1, runAt: first + 1_000 }]);
    const report = before ?? tale.begin("settle", failure, "w");
    tale.complete("v", "a", 2);
    report.end("fail", { answer: "stale" });
    return tale.dump(["a", "completed", { attempt: 2 }]);
  };

  test("may have been applied by an engine that repeats by itself, if it began before that lease", () => {
    expect(checkHistory(tell(false), { repeatsByItself: true })).toEqual([]);
    expect(checkHistory(tell(false)).map(({ invariant }) => invariant)).toContain("I3");
  });

  test("was not, if it began after", () => {
    expect(checkHistory(tell(true), { repeatsByItself: true }).map(({ invariant }) => invariant)).toContain("I3");
  });
});

test("a retry by hand that an engine repeats by itself, when the job has died again, gives it one more life than was asked for", () => {
  const tale = new Tale().insert("a", { maxRetries: 0 }).claim("w", ["a", 1]).die("w", "a", 1);
  const retry = tale.begin("retry", { job: "a" }, "operator");
  tale.claim("w", ["a", 2, { retryCount: 0, runAt: tale.engine }]).die("w", "a", 2);
  retry.end("ok", { was: "dead" });
  tale.claim("w", ["a", 3, { retryCount: 0, runAt: tale.engine }]).die("w", "a", 3);
  const lines = tale.dump(["a", "dead", { attempt: 3, maxRetries: 0 }]);
  expect(checkHistory(lines, { repeatsByItself: true })).toEqual([]);
  expect(checkHistory(lines).map(({ invariant }) => invariant)).toContain("I6");
});

test("a cancel that an engine repeats by itself finds the job cancelled", () => {
  const lines = new Tale()
    .insert("a")
    .change("cancel", "a", "cancelled", "fail")
    .dump(["a", "cancelled", { attempt: 0, fence: 1 }]);
  expect(checkHistory(lines, { repeatsByItself: true })).toEqual([]);
  expect(checkHistory(lines).map(({ invariant }) => invariant)).toContain("I5");
});

test("a tick that an engine repeats by itself is told that somebody was faster, and its job is there", () => {
  const timing = { kind: "cron", cron: "*/10 * * * * *", timeZone: "Europe/Berlin" } as const;
  const put = { schedule: "s", timing, catchUp: "one", overlap: "allow", paused: false, nextTick: NOON + 10_000 } as const;
  const tick = { schedule: "s", version: 1, tick: NOON + 10_000, made: sentJob("a") };
  const tale = new Tale().call("put-schedule", put, "ok", {}).wait(10_000).call("tick", tick, "fail", { answer: "stale" });
  tale
    .claim("w", ["a", 1])
    .complete("w", "a", 1)
    .see("stored-schedule", { schedule: "s", lastTick: NOON + 10_000, lastJob: "a" });
  const lines = tale.dump(["a", "completed"]);
  expect(checkHistory(lines, { repeatsByItself: true })).toEqual([]);
  expect(checkHistory(lines).map(({ invariant }) => invariant)).toContain("I2");
});
