import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_CODES, invalid, MillraceError, preview } from "../../../src/core/errors.ts";

describe("an error", () => {
  test("carries its code, and what there is to act on", () => {
    const cause = new Error("below");
    const error = new MillraceError("queue_full", "full", { field: "queue", jobId: "1", retryAfterMs: 1000, cause });
    expect(error).toMatchObject({ name: "MillraceError", code: "queue_full", field: "queue", jobId: "1", retryAfterMs: 1000, cause });
    expect(error).toBeInstanceOf(Error);
  });

  test("without a cause has none", () => {
    expect("cause" in new MillraceError("closed", "closed")).toBe(false);
  });

  test("of bad input names the field, what it must be, and what it was", () => {
    expect(invalid("priority", "a number", "high!")).toMatchObject({
      code: "invalid_input",
      field: "priority",
      message: 'priority must be a number; got "high!"',
    });
  });

  test("has a code from a list without doubles", () => {
    expect(new Set(ERROR_CODES).size).toBe(ERROR_CODES.length);
  });
});

describe("the picture of a value", () => {
  test("is one short printable line, for any value", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const text = preview(value);
        expect(text.length).toBeLessThanOrEqual(82);
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
  });

  test.each([
    ["\u001b[31mred\n", '"\ufffd[31mred\ufffd"'],
    ["\u202eevil", '"\ufffdevil"'],
    [5n, "5n"],
    [null, "null"],
    [[1, 2], "an array of 2"],
    [{}, "an object"],
    [undefined, "undefined"],
  ])("of %s is %s", (value, text) => {
    expect(preview(value)).toBe(text);
  });

  test("does not ask a hostile value anything", () => {
    const hostile = { toString: () => { throw new Error("no"); }, get x(): never { throw new Error("no"); } }; // oxfmt-ignore
    expect(preview(hostile)).toBe("an object");
  });
});
