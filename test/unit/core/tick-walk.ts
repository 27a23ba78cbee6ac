// An oracle for schedule.ts: the rule in words, walked step by step on what Intl says that the clocks show.
// It shares nothing with the code under test: no offsets, no search, its own little cron.

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const DAY_MS = 86_400_000;

/** What a zone's clocks show at an instant. */
export interface Wall {
  readonly at: number;
  /** Year, month, day, hour, minute and second, as one number of milliseconds; only for comparing and counting on. */
  readonly shown: number;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known) return known;
  const clock = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  clocks.set(timeZone, clock);
  return clock;
}

/** Reads the clock: "03/29/2026, 03:00:00". */
export function wallAt(timeZone: string, at: number): Wall {
  const [month, day, year, hour, minute, second] = clockOf(timeZone).format(at).match(/\d+/g)!.map(Number) as [number, ...number[]];
  return { at, shown: Date.UTC(year!, month - 1, day, hour, minute, second) };
}

/** By zone: how far its clocks are ahead of UTC at the quarters of an hour that were read. */
const leadsRead = new Map<string, Map<number, number>>();

function leadAtQuarter(timeZone: string, quarter: number): number {
  const read = leadsRead.get(timeZone) ?? new Map<number, number>();
  leadsRead.set(timeZone, read);
  const lead = read.get(quarter) ?? wallAt(timeZone, quarter).shown - quarter;
  read.set(quarter, lead);
  return lead;
}

/**
 * How far the clocks of a zone are ahead of UTC. To read a clock takes microseconds, and there are millions of instants. So it is read at
 * each quarter of an hour, and within one only if the clocks are set in it.
 */
function leadAt(timeZone: string, at: number): number {
  const quarter = at - (at % QUARTER_MS);
  const lead = leadAtQuarter(timeZone, quarter);
  if (at === quarter || lead === leadAtQuarter(timeZone, quarter + QUARTER_MS)) return lead;
  return wallAt(timeZone, at).shown - (at - (at % SECOND_MS));
}

/** Every wall from `from` to `to`, one for each step. */
export function readWalls(timeZone: string, from: number, to: number, stepMs: number): Wall[] {
  const walls: Wall[] = [];
  for (let at = from; at <= to; at += stepMs) walls.push({ at, shown: at - (at % SECOND_MS) + leadAt(timeZone, at) });
  return walls;
}

/** The instants, to the minute, at which a zone's clocks are set to another time. */
export function clockChanges(timeZone: string, from: number, to: number): number[] {
  const changes: number[] = [];
  let last = leadAt(timeZone, from);
  for (let day = from; day < to; day += DAY_MS) {
    if (leadAt(timeZone, day + DAY_MS) === last) continue;
    for (let at = day + MINUTE_MS; at <= day + DAY_MS; at += MINUTE_MS) {
      const now = leadAt(timeZone, at);
      if (now !== last) changes.push(at);
      last = now;
    }
  }
  return changes;
}

/**
 * The ticks of a cron among walls that were read, in order; the first wall is only what came before.
 *
 * "A cron whose hour field is `*` or `*\/n` follows real time: every matching minute fires, also in the repeated hour; nothing is
 * made up for a gap. Any other names local times: each fires once a local day, at the first of two occurrences; those inside a gap
 * fire as one run at its end."
 */
export function walkTicks(cron: string, walls: readonly Wall[], stepMs: number): number[] {
  const matches = matcher(cron);
  const hour = cron.split(" ").at(-4)!;
  const followsRealTime = hour === "*" || hour.startsWith("*/");
  const ticks: number[] = [];
  const seen = new Set<number>();
  for (const [index, wall] of walls.entries()) {
    const before = walls[index - 1];
    if (before === undefined) continue;
    let fires = matches(wall.shown) && (followsRealTime || !seen.has(wall.shown));
    for (let skipped = before.shown + stepMs; skipped < wall.shown; skipped += stepMs) {
      if (!followsRealTime && matches(skipped)) fires = true;
    }
    seen.add(wall.shown);
    if (fires) ticks.push(wall.at);
  }
  return ticks;
}

/** Whether a wall time satisfies a cron of numbers, lists, ranges and steps. */
function matcher(cron: string): (shown: number) => boolean {
  const fields = cron.split(" ");
  if (fields.length === 5) fields.unshift("0");
  const [second, minute, hour, day, month, weekday] = fields as [string, string, string, string, string, string];
  const eitherDay = !day.startsWith("*") && !weekday.startsWith("*");
  const [seconds, minutes, hours] = [valuesOf(second, 0, 59), valuesOf(minute, 0, 59), valuesOf(hour, 0, 23)];
  const [days, months, weekdays] = [valuesOf(day, 1, 31), valuesOf(month, 1, 12), valuesOf(weekday, 0, weekday.startsWith("*") ? 6 : 7)];
  return (shown) => {
    const date = new Date(shown);
    if (!seconds.has(date.getUTCSeconds()) || !minutes.has(date.getUTCMinutes()) || !hours.has(date.getUTCHours())) return false;
    if (!months.has(date.getUTCMonth() + 1)) return false;
    const onDay = days.has(date.getUTCDate());
    const onWeekday = weekdays.has(date.getUTCDay()) || (date.getUTCDay() === 0 && weekdays.has(7));
    return eitherDay ? onDay || onWeekday : onDay && onWeekday;
  };
}

function valuesOf(field: string, min: number, max: number): ReadonlySet<number> {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [span = "", step = "1"] = part.split("/");
    const [low, high = low] = span === "*" ? [min, max] : span.split("-").map(Number);
    for (let value = low!; value <= high!; value += Number(step)) values.add(value);
  }
  return values;
}
