/** A length of time: whole milliseconds, or a number with a unit. */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

/** The longest delay that is accepted: 10 years of 365.25 days. */
export const MAX_DELAY_MS = 10 * 365.25 * 86_400_000;

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

export const UNIT_MS: ReadonlyMap<string, number> = new Map<string, number>(UNITS);

// The number of digits is limited, so that a hostile text costs no more than any other.
export const DURATION: RegExp = /^(\d{1,16})(?:\.(\d{1,15}))?(ms|s|m|h|d)$/;

/** Reads a duration as milliseconds; null unless it is a whole number of at least 0. */
export function parseDuration(value: unknown): number | null {
  const ms = typeof value === "string" ? parseText(value) : value;
  return typeof ms === "number" && Number.isSafeInteger(ms) && ms >= 0 ? ms : null;
}

/** Reads a duration within bounds as milliseconds; undefined if it is not one or out of bounds. */
export function durationWithin(value: unknown, minMs: number, maxMs: number): number | undefined {
  const ms = parseDuration(value);
  return ms === null || ms < minMs || ms > maxMs ? undefined : ms;
}

/** Formats milliseconds in the largest unit that keeps them whole: 90000 is "90s". parseDuration reads it back. */
export function formatDuration(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, size]) => ms !== 0 && ms % size === 0) ?? ["ms", 1];
  return `${ms / unitMs}${unit}`;
}

/** A length of time for people, in its two largest units: "45 s", "3 m 20 s", "2 h", "5 d 3 h". */
export function formatSpan(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (ms < 60_000) return `${seconds} s`;
  if (ms < 3_600_000) return pair(Math.floor(ms / 60_000), "m", seconds % 60, "s");
  if (ms < 86_400_000) return pair(Math.floor(ms / 3_600_000), "h", Math.floor(ms / 60_000) % 60, "m");
  return pair(Math.floor(ms / 86_400_000), "d", Math.floor(ms / 3_600_000) % 24, "h");
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Calculates with integers: as a float, 1.1 s would be 1100.0000000000002 ms, and be refused. */
function parseText(text: string): number | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const [, whole = "", fraction = "", unit = ""] = match;
  const scaled = BigInt(whole + fraction) * BigInt(UNIT_MS.get(unit) ?? 0);
  const scale = 10n ** BigInt(fraction.length);
  return scaled % scale === 0n ? Number(scaled / scale) : null;
}
