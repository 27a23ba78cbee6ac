import { describe, expect, test } from "vitest";
import { AT_THE_START, type BulkFailure, isMarked, linesOf, MAX_FAILURES, readBulkLog } from "../../../src/core/bulk.ts";
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
