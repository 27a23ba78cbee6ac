/**
 * Run and wait times are counted in buckets that grow by about a quarter of a power of two, from 1 ms to 1 day. So percentiles are right to
 * within 19 %, add up over processes and minutes, and cost one small counter each.
 */
export const BUCKETS = 108;

export const STEPS_PER_DOUBLING = 4;

/** The bucket of a time. Bucket 0 holds up to 1 ms, the last one everything above its bound. */
export function bucketOf(ms: number): number {
  if (!(ms > 1)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms) * STEPS_PER_DOUBLING));
}

/** The longest time that a bucket holds, in milliseconds. */
export function bucketBound(bucket: number): number {
  return 2 ** (bucket / STEPS_PER_DOUBLING);
}

/** Counts by bucket; absent is zero. */
export type Histogram = ReadonlyMap<number, number>;

/** The time that this share (0..1) of the runs did not exceed; null without runs. A bucket's bound, up to 19 % too high, so three digits. */
export function percentile(histogram: Histogram, share: number): number | null {
  let total = 0;
  for (const count of histogram.values()) total += count;
  if (total === 0) return null;
  let below = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    below += histogram.get(bucket) ?? 0;
    if (below >= share * total) return shownBound(bucket);
  }
  return shownBound(BUCKETS - 1);
}

function shownBound(bucket: number): number {
  return Number(bucketBound(bucket).toPrecision(3));
}
