import { describe, expect, test } from "vitest";
import { age, moment, rate, span, took } from "../../../src/cli/figures.ts";
import { progressLine } from "../../../src/cli/progress.ts";

const NOW = Date.UTC(2026, 2, 1, 12);

describe("numbers and times as people read them", () => {
  test.each([
    [age(null, NOW), "-"],
    [age(NOW - 999, NOW), "0s"],
    [age(NOW - 61_000, NOW), "1m"],
    [age(NOW + 5000, NOW), "0s"],
    [span(7_200_000), "2h"],
    [span(200_000_000), "2d"],
    [took(null), "-"],
    [took(0.4), "0 ms"],
    [took(1234), "1.2 s"],
    [took(125_000), "2m 5s"],
    [moment(null, NOW), "-"],
    [moment(NOW, NOW), "2026-03-01T12:00:00.000Z (0s ago)"],
    [moment(NOW + 60_000, NOW), "2026-03-01T12:01:00.000Z (in 1m)"],
    [rate(0), "0/s"],
    [rate(0.25), "0.3/s"],
    [rate(12345.6), "12,346/s"],
  ])("%s", (found, wanted) => {
    expect(found).toBe(wanted);
  });
});

describe("a line of progress", () => {
  test.each([
    [{ done: 0, total: 100 }, "retrying ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 0 % 0 of 100"],
    [{ done: 50, total: 100 }, "retrying ███████████████░░░░░░░░░░░░░░░ 50 % 50 of 100"],
    [{ done: 120, total: 100 }, "retrying ██████████████████████████████ 100 % 120 of 100"],
    [{ done: 1234, total: null }, "retrying 1,234"],
    [{ done: 0, total: null }, "retrying"],
  ])("%o", (progress, line) => {
    expect(progressLine("retrying", progress, true)).toBe(line);
  });

  test("in ASCII where the terminal knows nothing else", () => {
    expect(progressLine("purging", { done: 1, total: 2 }, false)).toBe("purging ###############............... 50 % 1 of 2");
  });
});
