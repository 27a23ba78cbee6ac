/** WHAT OF ITS LIMITS KEEPS A JOB FROM STARTING NOW: for explanations and for what needs attention. Engines decide by the same rules in their claims. */
import { decodeKeyLimits, type EffectiveLimits, limitsOfKey, type QueueLimits, type StartLimits } from "./limits.ts";
import { type Rate, type RateState, rateInWords, waitForRate } from "./rate.ts";

/** How much of its limits a limit key uses now. */
export interface UsedByKey {
  readonly key: string;
  readonly running: number;
  readonly heldUntil: number | null;
  readonly rate: RateState | null;
  /** Some of its running jobs. */
  readonly holders: readonly string[];
  /** Its own limits, in stored form. */
  readonly limits: string | null;
}

/** How much of its limits a queue uses now. */
export interface UsedByQueue {
  readonly now: number;
  readonly running: number;
  readonly rate: RateState | null;
}

/** What a job waits for. The key is null if it is a limit of the whole queue. */
export type LimitObstacle =
  | { readonly kind: "held"; readonly key: string; readonly until: number }
  | {
      readonly kind: "running";
      readonly key: string | null;
      readonly limit: number;
      readonly running: number;
      readonly holders: readonly string[];
    }
  | { readonly kind: "rate"; readonly key: string | null; readonly rate: string; readonly until: number };

/** Everything that keeps a job of this cost from starting, the narrowest first: the hold of its key, its key's limits, those of its queue. */
export function obstaclesOf(limits: QueueLimits, used: UsedByQueue, key: UsedByKey | null, cost: number): LimitObstacle[] {
  const { now } = used;
  const ofQueue = startObstacles(limits, { ...used, key: null, holders: [] }, cost, now);
  if (key === null) return ofQueue;
  const held: LimitObstacle[] = key.heldUntil !== null && key.heldUntil > now ? [{ kind: "held", key: key.key, until: key.heldUntil }] : [];
  return [...held, ...startObstacles(effectiveOf(limits, key), key, cost, now), ...ofQueue];
}

/** The limits that hold for a key. */
export function effectiveOf(limits: QueueLimits, { key, limits: own }: Pick<UsedByKey, "key" | "limits">): EffectiveLimits {
  return limitsOfKey(limits, key, decodeKeyLimits(own));
}

function startObstacles(
  { running: limit, rate }: StartLimits,
  { key, running, rate: state, holders }: Omit<UsedByKey, "key" | "heldUntil" | "limits"> & { readonly key: string | null },
  cost: number,
  now: number,
): LimitObstacle[] {
  const until = rate === null ? null : nextByRate(rate, state, cost, now);
  return [
    ...(limit !== null && running >= limit ? [{ kind: "running" as const, key, limit, running, holders }] : []),
    ...(rate !== null && until !== null ? [{ kind: "rate" as const, key, rate: rateInWords(rate), until }] : []),
  ];
}

/** When a rate lets the next job of this cost start; null if it may start now. */
export function nextByRate(rate: Rate | null, state: RateState | null, cost: number, now: number): number | null {
  const wait = rate === null ? 0 : waitForRate(rate, state, cost, now);
  return wait === 0 ? null : now + wait;
}
