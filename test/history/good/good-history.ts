import type { Line } from "../line.ts";
import type { Tale } from "../tale.ts";

/** A history in which everything is allowed, though much of it looks wrong. */
export type GoodHistory = readonly [name: string, tell: (tale: Tale) => readonly Line[]];

/** The second attempt of a job whose first failed, which is due at this moment. */
export function again(tale: Tale): { attempt: number; retryCount: number; runAt: number } {
  return { attempt: 2, retryCount: 1, runAt: tale.engine };
}

/** The same of a job whose first attempt was lost. */
export function afterLoss(tale: Tale): { attempt: number; retryCount: number; lostCount: number; runAt: number } {
  return { attempt: 2, retryCount: 0, lostCount: 1, runAt: tale.engine };
}
