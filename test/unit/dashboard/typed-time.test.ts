import { describe, expect, test } from "vitest";
import { readTypedTime, typedTime } from "../../../src/dashboard/typed-time.ts";

describe("a typed time", () => {
  test.each(["2h", "90m", "7d", "1.5h"])("%s is a span, which moves with the clock", (text) => {
    expect(readTypedTime(` ${text} `)).toBe(text);
    expect(typedTime(text)).toBe(text);
  });

  test.each([
    ["2026-11-15 10:00", new Date(2026, 10, 15, 10)],
    ["2026-11-15T10:00", new Date(2026, 10, 15, 10)],
    ["2026-11-15 9:05", new Date(2026, 10, 15, 9, 5)],
    ["2026-11-15 10:00:30", new Date(2026, 10, 15, 10, 0, 30)],
    ["2026-11-15", new Date(2026, 10, 15)],
    ["2026-11-15T10:00:00Z", new Date(Date.UTC(2026, 10, 15, 10))],
  ])("%s is that moment, by the clock of the reader", (text, moment) => {
    expect(readTypedTime(text)).toBe(moment.toISOString());
  });

  test.each(["yesterday", "", "10", "2026-02-31", "2026-11-15 25:00", "15.11.2026", "-2h"])("%j is none", (text) => {
    expect(readTypedTime(text)).toBeNull();
  });

  test("is shown as it could be typed", () => {
    expect(typedTime(new Date(2026, 10, 15, 10).toISOString())).toBe("2026-11-15 10:00");
    expect(typedTime(new Date(2026, 10, 15, 10, 0, 30).toISOString())).toBe("2026-11-15 10:00:30");
    expect(typedTime("")).toBe("");
    expect(typedTime("nonsense")).toBe("nonsense");
  });
});
