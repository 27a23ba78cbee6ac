/** Numbers and times as people read them. */
import type { Percentiles } from "../client/client.ts";
import { count } from "../core/counted.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time-units.ts";

/** Printed where there is no value. */
export const NOTHING = "-";

/** How long ago something was, in its largest unit: "12s", "3m", "2h", "5d". */
export function age(at: number | null, now: number): string {
  return at === null ? NOTHING : span(Math.max(0, now - at));
}

/** A duration in its largest unit. */
export function span(ms: number): string {
  if (ms >= DAY_MS) return `${Math.floor(ms / DAY_MS)}d`;
  if (ms >= HOUR_MS) return `${Math.floor(ms / HOUR_MS)}h`;
  if (ms >= MINUTE_MS) return `${Math.floor(ms / MINUTE_MS)}m`;
  return `${Math.floor(ms / 1000)}s`;
}

/** A measured duration: "3 ms", "1.2 s", "2m 5s". */
export function took(ms: number | null): string {
  if (ms === null) return NOTHING;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / MINUTE_MS)}m ${Math.floor((ms % MINUTE_MS) / 1000)}s`;
}

/** A point in time with its distance from now: "2026-03-01T10:00:00.000Z (3m ago)". */
export function moment(at: number | null, now: number): string {
  if (at === null) return NOTHING;
  return `${new Date(at).toISOString()} (${distance(at, now)})`;
}

/** "in 3m", "2h ago". */
export function distance(at: number, now: number): string {
  return at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
}

/** The same point in time in a zone: "2026-03-01 11:00:00 Europe/Berlin (in 3m)". */
export function momentIn(timeZone: string, at: number, now: number): string {
  // Sweden writes dates as ISO 8601 does.
  const local = new Date(at).toLocaleString("sv-SE", { timeZone });
  return `${local} ${timeZone} (${distance(at, now)})`;
}

/** p50, p95 and p99 on one line. */
export function percentiles({ p50, p95, p99 }: Percentiles): string {
  return `p50 ${took(p50)}, p95 ${took(p95)}, p99 ${took(p99)}`;
}

/** Jobs per second. */
export function rate(perSecond: number): string {
  return `${perSecond >= 10 || perSecond === 0 ? count(Math.round(perSecond)) : perSecond.toFixed(1)}/s`;
}
