/** LIMITS IN WORDS, and what they let start now. Pure. */
import { type KeyLimitOptions, type LimitOptions, MAX_COUNTED_OF_KEY, type OneKeyLimitOptions } from "../core/limits.ts";
import { count } from "./format.ts";

/** Shown where a limit could be and is not. */
export const NO_LIMIT = "no limit";

/** The limits of a queue: "at most 50 running, 100/s; each key: at most 2 running". */
export function limitsInWords({ perKey, ...ofQueue }: LimitOptions): string {
  const each = keyWords(perKey ?? {});
  return [startWords(ofQueue), each.length === 0 ? [] : [`each key: ${each.join(", ")}`]]
    .map((words) => words.join(", "))
    .filter((words) => words !== "")
    .join("; ");
}

function startWords({ running, rate, burst }: KeyLimitOptions): string[] {
  return [
    ...(running === null || running === undefined ? [] : [`at most ${count(running)} running`]),
    ...(rate === null || rate === undefined ? [] : [rateText({ rate, burst })]),
  ];
}

function keyWords({ waiting, ...starts }: KeyLimitOptions): string[] {
  return [...startWords(starts), ...(waiting === null || waiting === undefined ? [] : [`at most ${count(waiting)} waiting`])];
}

/** A rate with its burst, if that is more than one start: "100/s, burst 5". */
export function rateText({ rate, burst = 1 }: Pick<OneKeyLimitOptions, "rate" | "burst">): string {
  if (rate === null || rate === undefined) return NO_LIMIT;
  return burst > 1 ? `${rate}, burst ${count(burst)}` : rate;
}

/** How many jobs of a key there are. Jobs are counted up to a bound: what has reached it may be more. */
export function countOfKey(value: number): string {
  return value === MAX_COUNTED_OF_KEY ? `${count(value)}+` : count(value);
}

/** A use of a limit: "2 of 5", or "2" without a limit. */
export function usedOf(used: string, limit: number | null | undefined): string {
  return limit === null || limit === undefined ? used : `${used} of ${count(limit)}`;
}

/** When the next job may start: now, at a time, when a running one ends, or when the queue is resumed. */
export type NextStart =
  | { readonly kind: "now" | "full" | "paused" }
  | { readonly kind: "rate"; readonly at: number }
  | { readonly kind: "held"; readonly at: number; readonly heldUntil: number };

/** What a queue or a key uses of its limits. */
export interface LimitState {
  readonly running: number;
  readonly limit: number | null | undefined;
  readonly nextStartAt: number | null;
  readonly heldUntil?: number | null;
}

/** Of a queue. */
export interface QueueLimitState extends LimitState {
  readonly isPaused: boolean;
}

/** When a queue lets its next job start, or the next one of a key, which needs room in both. */
export function nextStartOf(queue: QueueLimitState, key: LimitState | null, now: number): NextStart {
  if (queue.isPaused) return { kind: "paused" };
  const [ofQueue, ofKey] = [nextByLimits(queue, now), key === null ? null : nextByLimits(key, now)];
  if (ofKey === null || ofKey.kind === "now") return ofQueue;
  if (ofKey.kind === "rate" && ofQueue.kind !== "now") return ofQueue.kind === "rate" && ofQueue.at < ofKey.at ? ofKey : ofQueue;
  return ofKey;
}

/** An answer grows old: a time in it that has passed holds nothing back. */
function nextByLimits({ running, limit, nextStartAt, heldUntil = null }: LimitState, now: number): NextStart {
  if (heldUntil !== null && heldUntil > now) return { kind: "held", heldUntil, at: Math.max(heldUntil, nextStartAt ?? 0) };
  if (limit !== null && limit !== undefined && running >= limit) return { kind: "full" };
  if (nextStartAt !== null && nextStartAt > now) return { kind: "rate", at: nextStartAt };
  return { kind: "now" };
}

/** What a new limit means for the jobs that run now. */
export function runningHint(running: number, limit: number | null): string {
  const now = `${countOfKey(running)} ${running === 1 ? "runs" : "run"} now.`;
  if (limit === null || running < limit) return now;
  return `${now} The next one starts when ${limit === 1 ? "none runs" : `fewer than ${count(limit)} run`}.`;
}
