import fc from "fast-check";
import { expect, test } from "vitest";
import { idMaker } from "../../../../src/lib/id.ts";
import { longId, shortId } from "../../../../src/store/redis/ids.ts";
import { TAG } from "../../../../src/store/redis/layout.ts";

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

test("4,000 ids that one maker makes for a partition name one bucket, whatever their time, and other makers name others", () => {
  const bucketsOf = (ids: readonly string[]): Set<string> => new Set(ids.map((id) => shortId(id).slice(TAG.from, TAG.to)));
  let now = 1;
  const make = idMaker(() => (now += 123_456_789));
  expect(bucketsOf(Array.from({ length: 4_000 }, () => make(17))).size).toBe(1);
  expect(bucketsOf(Array.from({ length: 100 }, () => idMaker(() => now)(17))).size).toBeGreaterThan(50);
});
