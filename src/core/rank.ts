/**
 * One number orders the waiting jobs of a queue: the lowest rank goes first, ties go by the store's sequence. A priority is a head
 * start in time, so with a head start of a minute a job of priority 10 overtakes what came at most ten minutes before it.
 */
export function rank(runAt: number, priority: number, headStartMs: number): number {
  return runAt - priority * headStartMs;
}

/** So long a head start (278 years) that priority is strict. All ranks still fit a double: 100 × 2^43 < 2^50. */
export const STRICT_HEAD_START_MS: number = 2 ** 43;
