import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { safeLine } from "../../../src/core/safe-line.ts";
import { safeJson, safeLines, safePrettyJson } from "../../../src/cli/safe-text.ts";

describe("W29: text that a terminal would obey is written out", () => {
  test.each([
    ["an escape sequence", "\u001b[31mred", "\\u001b[31mred"],
    ["the title of the window", "\u001b]0;owned\u0007", "\\u001b]0;owned\\u0007"],
    ["a one-byte control sequence", "\u009b2J", "\\u009b2J"],
    ["delete", "a\u007fb", "a\\u007fb"],
    ["a line end", "a\r\nb", "a\\u000d\\u000ab"],
    ["text from right to left", "\u202egnp.exe", "\\u202egnp.exe"],
    ["an isolate", "\u2066a\u2069", "\\u2066a\\u2069"],
    ["an Arabic mark", "\u061c", "\\u061c"],
    ["a line separator", "a\u2028b", "a\\u2028b"],
    ["half a character", "a\ud800b", "a\\ud800b"],
    ["nothing in an honest text", "Grüße, 世界 👋🏽", "Grüße, 世界 👋🏽"],
  ])("%s", (_name, text, safe) => {
    expect(safeLine(text)).toBe(safe);
  });

  test("whatever the text is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(safeLine(text)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c\u2028\u2029]/);
      }),
    );
  });

  test("several lines stay several, and tabs become spaces", () => {
    expect(safeLines("a\n\tb\r\nc\u001b")).toEqual(["a", "  b", "c\\u001b"]);
  });
});

describe("JSON is as safe as it is exact", () => {
  test("what JSON leaves as it is, is written as an escape", () => {
    expect(safeJson({ a: "\u009b\u202e\u007f" })).toBe('{"a":"\\u009b\\u202e\\u007f"}');
  });

  test("it is read back as what it was", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        expect(JSON.parse(safeJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(JSON.parse(safePrettyJson(value).join("\n"))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});
