/** No retry waits longer than this, whatever its base delay. */
export const RETRY_CAP_MS: number = 5 * 60_000;

const JITTER = 0.25;

/**
 * The delay before the n-th retry (n = 1 for the first): base × 2^(n−1), capped, ± 25 %, capped again.
 * `random` is in [0, 1). The result is a whole number of milliseconds, finite for any n.
 */
export function retryDelay(baseMs: number, n: number, random: number): number {
  // 2^1024 is Infinity, and 0 × Infinity is NaN: the exponent stops long after the cap is reached.
  const doublings = Math.min(Math.max(n - 1, 0), 60);
  const capped = Math.min(RETRY_CAP_MS, baseMs * 2 ** doublings);
  const jittered = capped * (1 + JITTER * (2 * random - 1));
  return Math.round(Math.min(RETRY_CAP_MS, Math.max(0, jittered)));
}
