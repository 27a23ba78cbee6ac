import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Duration, formatDuration, formatSpan, MAX_DELAY_MS, parseDuration } from "../../../src/core/duration.ts";

test.each([
  [0, "0 s"],
  [59_999, "59 s"],
  [60_000, "1 m"],
  [125_000, "2 m 5 s"],
  [3_600_000, "1 h"],
  [90_061_000, "1 d 1 h"],
])("a span of %d ms is %s", (ms, wanted) => {
  expect(formatSpan(ms)).toBe(wanted);
});

describe("parseDuration", () => {
  test.each<[Duration, number]>([
    [0, 0],
    [1500, 1500],
    ["0s", 0],
    ["500ms", 500],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["1.5h", 5_400_000],
    ["1.1s", 1_100],
    ["0.250s", 250],
    ["007s", 7_000],
    ["3652.5d", MAX_DELAY_MS],
  ])("reads %j as %d ms", (value, ms) => {
    expect(parseDuration(value)).toBe(ms);
  });

  test.each([
    [-1],
    [0.5],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [2 ** 53],
    [""],
    [" "],
    ["5"],
    ["5 m"],
    [" 5m"],
    ["5m\n"],
    ["-5m"],
    ["+5m"],
    ["5M"],
    ["5min"],
    ["1h30m"],
    [".5h"],
    ["5.h"],
    ["1e3s"],
    ["0x10s"],
    ["0.5ms"],
    ["1.0005s"],
    ["999999999999999d"],
    ["1ns"],
    ["٣s"],
    ["s"],
    ["Infinitys"],
    [null],
    [undefined],
    [true],
    [5n],
    [["5m"]],
    [{ ms: 5 }],
  ])("does not take %o for a duration", (value) => {
    expect(parseDuration(value)).toBeNull();
  });

  test("a text of a megabyte is refused like any other text", () => {
    expect(parseDuration("9".repeat(1_000_000) + "s")).toBeNull();
  });
});

describe("formatDuration", () => {
  test.each([
    [0, "0ms"],
    [1, "1ms"],
    [1_500, "1500ms"],
    [90_000, "90s"],
    [3_600_000, "1h"],
    [172_800_000, "2d"],
  ])("writes %d ms as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test("what it writes is read back as the same number", () => {
    fc.assert(fc.property(fc.maxSafeNat(), (ms) => parseDuration(formatDuration(ms)) === ms));
  });
});
