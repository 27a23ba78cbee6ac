import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rank, STRICT_HEAD_START_MS } from "../../../src/core/rank.ts";

const runAt = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) });
const priority = fc.integer({ min: -100, max: 100 });

describe("the rank", () => {
  test("puts the higher priority first by default, whenever the jobs are due", () => {
    fc.assert(
      fc.property(runAt, runAt, priority, priority, (atA, atB, a, b) => {
        fc.pre(a > b);
        expect(rank(atA, a, STRICT_HEAD_START_MS)).toBeLessThan(rank(atB, b, STRICT_HEAD_START_MS));
      }),
    );
  });

  test("loses no millisecond to the size of the head start", () => {
    fc.assert(
      fc.property(runAt, priority, (at, level) => {
        expect(rank(at + 1, level, STRICT_HEAD_START_MS) - rank(at, level, STRICT_HEAD_START_MS)).toBe(1);
      }),
    );
  });

  test("lets nothing starve under a head start of a minute: a step of priority is worth a minute and no more", () => {
    expect(rank(0, 0, 60_000)).toBeLessThan(rank(600_001, 10, 60_000));
    expect(rank(0, 0, 60_000)).toBeGreaterThan(rank(599_999, 10, 60_000));
  });
});
