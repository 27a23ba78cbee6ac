import { expect, test } from "vitest";
import type { JobStep } from "../../../src/dashboard/shapes.ts";
import { beganAt, inOrder, tookMs } from "../../../src/dashboard/step-words.ts";

function step(name: string, fields: Partial<JobStep>): JobStep {
  return {
    name,
    kind: "step",
    state: "done",
    value: null,
    error: null,
    until: null,
    startedAt: 100,
    endedAt: 100,
    by: null,
    attempt: 1,
    runMs: null,
    call: null,
    schema: null,
    refused: [],
    ...fields,
  };
}

test("a function began before its result was stored, and took as long as it ran", () => {
  const stored = step("charge", { startedAt: 500, endedAt: 500, runMs: 320 });
  expect(beganAt(stored)).toBe(180);
  expect(tookMs(stored)).toBe(320);
});

test("a wait began when it was stored, and takes until it ends", () => {
  const wait = step("approval", { kind: "wait", startedAt: 500, endedAt: 900 });
  expect(beganAt(wait)).toBe(500);
  expect(tookMs(wait)).toBe(400);
  expect(tookMs(step("approval", { kind: "wait", state: "open", endedAt: null }))).toBeNull();
});

test("steps are in the order in which they began; of those that began together, the first that ended comes first", () => {
  const steps = [
    step("open", { kind: "wait", state: "open", startedAt: 400, endedAt: null }),
    step("slept", { kind: "sleep", startedAt: 400, endedAt: 600 }),
    step("long", { startedAt: 450, endedAt: 450, runMs: 400 }),
    step("early", { startedAt: 60, endedAt: 60 }),
  ];
  expect(inOrder(steps).map(({ name }) => name)).toEqual(["long", "early", "slept", "open"]);
});
