/**
 * ALLOWANCES: how much of something may be taken in a time. `units` of it may be taken at once, and come back evenly, all of them in `perMs`.
 * One number is all that has to be remembered (the generic cell rate algorithm): the time at which nothing will be in use any more.
 */
export interface Allowance {
  readonly units: number;
  readonly perMs: number;
}

/** Asks for a share of the allowance of that name. */
export interface Spend extends Allowance {
  readonly name: string;
}

/** What was taken; when nothing was, the time until one unit will be there again, else 0. */
export interface Spent {
  readonly taken: number;
  readonly waitMs: number;
}

/** Of what is left, one part in so many is taken at once: who takes it need not ask for each unit, and others find most of it. */
export const SHARE = 10;

/** Units come back in fractions of milliseconds, and sums of these are a little off: this much of a unit is given in. */
export const SLACK = 0.001;

/**
 * Takes a share of an allowance: a tenth of what is left, but one unit at least. The SQL and the Lua of the engines say the same, in the same
 * order of the same operations on doubles, so that all of them give the same.
 */
export function takeShare(freeAt: number, { units, perMs }: Allowance, now: number): Spent & { readonly freeAt: number } {
  const interval = perMs / units;
  // Not later than after a whole period: the rate may have been raised since, or the clock set back.
  const from = Math.min(Math.max(freeAt, now), now + perMs);
  const left = Math.floor((now + perMs - from) / interval + SLACK);
  if (left < 1) return { taken: 0, waitMs: Math.max(1, Math.ceil(from + interval - perMs - now)), freeAt: from };
  const taken = Math.max(1, Math.floor(left / SHARE));
  return { taken, waitMs: 0, freeAt: from + taken * interval };
}
