import { describe, expect, test } from "vitest";
import type { Attempt, Status } from "../../../src/core/job.ts";
import { timelineOf } from "../../../src/dashboard/job-timeline.ts";

function attempt(number: number, startedAt: number, endedAt: number | null, outcome: Attempt["outcome"]): Attempt {
  return { number, workerId: "w", startedAt, endedAt, durationMs: endedAt === null ? null : endedAt - startedAt, outcome, error: null };
}

/** The spans as "kind from-to". */
function spansOf(status: Status, times: { scheduledAt?: number; completedAt?: number }, attempts: readonly Attempt[]): string[] {
  const job = { createdAt: 100, scheduledAt: times.scheduledAt ?? null, completedAt: times.completedAt ?? null, status };
  return timelineOf(job, attempts).map(({ kind, from, to }) => `${kind} ${from}-${to ?? ""}`);
}

describe("the timeline of a job", () => {
  test("that waits begins at its creation and goes on", () => {
    expect(spansOf("pending", {}, [])).toEqual(["waiting 100-"]);
    expect(spansOf("scheduled", { scheduledAt: 500 }, [])).toEqual(["scheduled 100-"]);
  });

  test("tells waiting for its time from waiting for a worker", () => {
    expect(spansOf("pending", { scheduledAt: 500 }, [])).toEqual(["scheduled 100-500", "waiting 500-"]);
    expect(spansOf("completed", { scheduledAt: 500, completedAt: 700 }, [attempt(1, 520, 700, "completed")])).toEqual([
      "scheduled 100-500",
      "waiting 500-520",
      "completed 520-700",
    ]);
  });

  test("has a rest between attempts, and one that goes on before a retry", () => {
    const attempts = [attempt(1, 110, 120, "failed"), attempt(2, 200, 230, "failed")];
    expect(spansOf("retrying", { scheduledAt: 900 }, attempts)).toEqual([
      "waiting 100-110",
      "failed 110-120",
      "backoff 120-200",
      "failed 200-230",
      "backoff 230-",
    ]);
    expect(spansOf("dead", { completedAt: 230 }, attempts).at(-1)).toBe("failed 200-230");
  });

  test("ends with the attempt that runs", () => {
    expect(spansOf("running", {}, [attempt(1, 110, null, "running")])).toEqual(["waiting 100-110", "running 110-"]);
  });

  test("of a job that was cancelled before it ran is all waiting", () => {
    expect(spansOf("cancelled", { completedAt: 300 }, [])).toEqual(["waiting 100-300"]);
    expect(spansOf("cancelled", { scheduledAt: 900, completedAt: 300 }, [])).toEqual(["waiting 100-300"]);
  });
});
