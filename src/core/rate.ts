/**
 * RATES: how many units may start in a time. The state is one time (generic cell rate algorithm): when all units that were taken are back.
 *
 * A start needs min(cost, burst) units and takes its whole cost, so a start that costs more than the burst leaves a debt. With a cost of 1, at most
 * units + burst − 1 start in any period: between the first and the last of n starts lie at least n − burst intervals.
 * The SQL and Lua of the engines do the same operations on doubles in the same order.
 */
import { UNIT_MS } from "./duration.ts";

/** So many units in a period, and how many may start at once. */
export interface Rate {
  readonly units: number;
  readonly periodMs: number;
  readonly burst: number;
}

/** What a rate has to remember. `busyUntil`: when all units are back. `intervalMs`: the time for one unit, by which `busyUntil` was counted. */
export interface RateState {
  readonly busyUntil: number;
  readonly intervalMs: number;
}

export const MAX_RATE_UNITS = 1_000_000_000;
export const MAX_RATE_PERIOD_MS: number = 31 * 86_400_000;

export const RATE_RULE = 'a rate such as "100/s", "20/10s", "5000/h" or "1000/d"';
const RATE = /^(\d{1,10})\/(\d{0,8})(ms|s|m|h|d)$/;

/** Reads "100/s" or "20/10s"; undefined if it is no rate. */
export function readRate(input: unknown): Omit<Rate, "burst"> | undefined {
  const [, units = "", times = "", unit = ""] = (typeof input === "string" && RATE.exec(input)) || [];
  const rate = { units: Number(units), periodMs: (times === "" ? 1 : Number(times)) * (UNIT_MS.get(unit) ?? 0) };
  const isRate = rate.units >= 1 && rate.units <= MAX_RATE_UNITS && rate.periodMs >= 1 && rate.periodMs <= MAX_RATE_PERIOD_MS;
  return isRate ? rate : undefined;
}

const SHORT: readonly (readonly [ms: number, unit: string])[] = [...UNIT_MS]
  .map(([unit, ms]) => [ms, unit] as const)
  .sort((a, b) => b[0] - a[0]);

/** As `readRate` reads it. */
export function rateInWords({ units, periodMs }: Omit<Rate, "burst">): string {
  const [ms, unit] = SHORT.find(([ms]) => periodMs % ms === 0)!;
  return `${units}/${periodMs === ms ? "" : periodMs / ms}${unit}`;
}

/** Times since the epoch are doubles in steps of this part of a millisecond, until the year 2039. */
export const STEPS_A_MS = 4096;

/**
 * The time that one unit takes to come back, rounded up to a whole number of steps: so sums of it have no rounding error, and no period has a start
 * too many. ("300/s" gives 0.005 % less, "5000/s" 0.1 %.)
 */
export function intervalOf({ units, periodMs }: Omit<Rate, "burst">): number {
  return Math.ceil((periodMs / units) * STEPS_A_MS) / STEPS_A_MS;
}

/**
 * A store's time is whole milliseconds, so a start comes up to this much after its unit was back. That time is not lost: the next unit is counted
 * from when the last one was back, not from the start. (Otherwise "300/s" would give 250.) No period has more starts by that: the last of n starts
 * is never early and the first never late by a whole millisecond, and their times are whole.
 */
export const CLOCK_STEP_MS = 1;

/** When all units are back by the present rate: a debt stays the same number of units when the rate changes. */
function busyUntilBy(state: RateState | null, intervalMs: number, now: number): number {
  if (state === null || state.busyUntil <= now - CLOCK_STEP_MS) return now;
  return state.intervalMs === intervalMs ? state.busyUntil : now + ((state.busyUntil - now) / state.intervalMs) * intervalMs;
}

/**
 * What a rate remembers, counted by the present rate. Store it when a claim finds units of another rate: otherwise they would go on coming back
 * at the old one.
 */
export function rescaleRate(rate: Rate, state: RateState | null, now: number): RateState | null {
  const intervalMs = intervalOf(rate);
  if (state === null || state.intervalMs === intervalMs) return state;
  return { busyUntil: busyUntilBy(state, intervalMs, now), intervalMs };
}

/** How long a start of this cost has to wait; 0 if it may start now. */
export function waitForRate(rate: Rate, state: RateState | null, cost: number, now: number): number {
  const intervalMs = intervalOf(rate);
  const freeAt = busyUntilBy(state, intervalMs, now) - (rate.burst - Math.min(cost, rate.burst)) * intervalMs;
  return freeAt <= now ? 0 : Math.max(1, Math.ceil(freeAt - now));
}

/** Takes units, whether they are there or not; a negative number gives them back. */
export function takeFromRate(rate: Rate, state: RateState | null, units: number, now: number): RateState {
  const intervalMs = intervalOf(rate);
  return { busyUntil: busyUntilBy(state, intervalMs, now) + units * intervalMs, intervalMs };
}
