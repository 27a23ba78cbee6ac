import { describe, expect, test } from "vitest";
import { AT_THE_START, type BulkFailure, isMarked, linesOf, MAX_FAILURES, readBulkLog, spreadSteps } from "../../../src/core/bulk.ts";
import { MAX_LOG_LINES } from "../../../src/core/job.ts";

const failure = (id: string): BulkFailure => ({ id, code: "not_found", message: `there is no job ${id}` });
const mark = { processed: 3, succeeded: 2, failed: 1, batches: 1, cursor: "c" };
const asLines = (texts: readonly string[]): { text: string }[] => texts.map((text) => ({ text }));

describe("the log of an operation", () => {
  test("tells the last mark and all failures", () => {
    const later = { ...mark, processed: 5, batches: 2, cursor: null };
    const lines = [...linesOf([failure("a")], mark), ...linesOf([failure("b")], null), ...linesOf([], later)];
    expect(readBulkLog(asLines(lines))).toEqual({ mark: later, failures: [failure("a"), failure("b")] });
  });

  test("that is empty is a beginning", () => {
    expect(readBulkLog([])).toEqual({ mark: AT_THE_START, failures: [] });
  });

  test("may have a line twice, and lines that are not ours", () => {
    const lines = linesOf([failure("a")], mark);
    expect(readBulkLog(asLines([...lines, "… 3 more lines were dropped", "null", "7", ...lines]))).toEqual({
      mark,
      failures: [failure("a")],
    });
  });

  test("has room for ten million jobs and the most failures", () => {
    const marks = Array.from({ length: 20_000 }, (_, index) => isMarked(index + 1)).filter(Boolean).length;
    expect(marks + MAX_FAILURES).toBeLessThan(MAX_LOG_LINES);
  });
});

describe("jobs that are spread over a time", () => {
  const minute = { total: 600, spreadMs: 600_000 };

  test("come due one by one if they are few", () => {
    expect(spreadSteps(3, { done: 0, total: 3, spreadMs: 600_000 })).toEqual(
      [0, 200_000, 400_000].map((delayMs) => ({ jobs: 1, delayMs })),
    );
  });

  test("go on in the next batch, and are in few steps however many they are", () => {
    const steps = spreadSteps(500, { done: 100, ...minute });
    expect(steps).toHaveLength(50);
    expect(steps.slice(0, 2)).toEqual([
      { jobs: 10, delayMs: 100_000 },
      { jobs: 10, delayMs: 110_000 },
    ]);
    expect(steps.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(500);
  });

  test("start over if there are more than were counted", () => {
    expect(spreadSteps(1, { done: 601, ...minute })).toEqual([{ jobs: 1, delayMs: 1000 }]);
    expect(spreadSteps(0, { done: 0, ...minute })).toEqual([]);
  });
});
