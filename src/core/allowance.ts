/**
 * ALLOWANCES: how much may be taken in a period. All `units` may be taken at once; they come back evenly over `perMs`.
 * The state is one number (generic cell rate algorithm): the time at which no unit is in use any more.
 */
export interface Allowance {
  readonly units: number;
  readonly perMs: number;
}

/** Asks for a share of the allowance with this name. */
export interface Spend extends Allowance {
  readonly name: string;
}

/** How much was taken. If nothing was, `waitMs` is the time until one unit is back; otherwise 0. */
export interface Spent {
  readonly taken: number;
  readonly waitMs: number;
}

/** One call takes a tenth of what is left: the caller need not ask for each unit, and most of it stays for others. */
export const SHARE = 10;

/** Units come back in fractions of milliseconds, and their sums have rounding errors. This part of a unit may be missing. */
export const SLACK = 0.001;

/** Takes a tenth of what is left, at least one unit. The SQL and Lua of the engines do the same operations on doubles in the same order. */
export function takeShare(freeAt: number, { units, perMs }: Allowance, now: number): Spent & { readonly freeAt: number } {
  const interval = perMs / units;
  // At most one period ahead: the rate may have been raised since, or the clock set back.
  const from = Math.min(Math.max(freeAt, now), now + perMs);
  const left = Math.floor((now + perMs - from) / interval + SLACK);
  if (left < 1) return { taken: 0, waitMs: Math.max(1, Math.ceil(from + interval - perMs - now)), freeAt: from };
  const taken = Math.max(1, Math.floor(left / SHARE));
  return { taken, waitMs: 0, freeAt: from + taken * interval };
}
