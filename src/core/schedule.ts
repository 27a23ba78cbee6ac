import { formatDuration, MAX_DELAY_MS, parseDuration } from "./duration.ts";
import { invalid, MillraceError, preview } from "./errors.ts";

// When a schedule ticks. Four parts, each built on the one below it:
//
//   ticks       what the rest of Millrace asks for: the next tick, the latest missed one, a preview
//   zone        instants <-> local times, from the stretches in which a zone's offset stays the same
//   calendar    a cron as a question to a calendar without zones: which local second matches next, which matched last
//   grammar     the text of a cron -> its fields, strictly
//
// Local times are numbers too: the milliseconds that UTC would show if its clocks read what the zone's clocks read.
//
// We parse and match by ourselves. croner 11.0.0 skips days (`0 0 1 * MON` from 24 Feb 2020 gives 2 March and not the 1st,
// as it takes a 31 February for a Monday), ends in the year 3000 and takes 100 KB for a pattern.

/** When a schedule fires: a cron in a time zone, or an interval counted from the epoch. */
export type Timing =
  { readonly kind: "cron"; readonly cron: string; readonly timeZone: string } | { readonly kind: "every"; readonly everyMs: number };

/** What a schedule does after downtime: one run for the latest missed tick, or none. */
export const CATCH_UPS = ["one", "skip"] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

/** The most ticks that previewTicks gives. */
export const MAX_PREVIEW = 100;

const MIN_EVERY_MS = 1_000;
const MAX_CRON_LENGTH = 256;
const MAX_ZONE_LENGTH = 64;

// Ticks lie in the years that every engine can store and ISO 8601 can write with four digits.
const FIRST_TICK = 0;
const LAST_TICK = Date.UTC(9999, 11, 31, 23, 59, 59);

// ---------------------------------------------------------------------------------------------------------------- ticks

/**
 * Checks a schedule's timing: exactly one of `cron` and `every`; null counts as not given. A cron has 5 fields, or 6 with
 * seconds first, or is a nickname such as `@daily`; its time zone is an IANA name, `UTC` by default. An interval is at least 1 s.
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

/** The first tick strictly after a time; null when there is none before the year 10000. */
export function nextTick(timing: Timing, afterMs: number): number | null {
  const after = Math.max(Math.floor(afterMs), FIRST_TICK - 1);
  const tick = after < LAST_TICK ? tickAfter(timing, after) : null;
  return tick === null || tick > LAST_TICK ? null : tick;
}

/** The latest tick with `fromMs < tick <= atMs`; null when there is none. Costs the same after a second and after a year. */
export function latestTick(timing: Timing, fromMs: number, atMs: number): number | null {
  const from = Math.max(Math.floor(fromMs), FIRST_TICK - 1);
  const at = Math.min(Math.floor(atMs), LAST_TICK);
  const tick = from < at ? tickUpTo(timing, from, at) : null;
  return tick === null || tick <= from ? null : tick;
}

/** The next `count` ticks after a time, at most MAX_PREVIEW of them. */
export function previewTicks(timing: Timing, afterMs: number, count: number): number[] {
  const ticks: number[] = [];
  let tick = nextTick(timing, afterMs);
  while (tick !== null && ticks.length < Math.min(count, MAX_PREVIEW)) {
    ticks.push(tick);
    tick = nextTick(timing, tick);
  }
  return ticks;
}

/** What is stored of a schedule's ticks. */
export interface TickState {
  readonly timing: Timing;
  /** The latest tick that was run; null before the first. */
  readonly lastTick: number | null;
  /** The tick that is waited for; null when there is none. */
  readonly nextTick: number | null;
  readonly catchUp: CatchUp;
}

/**
 * What a schedule does now: the tick to run, if any, and the next tick to wait for.
 *
 * However many ticks were missed, only the latest is run; under `skip` only while it is at most `lateMs` old, since a tick that
 * upkeep reaches a little late was not missed. A tick at or before the last one is never run again.
 */
export function dueTick(state: TickState, nowMs: number, lateMs: number): { tick: number | null; next: number | null } {
  if (state.nextTick === null || state.nextTick > nowMs) return { tick: null, next: state.nextTick };
  // Not from nextTick on: when new zone rules move a tick to before the stored one, it is late, not lost.
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

// A cron that names local times fires at the first instant at which clocks have reached such a time. That one sentence is the
// whole rule: the first of two occurrences has reached it, and a gap's end has reached every time inside the gap, so these fall
// on one instant and are one tick.

function localTickAfter(cron: Cron, zone: string, after: number): number | null {
  const local = nextMatch(cron, highestLocal(zone, after));
  return local === null ? null : firstInstant(zone, local);
}

function localTickUpTo(cron: Cron, zone: string, at: number): number | null {
  const local = latestMatch(cron, highestLocal(zone, at));
  return local === null ? null : firstInstant(zone, local);
}

// A cron that follows real time fires whenever clocks show a matching time, so each stretch of one offset is looked at by itself.

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

// ----------------------------------------------------------------------------------------------------------------- zone

/** A time, `start` included and `end` not, in which a zone's clocks are ahead of UTC by the same `offset`. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly offset: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

// Since 1970 clocks were never further than 14 hours from UTC, nor put back by as much as a day: Apia and Kwajalein skipped one.
const LARGEST_OFFSET_MS = 16 * HOUR_MS;
const LARGEST_STEP_BACK_MS = 28 * HOUR_MS;

/** The earliest instant at which the zone's clocks show this local time or, when they jump over it, a later one. */
function firstInstant(zone: string, local: number): number {
  let stretch = stretchAt(zone, local - LARGEST_OFFSET_MS);
  while (stretch.end + stretch.offset <= local) stretch = stretchAt(zone, stretch.end);
  return Math.max(stretch.start, local - stretch.offset);
}

/** The latest local time that the zone's clocks have shown up to this instant: in a repeated hour, the end of its first pass. */
function highestLocal(zone: string, at: number): number {
  let stretch = stretchAt(zone, at - LARGEST_STEP_BACK_MS);
  let highest = stretch.start + stretch.offset;
  for (;;) {
    highest = Math.max(highest, Math.min(stretch.end - 1, at) + stretch.offset);
    if (stretch.end > at) return highest;
    stretch = stretchAt(zone, stretch.end);
  }
}

// Asking Intl costs microseconds, so stretches are made and kept for a span of time at once. A stretch that crosses the end of its
// span is cut there; two neighbours with the same offset do no harm. Offsets are sampled: since 1970 no zone went back on a change
// within less than 7 days (Recife, 2000).
const SPAN_MS = 120 * DAY_MS;
const SAMPLE_MS = 3 * DAY_MS;

const spans = new Map<string, readonly Stretch[]>();
const formats = new Map<string, Intl.DateTimeFormat>();
const SPANS_KEPT = 2_000;
const FORMATS_KEPT = 100;

function stretchAt(zone: string, at: number): Stretch {
  const index = Math.floor(at / SPAN_MS);
  const stretches = remembered(spans, SPANS_KEPT, `${index} ${zone}`, () => makeStretches(zone, index * SPAN_MS, (index + 1) * SPAN_MS));
  const found = stretches.findLast(({ start }) => start <= at);
  if (found === undefined) throw new Error(`no stretch of ${zone} holds ${at}`);
  return found;
}

function makeStretches(zone: string, start: number, end: number): readonly Stretch[] {
  const offsetAt = offsetReader(zone);
  const sample = (at: number): Sample => ({ at, offset: offsetAt(at) });
  const starts = [sample(start)];
  for (let from = sample(start); from.at < end;) {
    const to = sample(Math.min(from.at + SAMPLE_MS, end));
    addChanges(sample, from, to, starts);
    from = to;
  }
  const inside = starts.filter(({ at }) => at < end);
  return inside.map(({ at, offset }, index) => ({ start: at, end: inside[index + 1]?.at ?? end, offset }));
}

interface Sample {
  readonly at: number;
  readonly offset: number;
}

/** Halves the time between two samples that differ until the second of the change is known; each half may hold one. */
function addChanges(sample: (at: number) => Sample, from: Sample, to: Sample, found: Sample[]): void {
  if (from.offset === to.offset) return;
  if (to.at - from.at <= 1_000) {
    found.push(to);
    return;
  }
  const middle = sample(from.at + Math.floor((to.at - from.at) / 2_000) * 1_000);
  addChanges(sample, from, middle, found);
  addChanges(sample, middle, to, found);
}

// "1/1/1970, GMT-00:44:30" is the longest that Intl writes, and UTC is "1/1/1970, GMT".
const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/;

function offsetReader(zone: string): (at: number) => number {
  const format = remembered(formats, FORMATS_KEPT, zone, () => offsetFormat(zone));
  return (at) => {
    const match = OFFSET.exec(format.format(at));
    if (match === null) throw new Error(`Intl gives no offset for ${zone} at ${at}`);
    const [, sign, hours = "0", minutes = "0", seconds = "0"] = match;
    const size = Number(hours) * HOUR_MS + Number(minutes) * 60_000 + Number(seconds) * 1_000;
    return sign === "-" ? -size : size;
  };
}

/** @throws RangeError when Intl does not know the zone */
function offsetFormat(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
}

/** Makes a value once for its key and keeps it; the oldest leaves when there are too many. */
function remembered<T>(kept: Map<string, T>, most: number, key: string, make: () => T): T {
  const known = kept.get(key);
  if (known !== undefined) return known;
  const made = make();
  const [oldest] = kept.keys();
  if (oldest !== undefined && kept.size >= most) kept.delete(oldest);
  kept.set(key, made);
  return made;
}

// ------------------------------------------------------------------------------------------------------------- calendar

/** A cron as it was read. */
interface Cron {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  readonly days: DayRule;
  readonly weekdays: DayRule;
  /** Either day field begins with `*`: then a day must satisfy both, otherwise one is enough. This is what Vixie cron does. */
  readonly needsBothDays: boolean;
  /** The hour field is `*` or a step of it. */
  readonly followsRealTime: boolean;
}

/** A day as the day fields see it. */
interface Day {
  readonly day: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  readonly daysInMonth: number;
}

type DayRule = (day: Day) => boolean;

const FORWARD = 1;
const BACK = -1;
type Direction = typeof FORWARD | typeof BACK;

// The calendar repeats itself after 400 years, so what does not match within them never does.
const MONTHS_SEARCHED = 400 * 12;
const SECONDS_A_DAY = 86_400;

// Months are counted through from a January that lies before any search.
const MONTH_ZERO_YEAR = 1200;

function nextMatch(cron: Cron, afterLocal: number): number | null {
  return findMatch(cron, Math.floor(afterLocal / 1_000) + 1, FORWARD);
}

function latestMatch(cron: Cron, atLocal: number): number | null {
  return findMatch(cron, Math.floor(atLocal / 1_000), BACK);
}

/** The nearest local time that matches, from this second on in one direction. */
function findMatch(cron: Cron, second: number, direction: Direction): number | null {
  const date = new Date(second * 1_000);
  const secondOfDay = second - Math.floor(second / SECONDS_A_DAY) * SECONDS_A_DAY;
  let month = (date.getUTCFullYear() - MONTH_ZERO_YEAR) * 12 + date.getUTCMonth();
  let found = findInMonth(cron, month, date.getUTCDate(), secondOfDay, direction);
  for (let searched = 0; found === null && searched < MONTHS_SEARCHED; searched++) {
    month += direction;
    found = findInMonth(cron, month, direction === FORWARD ? 1 : 31, edgeOfDay(direction), direction);
  }
  return found;
}

function findInMonth(cron: Cron, month: number, fromDay: number, fromSecond: number, direction: Direction): number | null {
  if (!cron.months.has((month % 12) + 1)) return null;
  const start = Date.UTC(MONTH_ZERO_YEAR, month);
  const daysInMonth = (Date.UTC(MONTH_ZERO_YEAR, month + 1) - start) / DAY_MS;
  for (let day = Math.min(fromDay, daysInMonth); day >= 1 && day <= daysInMonth; day += direction) {
    const midnight = start + (day - 1) * DAY_MS;
    if (!isOnDay(cron, { day, weekday: new Date(midnight).getUTCDay(), daysInMonth })) continue;
    const second = findInDay(cron, day === fromDay ? fromSecond : edgeOfDay(direction), direction);
    if (second !== null) return midnight + second * 1_000;
  }
  return null;
}

function isOnDay(cron: Cron, day: Day): boolean {
  return cron.needsBothDays ? cron.days(day) && cron.weekdays(day) : cron.days(day) || cron.weekdays(day);
}

/** Stays in the minute if it can, else in the hour, else takes the nearest hour that is left. */
function findInDay(cron: Cron, from: number, direction: Direction): number | null {
  const [hour, minute, second] = [Math.floor(from / 3_600), Math.floor(from / 60) % 60, from % 60];
  const hourMatches = cron.hours.has(hour);
  const edge = edgeOfDay(direction) % 60;
  const inMinute = hourMatches && cron.minutes.has(minute) ? nearest(cron.seconds, second, direction) : null;
  if (inMinute !== null) return hour * 3_600 + minute * 60 + inMinute;
  const edgeSecond = nearest(cron.seconds, edge, direction) ?? 0;
  const inHour = hourMatches ? nearest(cron.minutes, minute + direction, direction) : null;
  if (inHour !== null) return hour * 3_600 + inHour * 60 + edgeSecond;
  const later = nearest(cron.hours, hour + direction, direction);
  return later === null ? null : later * 3_600 + (nearest(cron.minutes, edge, direction) ?? 0) * 60 + edgeSecond;
}

function edgeOfDay(direction: Direction): number {
  return direction === FORWARD ? 0 : SECONDS_A_DAY - 1;
}

function nearest(values: ReadonlySet<number>, from: number, direction: Direction): number | null {
  for (let value = from; value >= 0 && value < 60; value += direction) {
    if (values.has(value)) return value;
  }
  return null;
}

// -------------------------------------------------------------------------------------------------------------- grammar

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for the values from `min` on. */
  readonly names?: readonly string[];
}

const SECOND: Field = { name: "second", min: 0, max: 59 };
const MINUTE: Field = { name: "minute", min: 0, max: 59 };
const HOUR: Field = { name: "hour", min: 0, max: 23 };
const DAY: Field = { name: "day of month", min: 1, max: 31 };
const MONTH: Field = {
  name: "month",
  min: 1,
  max: 12,
  names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAY: Field = { name: "weekday", min: 0, max: 7, names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"] };

const NICKNAMES = new Map([
  ["@hourly", "0 * * * *"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@monthly", "0 0 1 * *"],
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
]);

const crons = new Map<string, Cron>();
const CRONS_KEPT = 1_000;

function readCron(text: string): Cron {
  return remembered(crons, CRONS_KEPT, text, () => parseCron(text));
}

function parseCron(text: string): Cron {
  const fields = splitFields(text);
  const [second, minute, hour, day, month, weekday] = fields;
  return {
    seconds: parseValues(SECOND, second),
    minutes: parseValues(MINUTE, minute),
    hours: parseValues(HOUR, hour),
    months: parseValues(MONTH, month),
    days: parseDays(DAY, day),
    weekdays: parseDays(WEEKDAY, weekday),
    needsBothDays: day.startsWith("*") || weekday.startsWith("*"),
    followsRealTime: /^\*(?:\/\d+)?$/.test(hour),
  };
}

type Fields = [second: string, minute: string, hour: string, day: string, month: string, weekday: string];

function splitFields(text: string): Fields {
  const fields = expandNickname(text).toUpperCase().split(" ");
  if (fields.length === 5) fields.unshift("0");
  if (fields.length === 6) return fields as Fields;
  throw refusal("cron", `cron has 5 fields, or 6 with seconds first; got ${fields.length} in ${preview(text)}`);
}

function expandNickname(text: string): string {
  if (!text.startsWith("@")) return text;
  const expanded = NICKNAMES.get(text.toLowerCase());
  if (expanded !== undefined) return expanded;
  if (/^@every/i.test(text)) throw refusal("cron", `cron has no ${preview(text)}: for an interval give every, such as "10s"`);
  throw refusal("cron", `cron has no ${preview(text)}: use 5 fields or one of ${[...NICKNAMES.keys()].join(", ")}`);
}

/** A field of values, lists, ranges and steps: `*`, `5`, `1-5`, `1,3,5`, and `/n` after `*` or a range. */
function parseValues(field: Field, text: string): ReadonlySet<number> {
  return new Set(text.split(",").flatMap((item) => parseItem(field, item)));
}

const ITEM = /^(?:\*|(\d{1,2}|[A-Z]{3})(?:-(\d{1,2}|[A-Z]{3}))?)(?:\/(\d{1,2}))?$/;

function parseItem(field: Field, item: string): number[] {
  const match = ITEM.exec(item);
  if (match === null) throw badItem(field, item, item === "?" ? "is Quartz; use *" : "is not understood");
  const [, first, last, step] = match;
  if (first === undefined) return range(field, item, field.min, field === WEEKDAY ? 6 : field.max, step);
  if (last !== undefined) return range(field, item, parseValue(field, item, first, "first"), parseValue(field, item, last, "last"), step);
  if (step !== undefined) throw badItem(field, item, `has a step without a range; use ${first}-${field.max}/${step}`);
  return [parseValue(field, item, first, "first")];
}

/** Sunday is 0 and 7: as a name it is 7 where a range ends, so that FRI-SUN is three days. */
function parseValue(field: Field, item: string, text: string, place: "first" | "last"): number {
  const names = field.names ?? [];
  const index = place === "first" ? names.indexOf(text) : names.lastIndexOf(text);
  const value = /^\d/.test(text) ? Number(text) : index < 0 ? Number.NaN : index + field.min;
  if (value >= field.min && value <= field.max) return value;
  throw badItem(field, item, "is out of range");
}

function range(field: Field, item: string, first: number, last: number, stepText = "1"): number[] {
  const step = Number(stepText);
  if (last < first) throw badItem(field, item, "runs backwards; split it in two ranges");
  if (step < 1 || step > field.max - field.min + 1) throw badItem(field, item, "has a step out of range");
  const values: number[] = [];
  for (let value = first; value <= last; value += step) values.push(value);
  return values;
}

/** A field of days: values as in any field, and days that depend on the month (L, LW, 15W; 5L, MON#2). */
function parseDays(field: Field, text: string): DayRule {
  const rules: DayRule[] = [];
  const plain = new Set<number>();
  for (const item of text.split(",")) {
    const rule = field === DAY ? parseMonthDay(item) : parseMonthWeekday(item);
    if (rule !== null) rules.push(rule);
    else for (const value of parseItem(field, item)) plain.add(field === WEEKDAY ? value % 7 : value);
  }
  rules.push(field === DAY ? ({ day }) => plain.has(day) : ({ weekday }) => plain.has(weekday));
  return (day) => rules.some((rule) => rule(day));
}

/** `L` is the last day, `LW` the last Monday to Friday, `15W` the Monday to Friday nearest to the 15th in the same month. */
function parseMonthDay(item: string): DayRule | null {
  if (item === "L") return ({ day, daysInMonth }) => day === daysInMonth;
  if (item === "LW") return (day) => isNearestWorkday(day, day.daysInMonth);
  const [, text] = /^(\d{1,2})W$/.exec(item) ?? [];
  if (text === undefined) return null;
  const target = parseValue(DAY, item, text, "first");
  return (day) => isNearestWorkday(day, target);
}

/** A Saturday gives way to the Friday before it, a Sunday to the Monday after it, unless that would leave the month. */
function isNearestWorkday({ day, weekday, daysInMonth }: Day, target: number): boolean {
  if (target > daysInMonth) return false;
  const targetWeekday = (weekday + target - day + 35) % 7;
  if (targetWeekday === 6) return day === (target === 1 ? 3 : target - 1);
  if (targetWeekday === 0) return day === (target === daysInMonth ? target - 2 : target + 1);
  return day === target;
}

/** `FRI#2` is the second Friday of the month, `FRIL` or `5L` the last. */
function parseMonthWeekday(item: string): DayRule | null {
  const [, text, nth] = /^(\d|[A-Z]{3})(?:L|#([1-5]))$/.exec(item) ?? [];
  if (text === undefined) return null;
  const wanted = parseValue(WEEKDAY, item, text, "first") % 7;
  if (nth === undefined) return ({ day, weekday, daysInMonth }) => weekday === wanted && day > daysInMonth - 7;
  return ({ day, weekday }) => weekday === wanted && Math.ceil(day / 7) === Number(nth);
}

function checkCron(value: unknown): string {
  if (typeof value !== "string") throw invalid("cron", "a text", value);
  // Before anything looks into it: what follows may then take its time for each character.
  if (value.length > MAX_CRON_LENGTH) throw refusal("cron", `cron has at most ${MAX_CRON_LENGTH} characters; got ${value.length}`);
  const text = value.trim().replace(/[ \t]+/g, " ");
  const cron = parseCron(text);
  if (nextMatch(cron, FIRST_TICK) === null) throw refusal("cron", `cron ${preview(text)} never fires: no month has such a day`);
  return text;
}

function checkTimeZone(value: unknown): string {
  if (typeof value === "string" && isTimeZone(value)) return value;
  throw invalid("timeZone", `the IANA name of a time zone, such as "Europe/Berlin"`, value);
}

function isTimeZone(name: string): boolean {
  // Intl also takes offsets such as +01:00, but they are not names.
  if (name.length > MAX_ZONE_LENGTH || !/^[A-Za-z]/.test(name)) return false;
  try {
    return offsetFormat(name) !== undefined;
  } catch {
    return false;
  }
}

function checkEvery(value: unknown): number {
  const everyMs = parseDuration(value);
  if (everyMs !== null && everyMs >= MIN_EVERY_MS && everyMs <= MAX_DELAY_MS) return everyMs;
  throw invalid("every", `a duration from ${formatDuration(MIN_EVERY_MS)} to 10 years, such as "10s"`, value);
}

function badItem(field: Field, item: string, problem: string): MillraceError {
  const values = `${field.min}-${field.max}${field.names ? `, or names such as ${field.names[1]}` : ""}`;
  return refusal(
    "cron",
    `cron's ${field.name} ${preview(item)} ${problem} (values are ${values}; also a-b, */n, a-b/n and lists of these)`,
  );
}

function refusal(field: "cron" | "every" | "timeZone", message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field });
}
