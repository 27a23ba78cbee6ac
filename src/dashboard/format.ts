/** Numbers and times as people read them. */
import { formatDuration, formatSpan } from "../core/duration.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time-units.ts";

/** Shown where there is no value. */
export const NOTHING = "–";

const exact = new Intl.NumberFormat("en-US");
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

/** 1234567 is "1,234,567". */
export function count(value: number): string {
  return exact.format(value);
}

/** The same for small places: from 100,000 on "123.5K". */
export function compact(value: number): string {
  return value < 100_000 ? count(value) : short.format(value);
}

/** A length of time in its largest unit only: "45 s", "3 m", "2 h", "5 d". */
export function roughSpan(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / 1000)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} m`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h`;
  return `${Math.floor(ms / DAY_MS)} d`;
}

/** How far a time is from now: "3 m ago", "in 2 h", "now". Less than 1 s is "now": the clocks of browser and store may differ. */
export function distance(at: number, now: number): string {
  const ms = at - now;
  if (Math.abs(ms) < 1000) return "now";
  return ms > 0 ? `in ${roughSpan(ms)}` : `${roughSpan(-ms)} ago`;
}

/** A measured time: "3 ms", "1.24 s", "2 m 5 s". */
export function took(ms: number | null): string {
  if (ms === null) return NOTHING;
  if (ms < 1000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return formatSpan(ms);
}

/** A setting in milliseconds: "500ms", "30s", "none" for 0. */
export function limit(ms: number): string {
  return ms === 0 ? "none" : formatDuration(ms);
}

/** Jobs per second. */
export function rate(perSecond: number): string {
  if (perSecond === 0) return "0/s";
  if (perSecond < 10) return `${perSecond.toFixed(1)}/s`;
  return `${compact(Math.round(perSecond))}/s`;
}

/** A number with at most one decimal: 33.333 is "33.3". */
export function shortDecimal(value: number): string {
  return String(Math.round(value * 10) / 10);
}

/** A part of a whole: "98.2 %", never 100 if something is missing. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return NOTHING;
  const share = (part / whole) * 100;
  if (share > 99.9 && part < whole) return "99.9 %";
  return `${share === 100 ? "100" : share.toFixed(1)} %`;
}

/** How many bytes: "512 B", "12 KB", "1.0 MB". */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 * 1024) return `${Math.round(size / 1024)} KB`;
  return `${(size / 1024 / 1024).toFixed(1)} MB`;
}

const DAY = { year: "numeric", month: "short", day: "numeric" } as const;
const TIME = { hour: "2-digit", minute: "2-digit", second: "2-digit" } as const;
const local = new Intl.DateTimeFormat(undefined, { ...DAY, ...TIME });
const localExact = new Intl.DateTimeFormat(undefined, { ...DAY, ...TIME, fractionalSecondDigits: 3 });

/** Date and time as the reader's language writes them, in the reader's time zone: "Mar 1, 2026, 10:00:00 AM". */
export function localTime(at: number): string {
  return local.format(at);
}

/** The same with milliseconds, and in UTC: the tooltip of a short time. */
export function fullTime(at: number): string {
  return `${localExact.format(at)}\n${new Date(at).toISOString()}`;
}

/** The end of an id: ids of the same minute start alike. */
export function shortId(id: string): string {
  return id.slice(-8);
}
