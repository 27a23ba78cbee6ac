import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lostDelay, RETRY_CAP_MS, retryDelay } from "../../../src/core/retry.ts";

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const base = fc.integer({ min: 0, max: 10 * 365 * 86_400_000 });

describe("the delay before a retry", () => {
  test("is whole, finite and within the cap for any retry, base and chance", () => {
    fc.assert(
      fc.property(base, fc.integer({ min: 1, max: 1_000_000 }), random, (baseMs, n, chance) => {
        const delay = retryDelay(baseMs, n, chance);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(RETRY_CAP_MS);
      }),
    );
  });

  test("doubles from the base on, with a quarter of jitter to either side", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 4 }), random, (baseMs, n, chance) => {
        const middle = baseMs * 2 ** (n - 1);
        expect(Math.abs(retryDelay(baseMs, n, chance) - middle)).toBeLessThanOrEqual(middle / 4 + 1);
        expect(retryDelay(baseMs, n, 0.5)).toBe(middle);
      }),
    );
  });

  test("is 0 for a base of 0, however often it was tried", () => {
    for (const n of [1, 2, 60, 1025, 5000]) expect(retryDelay(0, n, 0.9)).toBe(0);
  });
});

describe("the wait after a loss", () => {
  test("is that of a first retry after the first one", () => {
    fc.assert(fc.property(base, random, (baseMs, chance) => lostDelay(baseMs, 1, chance) === retryDelay(baseMs, 1, chance)));
  });

  test("is drawn evenly between the base delay and 30 s × 4^(n−2) from the second on, and never above the cap", () => {
    expect([2, 3, 4, 5, 1_000_000].map((n) => lostDelay(1000, n, 0))).toEqual([1000, 1000, 1000, 1000, 1000]);
    const farthest = [2, 3, 4, 5, 1_000_000].map((n) => lostDelay(1000, n, 1));
    expect(farthest).toEqual([30_000, 120_000, RETRY_CAP_MS, RETRY_CAP_MS, RETRY_CAP_MS]);
    fc.assert(
      fc.property(base, fc.integer({ min: 2, max: 1_000_000 }), random, (baseMs, n, chance) => {
        const [near, far] = [lostDelay(baseMs, n, 0), lostDelay(baseMs, n, 1)];
        const delay = lostDelay(baseMs, n, chance);
        expect(Number.isInteger(delay)).toBe(true);
        expect(Math.abs(delay - (near + (far - near) * chance))).toBeLessThanOrEqual(1);
        expect(Math.max(near, far)).toBeLessThanOrEqual(RETRY_CAP_MS);
        expect(near).toBe(Math.min(baseMs, RETRY_CAP_MS));
      }),
    );
  });
});
