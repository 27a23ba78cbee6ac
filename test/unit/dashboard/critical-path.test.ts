import { expect, test } from "vitest";
import { criticalPath } from "../../../src/dashboard/flows/critical-path.ts";

type Timed = Parameters<typeof criticalPath>[0][number];

const member = (
  name: string,
  after: readonly string[] | "*",
  startedAt: number | null,
  endedAt: number | null,
  status: Timed["status"] = "completed",
): Timed => ({ name, after, status, startedAt, endedAt });

const told = (members: readonly Timed[]): string[] =>
  criticalPath(members, 100, 1000).map(({ member: { name }, readyAt, waitMs, runMs }) => `${name} at ${readyAt}: ${waitMs} + ${runMs}`);

test("the chain goes from the member that ended last back through the predecessor that ended last", () => {
  const members = [
    member("fetch", [], 110, 200),
    member("fast", ["fetch"], 205, 210),
    member("slow", ["fetch"], 220, 400),
    member("report", ["fast", "slow"], 450, 500),
    member("aside", [], 101, 490),
  ];
  expect(told(members)).toEqual(["fetch at 100: 10 + 90", "slow at 200: 20 + 180", "report at 400: 50 + 50"]);
});

test("its waits and runs add up to the time of the flow", () => {
  const members = [member("a", [], 150, 300), member("b", ["a"], 310, 420), member("done", "*", 430, 480)];
  const sum = criticalPath(members, 100, 1000).reduce((total, { waitMs, runMs }) => total + waitMs + runMs, 0);
  expect(sum).toBe(480 - 100);
});

test("who waits for all others waits for the one that ended last", () => {
  const members = [member("a", [], 110, 300), member("b", [], 110, 350), member("done", "*", 360, 380), member("also", "*", 360, 370)];
  expect(told(members)).toEqual(["b at 100: 10 + 240", "done at 350: 10 + 20"]);
});

test("whoever never started determined no end, but may have been waited for", () => {
  const members = [
    member("dies", [], 110, 200),
    member("cut", ["dies"], null, 210),
    member("cleans", ["cut"], 230, 260),
    member("cut too", ["cleans"], null, 300),
  ];
  expect(told(members)).toEqual(["dies at 100: 10 + 90", "cut at 200: 10 + 0", "cleans at 210: 20 + 30"]);
});

test("a predecessor that was retried, and ended after what waited for it, makes no time negative", () => {
  const members = [member("again", [], 500, 600), member("ran on", ["again"], 210, 650)];
  expect(told(members)).toEqual(["again at 100: 400 + 100", "ran on at 600: 0 + 50"]);
});

test("a member that runs counts as if it ended now; one that waits for its retry does not count", () => {
  const members = [
    member("a", [], 110, 200),
    member("b", ["a"], 210, null, "running"),
    member("c", ["a"], 300, null, "retrying"),
    member("d", ["b"], null, null, "blocked"),
  ];
  expect(told(members)).toEqual(["a at 100: 10 + 90", "b at 200: 10 + 790"]);
});

test("there is none as long as no member has started", () => {
  expect(told([member("a", [], null, null, "pending"), member("b", ["a"], null, null, "blocked")])).toEqual([]);
  expect(told([])).toEqual([]);
});
