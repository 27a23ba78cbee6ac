import { describe, expect, test } from "vitest";
import { bytes, compact, distance, limit, percent, rate, shortDecimal, took } from "../../../src/dashboard/format.ts";
import { visible } from "../../../src/dashboard/safe-text.ts";

describe("figures", () => {
  test.each([
    [compact(99_999), "99,999"],
    [compact(1_234_567), "1.2M"],
    [percent(999_999, 1_000_000), "99.9 %"],
    [percent(0, 0), "–"],
    [percent(5, 5), "100 %"],
    [shortDecimal(100 / 3), "33.3"],
    [shortDecimal(40), "40"],
    [rate(0), "0/s"],
    [rate(0.25), "0.3/s"],
    [rate(1234), "1,234/s"],
    [bytes(1023), "1023 B"],
    [bytes(1024 * 1024), "1.0 MB"],
    [limit(0), "none"],
    [limit(90_000), "90s"],
  ])("%s", (written, expected) => {
    expect(written).toBe(expected);
  });
});

describe("times", () => {
  test.each([
    [took(null), "–"],
    [took(0.42), "0.4 ms"],
    [took(999), "999 ms"],
    [took(1240), "1.24 s"],
    [took(125_000), "2 m 5 s"],
    [distance(1000, 1500), "now"],
    [distance(0, 180_000), "3 m ago"],
    [distance(7_200_000, 0), "in 2 h"],
  ])("%s", (written, expected) => {
    expect(written).toBe(expected);
  });
});

describe("texts that others stored", () => {
  test("show what is unseen, and what would turn or hide the rest", () => {
    expect(visible("a\u202eb\u200bc\u0000d\u001be\u2028f\ufeffg")).toBe("a\\u202eb\\u200bc\\u0000d\\u001be\\u2028f\\ufeffg");
    expect(visible("half \ud83d of a pair")).toBe("half \\ud83d of a pair");
  });

  test("are left as they are otherwise, in any language", () => {
    const text = "Grüße, 你好, שלום, 👩‍🚀 tab\tand\nline".replace("\u200d", "");
    expect(visible(text)).toBe(text);
  });
});
