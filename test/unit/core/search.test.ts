import { describe, expect, test } from "vitest";
import { MAX_SEARCH_LENGTH, readSearch, searchFor, SEARCHED_PAYLOAD_BYTES } from "../../../src/core/search.ts";

describe("a text to search for", () => {
  test.each(["a", " ", "x".repeat(MAX_SEARCH_LENGTH), "é😀", '"\\\n', "%_*."])("may be %j", (text) => {
    expect(readSearch(text)).toBe(text);
  });

  test.each(["", "x".repeat(MAX_SEARCH_LENGTH + 1), "a\u0000b", "\ud800", 5, {}, ["a"], true])("cannot be %j", (text) => {
    expect(() => readSearch(text)).toThrow(expect.objectContaining({ code: "invalid_input", field: "q" }) as Error);
  });
});

describe("a search", () => {
  test("means every character but letters literally", () => {
    for (const text of ["a.c", "[ab]", "^$", "\\u0041", "a|b", "(?:x)", "-", "\n", "😀"]) {
      expect(searchFor(text).isInPayload(`<${text}>`)).toBe(true);
      expect(searchFor(text).isInPayload("abc A u0041 x")).toBe(false);
    }
  });

  test("takes A to Z in either case, and no other letter", () => {
    expect(searchFor("aBz").isInPayload("xAbZx")).toBe(true);
    expect(searchFor("é").isInPayload("É")).toBe(false);
    expect(searchFor("k").isInPayload("\u212a")).toBe(false);
  });

  test("gives engines the text in lower case, and as JSON has it", () => {
    expect(searchFor('É "A"\n')).toMatchObject({ text: 'É "a"\n', inJson: 'É \\"a\\"\\n' });
  });

  test("looks at whole characters of the first bytes", () => {
    const wide = "é".repeat(SEARCHED_PAYLOAD_BYTES / 2 - 1);
    expect(searchFor("éab").isInPayload(`${wide}ab`)).toBe(true);
    expect(searchFor("éabc").isInPayload(`${wide}abc`)).toBe(false);
    expect(searchFor("éaé").isInPayload(`${wide}aé`)).toBe(false);
  });
});
