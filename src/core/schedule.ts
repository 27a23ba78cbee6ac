import { formatDuration, MAX_DELAY_MS } from "./duration.ts";
import { checkCron, type Cron, latestMatch, nextMatch, readCron } from "./cron.ts";
import { invalid, MillraceError } from "./errors.ts";
import { readDuration } from "./read-fields.ts";
import { firstInstant, highestLocal, isTimeZone, stretchAt } from "./zone.ts";

// When a schedule ticks: the next tick, the latest missed one, a preview. cron.ts finds matching local times, zone.ts the instants for them.

/** When a schedule ticks: a cron in a time zone, or an interval counted from the epoch. */
export type Timing =
  | { readonly kind: "cron"; readonly cron: string; readonly timeZone: string }
  | { readonly kind: "every"; readonly everyMs: number };

/** What a schedule does after downtime: run once for the latest missed tick, or not at all. */
export const CATCH_UPS = ["one", "skip"] as const;

export type CatchUp = (typeof CATCH_UPS)[number];

/** The most ticks that previewTicks returns. */
export const MAX_PREVIEW = 100;

const MIN_EVERY_MS = 1_000;

// Every engine can store ticks in these years, and ISO 8601 writes them with four digits.
const FIRST_TICK = 0;
const LAST_TICK = Date.UTC(9999, 11, 31, 23, 59, 59);

/**
 * Checks the timing of a schedule: exactly one of `cron` and `every`; null counts as absent. A cron has 5 fields, or 6 with seconds first, or
 * is a nickname such as `@daily`; its time zone is an IANA name, `UTC` by default. An interval is at least 1 s.
 *
 * @throws MillraceError invalid_input, with the field
 */
export function parseTiming(input: { cron?: unknown; every?: unknown; timeZone?: unknown }): Timing {
  const cron = input.cron ?? undefined;
  const every = input.every ?? undefined;
  const timeZone = input.timeZone ?? undefined;
  if (cron === undefined && every === undefined) throw refusal("cron", "a schedule needs a time: give either cron or every");
  if (cron !== undefined && every !== undefined) throw refusal("every", "a schedule has either cron or every, not both: leave one out");
  if (cron !== undefined) return { kind: "cron", cron: checkCron(cron), timeZone: checkTimeZone(timeZone ?? "UTC") };
  if (timeZone !== undefined)
    throw refusal("timeZone", "every counts from the epoch and has no time zone: leave timeZone out, or give cron");
  return { kind: "every", everyMs: checkEvery(every) };
}

/** The first tick after a time; null if there is none before the year 10000. */
export function nextTick(timing: Timing, afterMs: number): number | null {
  const after = Math.max(Math.floor(afterMs), FIRST_TICK - 1);
  const tick = after < LAST_TICK ? tickAfter(timing, after) : null;
  return tick === null || tick > LAST_TICK ? null : tick;
}

/** The latest tick with `fromMs < tick <= atMs`, or null. The cost does not depend on the length of the period. */
export function latestTick(timing: Timing, fromMs: number, atMs: number): number | null {
  const from = Math.max(Math.floor(fromMs), FIRST_TICK - 1);
  const at = Math.min(Math.floor(atMs), LAST_TICK);
  const tick = from < at ? tickUpTo(timing, from, at) : null;
  return tick === null || tick <= from ? null : tick;
}

/** The next `count` ticks after a time, at most MAX_PREVIEW. */
export function previewTicks(timing: Timing, afterMs: number, count: number): number[] {
  const ticks: number[] = [];
  let tick = nextTick(timing, afterMs);
  while (tick !== null && ticks.length < Math.min(count, MAX_PREVIEW)) {
    ticks.push(tick);
    tick = nextTick(timing, tick);
  }
  return ticks;
}

/** The stored state of a schedule's ticks. */
export interface TickState {
  readonly timing: Timing;
  /** The latest tick that ran; null before the first. */
  readonly lastTick: number | null;
  /** The next tick to run; null if there is none. */
  readonly nextTick: number | null;
  readonly catchUp: CatchUp;
}

/**
 * What a schedule does now: the tick to run, if any, and the next tick to wait for.
 *
 * However many ticks were missed, only the latest runs. With `skip` it runs only if it is at most `lateMs` old: a tick that upkeep reaches a
 * little late was not missed. A tick at or before the last one never runs again.
 */
export function dueTick(state: TickState, nowMs: number, lateMs: number): { tick: number | null; next: number | null } {
  if (state.nextTick === null || state.nextTick > nowMs) return { tick: null, next: state.nextTick };
  // From lastTick, not from nextTick: if new zone rules move a tick to before the stored one, it is late, but not lost.
  const from = state.lastTick ?? state.nextTick - 1;
  const latest = latestTick(state.timing, from, nowMs);
  const wanted = latest !== null && (state.catchUp === "one" || nowMs - latest <= lateMs);
  return { tick: wanted ? latest : null, next: nextTick(state.timing, Math.max(nowMs, from)) };
}

function tickAfter(timing: Timing, after: number): number | null {
  if (timing.kind === "every") return (Math.floor(after / timing.everyMs) + 1) * timing.everyMs;
  const cron = readCron(timing.cron);
  return cron.followsRealTime ? realTickAfter(cron, timing.timeZone, after) : localTickAfter(cron, timing.timeZone, after);
}

function tickUpTo(timing: Timing, from: number, at: number): number | null {
  if (timing.kind === "every") return Math.floor(at / timing.everyMs) * timing.everyMs;
  const cron = readCron(timing.cron);
  return cron.followsRealTime ? realTickUpTo(cron, timing.timeZone, from, at) : localTickUpTo(cron, timing.timeZone, at);
}

// A cron with local times fires at the first instant at which clocks have reached such a time. This is the whole rule. Of two occurrences the
// first one fires. All times in a gap are reached at its end, so they are one tick.

function localTickAfter(cron: Cron, zone: string, after: number): number | null {
  const local = nextMatch(cron, highestLocal(zone, after));
  return local === null ? null : firstInstant(zone, local);
}

function localTickUpTo(cron: Cron, zone: string, at: number): number | null {
  const local = latestMatch(cron, highestLocal(zone, at));
  return local === null ? null : firstInstant(zone, local);
}

// A cron that follows real time fires whenever clocks show a matching time, so each stretch with one offset is searched by itself.

function realTickAfter(cron: Cron, zone: string, after: number): number | null {
  for (let from = after; from < LAST_TICK;) {
    const { end, offset } = stretchAt(zone, from + 1);
    const local = nextMatch(cron, from + offset);
    if (local === null) return null;
    if (local - offset < end) return local - offset;
    from = end - 1;
  }
  return null;
}

function realTickUpTo(cron: Cron, zone: string, from: number, at: number): number | null {
  for (let upTo = at; upTo > from;) {
    const { start, offset } = stretchAt(zone, upTo);
    const local = latestMatch(cron, upTo + offset);
    if (local === null) return null;
    if (local - offset >= start) return local - offset;
    upTo = start - 1;
  }
  return null;
}

/** Throws `invalid_input` unless this is the name of a time zone. */
export function checkTimeZone(value: unknown): string {
  if (typeof value === "string" && isTimeZone(value)) return value;
  throw invalid("timeZone", `the IANA name of a time zone, such as "Europe/Berlin"`, value);
}

function checkEvery(value: unknown): number {
  return readDuration(
    value,
    "every",
    `a duration from ${formatDuration(MIN_EVERY_MS)} to 10 years, such as "10s"`,
    MAX_DELAY_MS,
    MIN_EVERY_MS,
  );
}

function refusal(field: "cron" | "every" | "timeZone", message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}
