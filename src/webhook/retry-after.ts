import { DAY_MS } from "../core/time-units.ts";

/** The longest delay that a receiver can ask for. */
const LONGEST_MS = DAY_MS;
const SHORTEST_MS = 1000;

/** How long the answer asks us to wait, from a `Retry-After` in seconds or as a date; undefined if it does not ask, or not clearly. */
export function retryAfterMs(status: number, header: string | undefined, now: number): number | undefined {
  if ((status !== 429 && status !== 503) || header === undefined) return undefined;
  const ms = /^\d{1,10}$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}
