/**
 * One number orders the waiting jobs of a queue: the lowest rank goes first, then the store's sequence decides. A priority is a head start in
 * time: with a head start of a minute, a job of priority 10 overtakes jobs that came up to ten minutes before it.
 */
export function rank(runAt: number, priority: number, headStartMs: number): number {
  return runAt - priority * headStartMs;
}

/** A head start of 278 years makes priority strict. All ranks still fit a double: 100 × 2^43 < 2^50. */
export const STRICT_HEAD_START_MS: number = 2 ** 43;
