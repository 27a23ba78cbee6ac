import { expect, test } from "vitest";
import type { Attempt } from "../../../src/core/job.ts";
import { type ManualAction, type ManualChange, readActor, withLives } from "../../../src/core/manual-change.ts";

function attempts(count: number): Attempt[] {
  return Array.from({ length: count }, (_, index) => {
    return { number: index + 1, workerId: "w", startedAt: index, endedAt: index, durationMs: 0, outcome: "failed", error: null };
  });
}

function change(action: ManualAction, attempt: number): ManualChange {
  return { action, attempt, at: 0, from: "dead", by: null, reason: null };
}

test.each<[string, ManualChange[], number[]]>([
  ["a job that nobody changed has one life", [], [1, 1, 1, 1]],
  ["each retry by hand begins a life", [change("retried", 1), change("retried", 3)], [1, 2, 2, 3]],
  ["a cancel and a start begin none", [change("started", 0), change("cancelled", 2)], [1, 1, 1, 1]],
  ["a life may pass without an attempt", [change("retried", 2), change("cancelled", 2), change("retried", 2)], [1, 1, 3, 3]],
  ["a retry that no attempt followed changes nothing", [change("retried", 4)], [1, 1, 1, 1]],
])("%s", (_, changes, lives) => {
  expect(withLives(attempts(4), changes).map(({ life }) => life)).toEqual(lives);
});

test("who the call names goes before who the client is", () => {
  expect(readActor({ by: "ann", reason: "because" }, "billing")).toEqual({ by: "ann", reason: "because" });
  expect(readActor({}, "billing")).toEqual({ by: "billing", reason: null });
  expect(readActor({}, undefined)).toEqual({ by: null, reason: null });
});
