import { describe, expect, test } from "vitest";
import { errorGroup, GROUP, groupWords, withGroup } from "../../../src/core/error-group.ts";

const group = (message: string): string => errorGroup("Error", message);

describe("errors are of one group", () => {
  test.for([
    ["numbers", "timed out after 30000 ms", "timed out after 12.5 ms"],
    ["times of day", "late since 10:15:00", "late since 9:05"],
    ["large numbers with commas", "1,234,567 rows", "12 rows"],
    ["UUIDs in any case", "no user 0190d2f0-7b1a-7abc-8def-0123456789ab", "no user FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFF"],
    ["hexadecimal ids", "object 5f43a1c09e1b is gone", "object 00000000deadbeef is gone"],
    ["addresses", "at 0xdeadbeef", "at 0x1"],
    ["texts in double quotes", 'no key "a b"', 'no key ""'],
    ["texts in single quotes", "no key 'ann' here", "no key 'bob the 2nd' here"],
    ["texts in backquotes", "no key `a`", "no key `b\nc`"],
    ["white space", "a  b\n c", " a b c "],
    ["numbers before a long rest", `request 7 failed${" and so on".repeat(70)}`, `request 123456 failed${" and so on".repeat(70)}`],
    ["what comes after 500 characters", `${"x".repeat(500)}a`, `${"x".repeat(500)}b`],
  ] as const)("that differ in %s", ([, one, other]) => {
    expect(group(one)).toBe(group(other));
  });
});

describe("a group is named by", () => {
  test.for([
    ["name and message", "TypeError", "x is not a function", "TypeError: x is not a function"],
    ["the first line alone", "Error", "\n no route \nat a\nat b", "Error: no route"],
    ["its name, without a message", "TimeoutError", "", "TimeoutError"],
    ["both ends of a long one", "Error", `${"a".repeat(90)}${"z".repeat(90)}`, `Error: ${"a".repeat(62)}…${"z".repeat(30)}`],
    ["whole characters", "E", "\u{1F4A5}".repeat(120), `E: ${"\u{1F4A5}".repeat(66)}…${"\u{1F4A5}".repeat(30)}`],
  ] as const)("%s", ([, name, message, words]) => {
    expect(groupWords({ name, message })).toBe(words);
  });
});

describe("errors are of two groups", () => {
  test.for([
    ["words", "no such user", "no such order"],
    ["words that look like hexadecimal digits without one", "the facade", "the decade"],
    ["words between apostrophes", "can't read, won't", "can't write, won't"],
    ["words around quoted texts", 'read "a"', 'write "a"'],
    ["an alphabet", "ошибка", "грешка"],
    ["a character beyond the first plane", "\u{1F4A5}", "\u{1F4A6}"],
    ["case", "Timeout", "timeout"],
  ] as const)("that differ in %s", ([, one, other]) => {
    expect(group(one)).not.toBe(group(other));
  });

  test("with other names", () => {
    expect(errorGroup("TypeError", "no")).not.toBe(errorGroup("RangeError", "no"));
    expect(errorGroup("a", "b c")).not.toBe(errorGroup("a b", "c"));
  });

  test("thousands of messages make thousands of groups", () => {
    const letters = (number: number): string => number.toString(26).replace(/\d/g, (digit) => String.fromCharCode(113 + Number(digit)));
    const groups = new Set(Array.from({ length: 20_000 }, (_, index) => group(`word ${letters(index)}`)));
    expect(groups.size).toBe(20_000);
  });
});

describe("whatever the error is", () => {
  const hostile = [
    "",
    "\u0000",
    "\ud800",
    "null",
    '"',
    "'".repeat(999),
    '"a'.repeat(400),
    "`'\"".repeat(300),
    "0x".repeat(400),
    "1.".repeat(500),
    "a".repeat(5_000_000),
    "0".repeat(5_000_000),
    "f0".repeat(2_000_000),
    "0190d2f0-".repeat(500_000),
    " \n\t".repeat(1_000_000),
    "(a+)+$".repeat(1000),
  ];

  test("it has a group of twelve hexadecimal digits, always the same", () => {
    for (const text of hostile) {
      expect(errorGroup(text, text)).toMatch(GROUP);
      expect(errorGroup(text, text)).toBe(errorGroup(text, text));
    }
  });

  test("the group is the same in every version and on every machine: it is stored", () => {
    expect(errorGroup("Error", "boom")).toBe("7e394fe9e262");
    expect(errorGroup("TypeError", 'no user 7 in "x"')).toBe("bbfd29da33aa");
  });

  test("the group comes first, where stores look for it", () => {
    const stored = withGroup({ name: "Error", message: "boom", stack: null, kind: "error" });
    expect(JSON.stringify(stored)).toBe('{"group":"7e394fe9e262","name":"Error","message":"boom","stack":null,"kind":"error"}');
  });
});
