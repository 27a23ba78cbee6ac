import { invalid, MillraceError, preview } from "./errors.ts";
import { remembered } from "./remembered.ts";
import { DAY_MS } from "./time-units.ts";

// Reads the text of a cron strictly, then searches a calendar without time zones for the next or last local second that matches.
//
// We parse and match ourselves. Two libraries gave other ticks than ours in the test that walks through every minute (37 crons in 12 zones,
// 2024 to 2026; for crons that fire often, only around clock changes):
//
// croner 11.0.0, in 81 of 444 pairs of cron and zone:
//   - skips days: `0 0 1 * MON` from 24 Feb 2025 gives Monday 3 March and not the 1st, and so does `0 1 1-7 * MON`, in every zone
//   - runs in a skipped hour are late or missing: `45 2,3 * * *` in Berlin on 31 Mar 2024 is one run, at 3:45; `59 59 23,1 * * *` in London
//     has none for 1:59:59
//   - a list of local hours fires twice when the clocks go back: `*/20 0,1,2,3 * * *` in Berlin on 27 Oct 2024
//   - ends in the year 3000, and takes 100 KB for a pattern
// cron-parser 5.10.4 (with luxon), in 120 of 444:
//   - refuses `LW`, `15W` and `SUN#1,SUN#3`
//   - skips a midnight that the clocks skip: `0 0 * * *` in Santiago on 8 Sep 2024, and `0 0 13 * FRI` in Cairo on 26 Apr 2024
//   - throws "loop limit exceeded" for `0 2 * * *`, `0 3 * * *` and `5 * * * *` in Australia/Lord_Howe, whose clocks change by half an hour
//   - has a tick too many or too few when the clocks change: `*/15 */2 * * *` in Berlin on 31 Mar 2024, `0 */6 * * *` in Havana on 3 Nov 2024
// Both join the day fields of `0 4 */2 * MON-FRI` by "or", where Vixie cron says "and".

/** A parsed cron expression. */
export interface Cron {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  readonly days: DayRule;
  readonly weekdays: DayRule;
  /** Either day field begins with `*`. Then a day must match both, otherwise one is enough, as in Vixie cron. */
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

// The calendar repeats every 400 years: what does not match within them never does.
const MONTHS_SEARCHED = 400 * 12;
const SECONDS_A_DAY = 86_400;

// Months are numbered from a January before any search.
const MONTH_ZERO_YEAR = 1200;

export function nextMatch(cron: Cron, afterLocal: number): number | null {
  return findMatch(cron, Math.floor(afterLocal / 1_000) + 1, FORWARD);
}

export function latestMatch(cron: Cron, atLocal: number): number | null {
  return findMatch(cron, Math.floor(atLocal / 1_000), BACK);
}

/** The nearest local time that matches, from this second on, in one direction. */
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

/** Tries the same minute, then the same hour, then the nearest remaining hour. */
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

// ── Grammar ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of the values, starting with `min`. */
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

export function readCron(text: string): Cron {
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
  throw refusal(`cron must have 5 fields, or 6 with seconds first; got ${fields.length} in ${preview(text)}`);
}

function expandNickname(text: string): string {
  if (!text.startsWith("@")) return text;
  const expanded = NICKNAMES.get(text.toLowerCase());
  if (expanded !== undefined) return expanded;
  if (/^@every/i.test(text)) throw refusal(`cron does not support ${preview(text)}: for an interval, set every, such as "10s"`);
  throw refusal(`cron does not support ${preview(text)}: use 5 fields or one of ${[...NICKNAMES.keys()].join(", ")}`);
}

/** A field of values, lists, ranges and steps: `*`, `5`, `1-5`, `1,3,5`, and `/n` after `*` or a range. */
function parseValues(field: Field, text: string): ReadonlySet<number> {
  return new Set(text.split(",").flatMap((item) => parseItem(field, item)));
}

const ITEM = /^(?:\*|(\d{1,2}|[A-Z]{3})(?:-(\d{1,2}|[A-Z]{3}))?)(?:\/(\d{1,2}))?$/;

function parseItem(field: Field, item: string): number[] {
  const match = ITEM.exec(item);
  if (match === null) throw badItem(field, item, item === "?" ? "is Quartz syntax; use *" : "is not understood");
  const [, first, last, step] = match;
  if (first === undefined) return range(field, item, field.min, field === WEEKDAY ? 6 : field.max, step);
  if (last !== undefined) return range(field, item, parseValue(field, item, first, "first"), parseValue(field, item, last, "last"), step);
  if (step !== undefined) throw badItem(field, item, `has a step without a range; use ${first}-${field.max}/${step}`);
  return [parseValue(field, item, first, "first")];
}

/** Sunday is 0 and 7. As a name it is 7 at the end of a range, so that FRI-SUN is three days. */
function parseValue(field: Field, item: string, text: string, place: "first" | "last"): number {
  const names = field.names ?? [];
  const index = place === "first" ? names.indexOf(text) : names.lastIndexOf(text);
  const value = /^\d/.test(text) ? Number(text) : index < 0 ? Number.NaN : index + field.min;
  if (value >= field.min && value <= field.max) return value;
  throw badItem(field, item, "is out of range");
}

function range(field: Field, item: string, first: number, last: number, stepText = "1"): number[] {
  const step = Number(stepText);
  if (last < first) throw badItem(field, item, "runs backwards; split it into two ranges");
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

/** A Saturday becomes the Friday before it and a Sunday the Monday after it, but never in another month. */
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

export const MAX_CRON_LENGTH = 256;

/** Checks that a cron is valid and fires at some time; returns it with single spaces. */
export function checkCron(value: unknown): string {
  if (typeof value !== "string") throw invalid("cron", "a string", value);
  // Checked first, because the work below grows with the length.
  if (value.length > MAX_CRON_LENGTH) throw refusal(`cron must have at most ${MAX_CRON_LENGTH} characters; got ${value.length}`);
  const text = value.trim().replace(/[ \t]+/g, " ");
  const cron = parseCron(text);
  if (nextMatch(cron, 0) === null) throw refusal(`cron ${preview(text)} never fires: no month has such a day`);
  return text;
}

function badItem(field: Field, item: string, problem: string): MillraceError {
  const values = `${field.min}-${field.max}${field.names ? `, or names such as ${field.names[1]}` : ""}`;
  return refusal(`cron's ${field.name} ${preview(item)} ${problem} (values are ${values}; also a-b, */n, a-b/n and lists of these)`);
}

function refusal(message: string): MillraceError {
  return new MillraceError("invalid_input", message, { field: "cron" });
}
