// A second oracle for schedule.ts, for whole years: every minute between two dates, one after the other, on what Intl says that the clocks
// show. It shares nothing with the code under test. What the zone does is read once, to the minute; the rest is counting.

import { clockChanges, wallAt } from "./tick-walk.ts";

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;

/** From this instant on the clocks of a zone are ahead of UTC by so much. */
export interface Lead {
  readonly since: number;
  readonly ms: number;
}

/** What the clocks of a zone do between two instants. */
export function readLeads(timeZone: string, from: number, to: number): Lead[] {
  const leadAt = (at: number): Lead => ({ since: at, ms: wallAt(timeZone, at).shown - at });
  return [leadAt(from), ...clockChanges(timeZone, from, to).map(leadAt)];
}

/** At most so many crons are walked at once: one bit each. */
const MOST_TOGETHER = 31;

/**
 * For each cron, every instant with from < at <= to, in steps, at which it fires.
 *
 * All of them are walked at once, each a bit in a mask, since seven years have four million minutes: the day says which may fire, then the
 * minute, then the second.
 */
export function walkTogether(crons: readonly string[], leads: readonly Lead[], from: number, to: number, stepMs: number): number[][] {
  if (crons.length > MOST_TOGETHER) throw new Error(`${crons.length} crons do not fit into ${MOST_TOGETHER} bits`);
  const matcher = new Matcher(crons);
  const ticks: number[][] = crons.map(() => []);
  let next = 1;
  let lead = leads[0]!.ms;
  let shownBefore = from + lead;
  // The latest that was shown: what is shown again after the clocks went back has had its turn.
  let latest = shownBefore;
  for (let at = from + stepMs; at <= to; at += stepMs) {
    while (next < leads.length && leads[next]!.since <= at) lead = leads[next++]!.ms;
    const shown = at + lead;
    let firing = matcher.matching(shown) & (shown > latest ? matcher.all : matcher.followRealTime);
    // What the clocks jumped over is made up for at once, by those that name local times.
    if (shown !== shownBefore + stepMs) {
      for (let skipped = Math.max(shownBefore, latest) + stepMs; skipped < shown; skipped += stepMs) {
        firing |= matcher.matching(skipped) & ~matcher.followRealTime;
      }
    }
    for (let left = firing; left !== 0; left &= left - 1) ticks[31 - Math.clz32(left & -left)]!.push(at);
    shownBefore = shown;
    if (shown > latest) latest = shown;
  }
  return ticks;
}

/** Which of many crons a local time satisfies, as a mask. */
class Matcher {
  readonly all: number;
  /** Those whose hour is `*` or a step of it. */
  readonly followRealTime: number;
  readonly #fields: readonly (readonly string[])[];
  readonly #seconds: Uint32Array;
  /** By the minute of the day. */
  readonly #minutes: Uint32Array;
  #day = Number.NaN;
  #onDay = 0;
  #month = "";
  /** For each cron, on which days of this month it may fire. */
  #days: readonly ReadonlySet<number>[] = [];

  constructor(crons: readonly string[]) {
    const fields = crons.map((cron) => (cron.split(" ").length === 5 ? `0 ${cron}` : cron).split(" "));
    this.#fields = fields;
    this.all = this.#maskOf(() => true);
    this.followRealTime = this.#maskOf(([, , hour]) => hour === "*" || hour!.startsWith("*/"));
    const sets = fields.map(([second, minute, hour]) => {
      return { seconds: numbersOf(second!, 0, 59), minutes: numbersOf(minute!, 0, 59), hours: numbersOf(hour!, 0, 23) };
    });
    this.#seconds = Uint32Array.from({ length: 60 }, (_, second) => this.#maskOf((_, index) => sets[index]!.seconds.has(second)));
    this.#minutes = Uint32Array.from({ length: 1_440 }, (_, minute) => {
      return this.#maskOf((_, index) => sets[index]!.hours.has(Math.floor(minute / 60)) && sets[index]!.minutes.has(minute % 60));
    });
  }

  matching(shown: number): number {
    const day = Math.floor(shown / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#onDay = this.#onDate(new Date(day * DAY_MS));
    }
    const second = (shown - day * DAY_MS) / SECOND_MS;
    return this.#onDay & this.#minutes[Math.floor(second / 60)]! & this.#seconds[second % 60]!;
  }

  #onDate(date: Date): number {
    const month = `${date.getUTCFullYear()} ${date.getUTCMonth()}`;
    if (month !== this.#month) {
      this.#month = month;
      this.#days = this.#fields.map((fields) => daysIn(fields, date));
    }
    return this.#maskOf((_, index) => this.#days[index]!.has(date.getUTCDate()));
  }

  #maskOf(isIn: (fields: readonly string[], index: number) => boolean): number {
    return this.#fields.reduce((mask, fields, index) => (isIn(fields, index) ? mask | (1 << index) : mask), 0);
  }
}

/** The days of a date's month on which a cron may fire. */
function daysIn(fields: readonly string[], date: Date): ReadonlySet<number> {
  const [, , , day, month, weekday] = fields as [string, string, string, string, string, string];
  if (!numbersOf(month, 1, 12, MONTHS).has(date.getUTCMonth() + 1)) return new Set();
  const [days, weekdays] = [daysOf(day, date), weekdaysOf(weekday, date)];
  return day.startsWith("*") || weekday.startsWith("*") ? days.intersection(weekdays) : days.union(weekdays);
}

const MONTHS = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/** The numbers that a field of numbers, names, lists, ranges and steps stands for. */
function numbersOf(field: string, min: number, max: number, names: readonly string[] = []): ReadonlySet<number> {
  const found = new Set<number>();
  const read = (text: string): number => (names.includes(text) ? names.indexOf(text) : Number(text));
  for (const part of field.split(",")) {
    const [span = "", step = "1"] = part.split("/");
    const [low, high = low] = span === "*" ? [min, max] : span.split("-").map(read);
    for (let value = low!; value <= high!; value += Number(step)) found.add(value);
  }
  return found;
}

/** The days of a date's month as a list: number and weekday. */
function monthOf(date: Date): { readonly day: number; readonly weekday: number }[] {
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const days = [];
  for (let day = 1; new Date(Date.UTC(year, month, day)).getUTCMonth() === month; day++) {
    days.push({ day, weekday: new Date(Date.UTC(year, month, day)).getUTCDay() });
  }
  return days;
}

/** Which days of a date's month the field for days means. */
function daysOf(field: string, date: Date): Set<number> {
  const month = monthOf(date);
  const isWorkday = ({ weekday }: { weekday: number }): boolean => weekday >= 1 && weekday <= 5;
  const found = new Set<number>();
  for (const part of field.split(",")) {
    const wanted = part.startsWith("L") ? month.length : Number.parseInt(part, 10);
    if (part === "L") found.add(month.length);
    else if (!part.endsWith("W")) for (const day of numbersOf(part, 1, 31)) found.add(day);
    else if (wanted <= month.length) {
      // The nearest, and a tie (there is none: no two workdays are as near on both sides of a Saturday or Sunday) would go to the earlier.
      const nearest = month.filter(isWorkday).sort((a, b) => Math.abs(a.day - wanted) - Math.abs(b.day - wanted));
      found.add(nearest[0]!.day);
    }
  }
  return found;
}

/** Which days of a date's month the field for weekdays means. */
function weekdaysOf(field: string, date: Date): Set<number> {
  const month = monthOf(date);
  const found = new Set<number>();
  for (const part of field.split(",")) {
    const [, name = "", nth] = /^([A-Z]{3}|\d)(?:L|#(\d))$/.exec(part) ?? [];
    const named = name === "" ? [] : month.filter(({ weekday }) => numbersOf(name, 0, 7, WEEKDAYS).has(weekday));
    if (name === "") {
      const wanted = numbersOf(part, 0, 6, WEEKDAYS);
      for (const { day, weekday } of month) if (wanted.has(weekday) || (weekday === 0 && wanted.has(7))) found.add(day);
    } else if (nth === undefined) found.add(named.at(-1)!.day);
    else if (named[Number(nth) - 1] !== undefined) found.add(named[Number(nth) - 1]!.day);
  }
  return found;
}
