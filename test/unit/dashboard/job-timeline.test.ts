import { describe, expect, test } from "vitest";
import type { Attempt, Status } from "../../../src/core/job.ts";
import type { ManualAction, ManualChange } from "../../../src/core/manual-change.ts";
import { type Step, timelineOf } from "../../../src/dashboard/job-timeline.ts";

function attempt(number: number, startedAt: number, endedAt: number | null, outcome: Attempt["outcome"]): Attempt {
  return { number, workerId: "w", startedAt, endedAt, durationMs: endedAt === null ? null : endedAt - startedAt, outcome, error: null };
}

/** The spans as "kind from-to". */
function spansOf(status: Status, times: { scheduledAt?: number; completedAt?: number }, attempts: readonly Attempt[]): string[] {
  const job = { createdAt: 100, scheduledAt: times.scheduledAt ?? null, completedAt: times.completedAt ?? null, status };
  return textOf(timelineOf(job, attempts, []).filter(({ step }) => step === "span"));
}

/** The steps as text: spans as "kind from-to", ends as "status at", changes as "action by at". */
function textOf(steps: readonly Step[]): string[] {
  return steps.map((step) => {
    if (step.step === "span") return `${step.kind} ${step.from}-${step.to ?? ""}`;
    if (step.step === "end") return `${step.status} ${step.at}`;
    return `${step.change.action} by ${step.change.by} ${step.at}${step.afterMs === null ? "" : ` after ${step.afterMs}`}`;
  });
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

  test("of a job that kept steps while it seemed to wait says that it was suspended", () => {
    const job = { createdAt: 100, scheduledAt: 9000, completedAt: null, status: "blocked" } as const;
    const kept = [
      { kind: "step", startedAt: 150, endedAt: 150 },
      { kind: "wait", startedAt: 160, endedAt: null },
    ] as const;
    expect(textOf(timelineOf(job, [], [], kept))).toEqual(["waiting 100-150", "suspended 150-"]);
    const ended = { ...job, status: "completed", completedAt: 900 } as const;
    expect(textOf(timelineOf(ended, [attempt(1, 800, 900, "completed")], [], kept))).toEqual([
      "waiting 100-150",
      "suspended 150-800",
      "completed 800-900",
      "completed 900",
    ]);
  });

  test("does not take a signal that came early for a run", () => {
    const job = { createdAt: 100, scheduledAt: null, completedAt: null, status: "pending" } as const;
    expect(textOf(timelineOf(job, [], [], [{ kind: "wait", startedAt: 150, endedAt: 150 }]))).toEqual(["waiting 100-"]);
  });

  test("ends with the attempt that runs", () => {
    expect(spansOf("running", {}, [attempt(1, 110, null, "running")])).toEqual(["waiting 100-110", "running 110-"]);
  });

  test("of a job that was cancelled before it ran is all waiting", () => {
    expect(spansOf("cancelled", { completedAt: 300 }, [])).toEqual(["waiting 100-300"]);
    expect(spansOf("cancelled", { scheduledAt: 900, completedAt: 300 }, [])).toEqual(["waiting 100-300"]);
  });

  describe("with changes by hand", () => {
    const life = (status: Status, times: { scheduledAt?: number; completedAt?: number } = {}) => ({
      createdAt: 100,
      scheduledAt: times.scheduledAt ?? null,
      completedAt: times.completedAt ?? null,
      status,
    });
    const change = (action: ManualAction, at: number, from: Status, attempts: number): ManualChange => {
      return { action, at, from, attempt: attempts, by: "ann", reason: null };
    };

    test("has both lives of a job that died and was retried", () => {
      const attempts = [attempt(1, 110, 120, "failed"), attempt(2, 410, 450, "completed")];
      expect(textOf(timelineOf(life("completed", { completedAt: 450 }), attempts, [change("retried", 400, "dead", 1)]))).toEqual([
        "waiting 100-110",
        "failed 110-120",
        "dead 120",
        "ended 120-400",
        "retried by ann 400 after 280",
        "waiting 400-410",
        "completed 410-450",
        "completed 450",
      ]);
    });

    test("goes on waiting after a retry that no worker has taken yet", () => {
      const steps = timelineOf(
        life("pending", { scheduledAt: 400 }),
        [attempt(1, 110, 120, "failed")],
        [change("retried", 400, "dead", 1)],
      );
      expect(textOf(steps).slice(2)).toEqual(["dead 120", "ended 120-400", "retried by ann 400 after 280", "waiting 400-"]);
    });

    test("says who started a job before its time, and what it waited for until then", () => {
      const first = timelineOf(life("running"), [attempt(1, 210, null, "running")], [change("started", 200, "scheduled", 0)]);
      expect(textOf(first)).toEqual(["scheduled 100-200", "started by ann 200", "waiting 200-210", "running 210-"]);
      const retry = timelineOf(life("pending"), [attempt(1, 110, 120, "failed")], [change("started", 200, "retrying", 1)]);
      expect(textOf(retry).slice(2)).toEqual(["backoff 120-200", "started by ann 200", "waiting 200-"]);
    });

    test("says who cancelled it, running or waiting, and when it was retried", () => {
      const changes = [
        change("cancelled", 150, "running", 1),
        change("retried", 200, "cancelled", 1),
        change("cancelled", 300, "pending", 1),
      ];
      expect(textOf(timelineOf(life("cancelled", { completedAt: 300 }), [attempt(1, 110, 150, "cancelled")], changes))).toEqual([
        "waiting 100-110",
        "cancelled 110-150",
        "cancelled by ann 150",
        "ended 150-200",
        "retried by ann 200 after 50",
        "waiting 200-300",
        "cancelled by ann 300",
        "cancelled 300",
      ]);
    });
  });
});
