import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, fingerprint } from "../../../src/core/unique.ts";

/** The same value with the keys of every object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}

describe("canonical JSON", () => {
  test("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test("says the same as the value it was made from", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  test("tells different values apart", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const [plainA, plainB] = [a, b].map((value) => JSON.parse(JSON.stringify(value)) as unknown);
        const equal = canonicalJson(plainA) === canonicalJson(plainB);
        if (equal) expect(plainA).toEqual(plainB);
      }),
    );
  });
});

describe("the fingerprint of a job", () => {
  test("is one for equal payloads in any order of keys", () => {
    expect(fingerprint("mail", '{"a":1,"b":[1,{"c":2,"d":3}]}')).toBe(fingerprint("mail", '{"b":[1,{"d":3,"c":2}],"a":1}'));
  });

  test.each([
    ["another type", "mail2", '{"a":1}'],
    ["another payload", "mail", '{"a":2}'],
    ["a number instead of a text", "mail", '{"a":"1"}'],
  ])("is another for %s", (_, type, payload) => {
    expect(fingerprint(type, payload)).not.toBe(fingerprint("mail", '{"a":1}'));
  });

  test("does not mix up where the type ends and the payload begins", () => {
    expect(fingerprint("a", "1")).not.toBe(fingerprint("a1", "1"));
  });
});
