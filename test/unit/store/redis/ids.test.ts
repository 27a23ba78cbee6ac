import fc from "fast-check";
import { expect, test } from "vitest";
import { longId, shortId } from "../../../../src/store/redis/ids.ts";

test("any id comes back from its 22 characters, and no two share them", () => {
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (one, other) => {
      const short = shortId(one);
      expect(short).toMatch(/^[A-Za-z0-9_-]{22}$/);
      expect(longId(Buffer.from(short))).toBe(one);
      expect(short === shortId(other)).toBe(one === other);
    }),
  );
});

test("digits in capitals are the same id", () => {
  const id = "0199d3a0-abcd-7eef-8def-0123456789ab";
  expect(shortId(id.toUpperCase())).toBe(shortId(id));
});
