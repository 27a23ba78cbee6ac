/** The longest delay before a retry, whatever its base delay. */
export const RETRY_CAP_MS: number = 5 * 60_000;

/** The backoff that keeps the delay. `exponential` doubles it, and so does a name that no worker knows. */
export const FIXED_BACKOFF = "fixed";

const JITTER = 0.25;

/** The longest wait after the second loss. Each further loss makes it four times as long, up to the cap. */
const LOST_SPREAD_MS = 30_000;

/**
 * The delay before the n-th retry (n = 1 for the first): base × 2^(n−1), capped, ± 25 %, capped again.
 * `random` is in [0, 1). The result is a whole number of milliseconds, finite for any n.
 */
export function retryDelay(baseMs: number, n: number, random: number): number {
  // 2^1024 is Infinity, and 0 × Infinity is NaN: the exponent is limited, well beyond the cap.
  const doublings = Math.min(Math.max(n - 1, 0), 60);
  const capped = Math.min(RETRY_CAP_MS, baseMs * 2 ** doublings);
  const jittered = capped * (1 + JITTER * (2 * random - 1));
  return Math.round(Math.min(RETRY_CAP_MS, Math.max(0, jittered)));
}

/**
 * The wait after the n-th loss (n = 1 for the first). The first loss counts as an accident and has the delay of a first retry. From the second
 * on, the wait is random between the base delay and 30 s × 4^(n−2), capped. Jobs that were lost together may have been lost because of one
 * of them. Spread out, they do not start together again, and the one that crashes its process then runs alone.
 */
export function lostDelay(baseMs: number, n: number, random: number): number {
  if (n <= 1) return retryDelay(baseMs, 1, random);
  const near = Math.min(RETRY_CAP_MS, baseMs);
  const far = Math.min(RETRY_CAP_MS, LOST_SPREAD_MS * 4 ** Math.min(n - 2, 60));
  return Math.round(near + (far - near) * random);
}
