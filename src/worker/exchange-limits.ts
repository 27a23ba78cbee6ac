/** The most reports, and the most claimed jobs, that one exchange carries. */
export const MAX_EXCHANGE = 1000;

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5000;

/** How long to wait after so many failures in a row, in milliseconds. `random`, in [0, 1), spreads workers that failed together. */
export function retryPauseMs(failures: number, random: number): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)) * (0.5 + random / 2);
}
