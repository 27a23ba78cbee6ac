import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bucketBound, bucketOf, BUCKETS, percentile } from "../../../src/core/histogram.ts";

const time = fc.double({ min: 1, max: 86_400_000, noNaN: true });

function histogramOf(times: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const ms of times) counts.set(bucketOf(ms), (counts.get(bucketOf(ms)) ?? 0) + 1);
  return counts;
}

describe("the bucket of a time", () => {
  test("holds it, and the bucket below does not", () => {
    fc.assert(
      fc.property(time, (ms) => {
        const bucket = bucketOf(ms);
        expect(bucketBound(bucket)).toBeGreaterThanOrEqual(ms * (1 - 1e-12));
        if (bucket > 0) expect(bucketBound(bucket - 1)).toBeLessThan(ms * (1 + 1e-12));
      }),
    );
  });

  test.each([0, -5, 1, Number.NaN])("of %d is the first", (ms) => {
    expect(bucketOf(ms)).toBe(0);
  });

  test("of anything longer than a day is the last one", () => {
    expect(bucketOf(86_400_000)).toBeLessThan(BUCKETS);
    expect(bucketOf(Infinity)).toBe(BUCKETS - 1);
    expect(bucketBound(BUCKETS - 1)).toBeGreaterThan(86_400_000);
  });
});

describe("a percentile", () => {
  test("is right to within the width of a bucket", () => {
    fc.assert(
      fc.property(fc.array(time, { minLength: 1, maxLength: 200 }), fc.constantFrom(0.5, 0.95, 0.99, 1), (times, share) => {
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1]!;
        const found = percentile(histogramOf(times), share)!;
        // A bucket's bound, rounded to three digits.
        expect(found).toBeGreaterThanOrEqual(exact * 0.995);
        expect(found).toBeLessThanOrEqual(exact * 2 ** 0.25 * 1.005);
      }),
    );
  });

  test("is the bound of its bucket, in three digits", () => {
    expect([1, 1.1, 3, 7.9, 130, 99_000].map((ms) => percentile(histogramOf([ms]), 0.5))).toEqual([1, 1.19, 3.36, 8, 152, 110_000]);
  });

  test("of nothing is null", () => {
    expect(percentile(new Map(), 0.5)).toBeNull();
    expect(percentile(new Map([[3, 0]]), 0.5)).toBeNull();
  });
});
