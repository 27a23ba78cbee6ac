import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_DELAY_MS } from "../../../src/core/duration.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import {
  type CatchUp,
  dueTick,
  latestTick,
  MAX_PREVIEW,
  nextTick,
  parseTiming,
  previewTicks,
  type Timing,
} from "../../../src/core/schedule.ts";
import { clockChanges, readWalls, walkTicks, type Wall } from "./tick-walk.ts";

const RUNS = Number(process.env["MILLRACE_TEST_RUNS"] ?? 120);

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const cronIn = (timeZone: string, cron: string): Timing => parseTiming({ cron, timeZone });
const utc = (cron: string): Timing => parseTiming({ cron });
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

/** Every tick with from < tick <= to, found one by one. */
function ticksBetween(timing: Timing, from: number, to: number): number[] {
  const ticks: number[] = [];
  for (let last = from, tick = nextTick(timing, last); tick !== null && tick <= to; last = tick, tick = nextTick(timing, last)) {
    if (tick <= last) throw new Error(`${iso(tick)} is not after ${iso(last)}`);
    ticks.push(tick);
  }
  return ticks;
}

function refusalOf(input: Parameters<typeof parseTiming>[0]): MillraceError {
  try {
    parseTiming(input);
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(input)?.slice(0, 100)}`);
}

describe("parseTiming", () => {
  test("a cron is kept as it was written, with single spaces, and ticks in UTC unless told otherwise", () => {
    expect(parseTiming({ cron: " 0  9 * * mon-fri " })).toEqual({ kind: "cron", cron: "0 9 * * mon-fri", timeZone: "UTC" });
    expect(parseTiming({ cron: "@daily", timeZone: "Asia/Tokyo" })).toEqual({ kind: "cron", cron: "@daily", timeZone: "Asia/Tokyo" });
  });

  test("an interval is a duration from one second to ten years", () => {
    expect(parseTiming({ every: "10s" })).toEqual({ kind: "every", everyMs: 10_000 });
    expect(parseTiming({ every: 1_000 })).toEqual({ kind: "every", everyMs: 1_000 });
    expect(parseTiming({ every: MAX_DELAY_MS })).toEqual({ kind: "every", everyMs: MAX_DELAY_MS });
  });

  test("null counts as not given", () => {
    expect(parseTiming({ cron: null, every: "1m", timeZone: null })).toEqual({ kind: "every", everyMs: 60_000 });
  });

  test.each([
    ["neither cron nor every", {}, "cron"],
    ["both cron and every", { cron: "* * * * *", every: "1m" }, "every"],
    ["a time zone for an interval", { every: "1m", timeZone: "UTC" }, "timeZone"],
    ["a cron that is no text", { cron: 5 }, "cron"],
    ["an unknown zone", { cron: "* * * * *", timeZone: "Mars/Olympus" }, "timeZone"],
    ["an offset in place of a zone", { cron: "* * * * *", timeZone: "+01:00" }, "timeZone"],
    ["an empty zone", { cron: "* * * * *", timeZone: "" }, "timeZone"],
    ["a zone of a megabyte", { cron: "* * * * *", timeZone: "A".repeat(1_000_000) }, "timeZone"],
    ["a zone that is no text", { cron: "* * * * *", timeZone: 1 }, "timeZone"],
    ["every 0", { every: 0 }, "every"],
    ["every 999 ms", { every: "999ms" }, "every"],
    ["every 1 ns", { every: "1ns" }, "every"],
    ["every 1.5 ms", { every: 1.5 }, "every"],
    ["every 10 years and a bit", { every: MAX_DELAY_MS + 1 }, "every"],
    ["every infinity", { every: Number.POSITIVE_INFINITY }, "every"],
  ])("refuses %s, and names the field", (_, input, field) => {
    expect(refusalOf(input)).toMatchObject({ code: "invalid_input", field });
  });

  test.each([
    ["0 0 30 2 *"],
    ["0 0 31 4,6 *"],
    ["0 0 31W 2,4 *"],
    ["*/0 * * * *"],
    ["*/61 * * * *"],
    ["60 * * * *"],
    ["* 24 * * *"],
    ["* * 0 * *"],
    ["* * 32 * *"],
    ["* * * 0 *"],
    ["* * * 13 *"],
    ["* * * * 8"],
    ["60 * * * * *"],
    ["5-1 * * * *"],
    ["* * * * 6-0"],
    ["1,,2 * * * *"],
    [",1 * * * *"],
    ["1, * * * *"],
    ["1- * * * *"],
    ["-1 * * * *"],
    ["1-2-3 * * * *"],
    ["*/ * * * *"],
    ["/5 * * * *"],
    ["*/5/5 * * * *"],
    ["*/-5 * * * *"],
    ["*/1.5 * * * *"],
    ["5/15 * * * *"],
    ["** * * * *"],
    ["*5 * * * *"],
    ["a * * * *"],
    ["1e1 * * * *"],
    ["0x1 * * * *"],
    ["001 * * * *"],
    ["? * * * *"],
    ["0 0 ? * MON"],
    ["0 0 * FOO *"],
    ["0 0 * MON *"],
    ["0 0 * * JAN"],
    ["0 0 * JANUARY *"],
    ["0 0 * * MON#0"],
    ["0 0 * * MON#6"],
    ["0 0 * * MON#"],
    ["0 0 * * 9L"],
    ["0 0 * * L"],
    ["0 0 W * *"],
    ["0 0 32W * *"],
    ["0 0 1-5W * *"],
    ["0 0 L-3 * *"],
    ["L * * * *"],
    ["0 0 1 * +MON"],
    [""],
    [" "],
    ["\n"],
    ["*"],
    ["* * * *"],
    ["* * * * * * *"],
    ["0 0 * *\n*"],
    ["0 0 * * * 2026 ; rm"],
    ["٣ * * * *"],
    ["@"],
    ["@reboot"],
    ["@every 0s"],
    ["@every 1ns"],
    ["@every 10s"],
    ["@constructor"],
    ["2026-01-01T00:00:00"],
    ["* ".repeat(10_000)],
    ["*".repeat(1_000_000)],
    ["a".repeat(100_000)],
    [`${"1,".repeat(100_000)}1 * * * *`],
  ])("refuses the cron %j in one line", (cron) => {
    const refusal = refusalOf({ cron });
    expect(refusal).toMatchObject({ code: "invalid_input", field: "cron" });
    expect(refusal.message).toMatch(/^cron.{1,300}$/);
  });

  test("tells those who write @every what to use", () => {
    expect(refusalOf({ cron: "@every 10s" }).message).toContain("set every");
  });
});

describe("the fields of a cron", () => {
  // In UTC, from the start of 2026, a Thursday.
  test.each<[cron: string, ...ticks: string[]]>([
    ["* * * * *", "2026-01-01T00:01:00", "2026-01-01T00:02:00"],
    ["* * * * * *", "2026-01-01T00:00:01", "2026-01-01T00:00:02"],
    ["*/20 30 * * * *", "2026-01-01T00:30:00", "2026-01-01T00:30:20", "2026-01-01T00:30:40", "2026-01-01T01:30:00"],
    ["5,7-9 1 * * *", "2026-01-01T01:05:00", "2026-01-01T01:07:00", "2026-01-01T01:08:00", "2026-01-01T01:09:00", "2026-01-02T01:05:00"],
    ["10-40/15 0 * * *", "2026-01-01T00:10:00", "2026-01-01T00:25:00", "2026-01-01T00:40:00", "2026-01-02T00:10:00"],
    ["0 */5 * * *", "2026-01-01T05:00:00", "2026-01-01T10:00:00", "2026-01-01T15:00:00", "2026-01-01T20:00:00", "2026-01-02T00:00:00"],
    ["*/60 * * * *", "2026-01-01T01:00:00", "2026-01-01T02:00:00"],
    ["0 0 1 JAN,jul *", "2026-07-01T00:00:00", "2027-01-01T00:00:00"],
    ["0 0 1 2-4 *", "2026-02-01T00:00:00", "2026-03-01T00:00:00", "2026-04-01T00:00:00", "2027-02-01T00:00:00"],
    ["0 0 29 2 *", "2028-02-29T00:00:00", "2032-02-29T00:00:00"],
    ["0 0 31 * *", "2026-01-31T00:00:00", "2026-03-31T00:00:00", "2026-05-31T00:00:00", "2026-07-31T00:00:00"],
    ["0 0 * * 0", "2026-01-04T00:00:00", "2026-01-11T00:00:00"],
    ["0 0 * * 7", "2026-01-04T00:00:00", "2026-01-11T00:00:00"],
    ["0 0 * * sun", "2026-01-04T00:00:00", "2026-01-11T00:00:00"],
    ["0 0 * * FRI-SUN", "2026-01-02T00:00:00", "2026-01-03T00:00:00", "2026-01-04T00:00:00", "2026-01-09T00:00:00"],
    ["0 0 * * SUN-MON", "2026-01-04T00:00:00", "2026-01-05T00:00:00", "2026-01-11T00:00:00"],
    ["0 0 * * */3", "2026-01-03T00:00:00", "2026-01-04T00:00:00", "2026-01-07T00:00:00", "2026-01-10T00:00:00"],
    ["@hourly", "2026-01-01T01:00:00", "2026-01-01T02:00:00"],
    ["@daily", "2026-01-02T00:00:00", "2026-01-03T00:00:00"],
    ["@Midnight", "2026-01-02T00:00:00", "2026-01-03T00:00:00"],
    ["@weekly", "2026-01-04T00:00:00", "2026-01-11T00:00:00"],
    ["@monthly", "2026-02-01T00:00:00", "2026-03-01T00:00:00"],
    ["@yearly", "2027-01-01T00:00:00", "2028-01-01T00:00:00"],
    ["@annually", "2027-01-01T00:00:00", "2028-01-01T00:00:00"],
    ["0 0 L * *", "2026-01-31T00:00:00", "2026-02-28T00:00:00", "2026-03-31T00:00:00"],
    ["0 0 1,L * *", "2026-01-31T00:00:00", "2026-02-01T00:00:00", "2026-02-28T00:00:00"],
    ["0 0 LW * *", "2026-01-30T00:00:00", "2026-02-27T00:00:00", "2026-03-31T00:00:00"],
    ["0 0 15W * *", "2026-01-15T00:00:00", "2026-02-16T00:00:00", "2026-03-16T00:00:00"],
    ["0 0 1W * *", "2026-02-02T00:00:00", "2026-03-02T00:00:00", "2026-04-01T00:00:00", "2026-05-01T00:00:00", "2026-06-01T00:00:00"],
    ["0 0 1W 8 *", "2026-08-03T00:00:00", "2027-08-02T00:00:00"],
    ["0 0 31W 5 *", "2026-05-29T00:00:00", "2027-05-31T00:00:00"],
    ["0 0 * * FRI#2", "2026-01-09T00:00:00", "2026-02-13T00:00:00"],
    ["0 0 * * 5#5", "2026-01-30T00:00:00", "2026-05-29T00:00:00"],
    ["0 0 * * 7L", "2026-01-25T00:00:00", "2026-02-22T00:00:00"],
  ])("%s", (cron, ...ticks) => {
    const found = previewTicks(utc(cron), Date.UTC(2026, 0, 1), ticks.length);
    expect(found.map(iso)).toEqual(ticks.map((tick) => `${tick}.000Z`));
  });

  test("day of month and weekday both given: either is enough", () => {
    const ticks = previewTicks(utc("0 0 1 * MON"), Date.UTC(2020, 1, 24), 4);
    expect(ticks.map(iso)).toEqual([
      "2020-03-01T00:00:00.000Z",
      "2020-03-02T00:00:00.000Z",
      "2020-03-09T00:00:00.000Z",
      "2020-03-16T00:00:00.000Z",
    ]);
  });

  test("a day field that begins with a star leaves the choice to the other, as in Vixie cron", () => {
    const ticks = previewTicks(utc("0 0 */2 * MON"), Date.UTC(2026, 0, 1), 3);
    expect(ticks.map(iso)).toEqual(["2026-01-05T00:00:00.000Z", "2026-01-19T00:00:00.000Z", "2026-02-09T00:00:00.000Z"]);
  });
});

describe("intervals", () => {
  test("fire at multiples since the epoch, whatever the time they are asked at", () => {
    const timing = parseTiming({ every: "7s" });
    expect(nextTick(timing, -1)).toBe(0);
    expect(nextTick(timing, 0)).toBe(7_000);
    expect(nextTick(timing, 6_999)).toBe(7_000);
    expect(nextTick(timing, 7_000)).toBe(14_000);
    expect(latestTick(timing, 0, 20_999)).toBe(14_000);
    expect(latestTick(timing, 14_000, 20_999)).toBeNull();
  });
});

/** One row of the tables below: the ticks of a cron with after < tick <= upTo, all in local times with their offsets. */
type Row = [promise: string, cron: string, after: string, upTo: string, ticks: string[]];

function expectTicks(timeZone: string): (...row: Row) => void {
  return (_, cron, after, upTo, ticks) => {
    const timing = cronIn(timeZone, cron);
    expect(ticksBetween(timing, Date.parse(after), Date.parse(upTo)).map(iso)).toEqual(ticks.map((tick) => iso(Date.parse(tick))));
    expect(iso(latestTick(timing, Date.parse(after), Date.parse(upTo)))).toBe(iso(ticks.length ? Date.parse(ticks.at(-1)!) : null));
  };
}

describe("Europe/Berlin: 02:00 becomes 03:00 on 29 March 2026, 03:00 becomes 02:00 on 25 October", () => {
  test.each<Row>([
    [
      "a local time inside the gap fires at the gap's end",
      "30 2 * * *",
      "2026-03-28T00:00+01:00",
      "2026-03-31T00:00+02:00",
      ["2026-03-28T02:30+01:00", "2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"],
    ],
    [
      "many local times inside the gap are one run",
      "*/5 2 * * *",
      "2026-03-29T00:00+01:00",
      "2026-03-30T00:00+02:00",
      ["2026-03-29T03:00+02:00"],
    ],
    [
      "a gap's end that is a local time of the same cron fires once",
      "0,30 2-3 * * *",
      "2026-03-29T00:00+01:00",
      "2026-03-30T00:00+02:00",
      ["2026-03-29T03:00+02:00", "2026-03-29T03:30+02:00"],
    ],
    [
      "an hourly cron makes nothing up for the gap",
      "30 * * * *",
      "2026-03-29T00:00+01:00",
      "2026-03-29T05:00+02:00",
      ["2026-03-29T00:30+01:00", "2026-03-29T01:30+01:00", "2026-03-29T03:30+02:00", "2026-03-29T04:30+02:00"],
    ],
    [
      "a step of hours whose hour is in the gap does not fire there",
      "0 */2 * * *",
      "2026-03-29T00:00+01:00",
      "2026-03-29T07:00+02:00",
      ["2026-03-29T04:00+02:00", "2026-03-29T06:00+02:00"],
    ],
    [
      "a local time that comes twice fires at the first",
      "30 2 * * *",
      "2026-10-24T00:00+02:00",
      "2026-10-27T00:00+01:00",
      ["2026-10-24T02:30+02:00", "2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
    ],
    [
      "a range of hours fires once for each local time",
      "0 1-3 * * *",
      "2026-10-25T00:00+02:00",
      "2026-10-26T00:00+01:00",
      ["2026-10-25T01:00+02:00", "2026-10-25T02:00+02:00", "2026-10-25T03:00+01:00"],
    ],
    [
      "an hourly cron fires in both passes of the repeated hour",
      "30 * * * *",
      "2026-10-25T01:00+02:00",
      "2026-10-25T04:00+01:00",
      ["2026-10-25T01:30+02:00", "2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-10-25T03:30+01:00"],
    ],
    [
      "a step of hours that does not divide the day keeps to the hours on the clock, twice in the repeated hour",
      "0 */2 * * *",
      "2026-10-25T00:00+02:00",
      "2026-10-25T05:00+01:00",
      ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T04:00+01:00"],
    ],
    [
      "a weekday cron fires at the gap's end on its own day only",
      "30 2 * * SUN",
      "2026-03-22T12:00+01:00",
      "2026-04-05T12:00+02:00",
      ["2026-03-29T03:00+02:00", "2026-04-05T02:30+02:00"],
    ],
    [
      "seconds inside the gap are one run",
      "59 59 2 * * *",
      "2026-03-29T00:00+01:00",
      "2026-03-30T00:00+02:00",
      ["2026-03-29T03:00:00+02:00"],
    ],
    [
      "seconds in the repeated hour fire at the first pass",
      "*/30 59 2 * * *",
      "2026-10-25T00:00+02:00",
      "2026-10-26T00:00+01:00",
      ["2026-10-25T02:59:00+02:00", "2026-10-25T02:59:30+02:00"],
    ],
  ])("%s (%s)", expectTicks("Europe/Berlin"));

  test("every minute is 60 ticks in each hour that passes, also in the repeated one", () => {
    const start = Date.parse("2026-10-25T00:00+02:00");
    const ticks = ticksBetween(cronIn("Europe/Berlin", "* * * * *"), start, start + 6 * HOUR_MS);
    expect(ticks).toEqual(Array.from({ length: 360 }, (_, index) => start + (index + 1) * MINUTE_MS));
  });

  test("every minute of every hour by name is 0-23: local times, so the second pass is silent", () => {
    const start = Date.parse("2026-10-25T01:59+02:00");
    const ticks = ticksBetween(cronIn("Europe/Berlin", "* 0-23 * * *"), start, start + 3 * HOUR_MS);
    expect(ticks).toHaveLength(120);
    expect(iso(nextTick(cronIn("Europe/Berlin", "* 0-23 * * *"), Date.parse("2026-10-25T02:59+02:00")))).toBe("2026-10-25T02:00:00.000Z");
  });
});

describe("America/New_York: 02:00 becomes 03:00 on 8 March 2026, 02:00 becomes 01:00 on 1 November", () => {
  test.each<Row>([
    [
      "a local time inside the gap fires at the gap's end",
      "15 2 * * *",
      "2026-03-07T12:00-05:00",
      "2026-03-09T12:00-04:00",
      ["2026-03-08T03:00-04:00", "2026-03-09T02:15-04:00"],
    ],
    [
      "a local time that comes twice fires at the first",
      "30 1 * * *",
      "2026-10-31T12:00-04:00",
      "2026-11-02T12:00-05:00",
      ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"],
    ],
    [
      "an hourly cron fires in both passes",
      "0 * * * *",
      "2026-11-01T00:00-04:00",
      "2026-11-01T02:00-05:00",
      ["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"],
    ],
    [
      "days keep their local time across both changes",
      "0 9 1 3,4,11,12 *",
      "2026-02-15T00:00-05:00",
      "2026-12-15T00:00-05:00",
      ["2026-03-01T09:00-05:00", "2026-04-01T09:00-04:00", "2026-11-01T09:00-05:00", "2026-12-01T09:00-05:00"],
    ],
  ])("%s (%s)", expectTicks("America/New_York"));
});

describe("America/Santiago: midnight becomes 01:00 on 6 September 2026, and 23:00 on 4 April", () => {
  test.each<Row>([
    [
      "a daily run at a midnight that does not exist fires at 01:00",
      "@daily",
      "2026-09-05T12:00-04:00",
      "2026-09-07T12:00-03:00",
      ["2026-09-06T01:00-03:00", "2026-09-07T00:00-03:00"],
    ],
    [
      "midnight and 01:00 are one run when midnight does not exist",
      "0 0,1 * * *",
      "2026-09-05T12:00-04:00",
      "2026-09-06T12:00-03:00",
      ["2026-09-06T01:00-03:00"],
    ],
    [
      "the missing midnight belongs to the new day",
      "0 0 6 9 *",
      "2026-09-01T00:00-04:00",
      "2026-10-01T00:00-03:00",
      ["2026-09-06T01:00-03:00"],
    ],
    [
      "23:30 comes twice on the evening before, and fires at the first",
      "30 23 * * *",
      "2026-04-04T12:00-03:00",
      "2026-04-06T00:00-04:00",
      ["2026-04-04T23:30-03:00", "2026-04-05T23:30-04:00"],
    ],
    [
      "midnight after a repeated hour fires once",
      "0 0 * * *",
      "2026-04-04T12:00-03:00",
      "2026-04-05T12:00-04:00",
      ["2026-04-05T00:00-04:00"],
    ],
  ])("%s (%s)", expectTicks("America/Santiago"));
});

describe("Australia/Lord_Howe: 02:00 becomes 02:30 on 4 October 2026, 02:00 becomes 01:30 on 5 April", () => {
  test.each<Row>([
    [
      "a local time inside the half hour fires at its end",
      "15 2 * * *",
      "2026-10-03T12:00+10:30",
      "2026-10-05T12:00+11:00",
      ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"],
    ],
    [
      "what the gap swallows and what its end names is one run",
      "*/10 2 * * *",
      "2026-10-03T12:00+10:30",
      "2026-10-04T12:00+11:00",
      ["2026-10-04T02:30+11:00", "2026-10-04T02:40+11:00", "2026-10-04T02:50+11:00"],
    ],
    [
      "an hourly cron on the half hour fires at the gap's end because clocks show it",
      "30 * * * *",
      "2026-10-04T01:00+10:30",
      "2026-10-04T04:00+11:00",
      ["2026-10-04T01:30+10:30", "2026-10-04T02:30+11:00", "2026-10-04T03:30+11:00"],
    ],
    [
      "an hourly cron on the hour finds none in the gap",
      "0 * * * *",
      "2026-10-04T01:00+10:30",
      "2026-10-04T04:00+11:00",
      ["2026-10-04T03:00+11:00", "2026-10-04T04:00+11:00"],
    ],
    [
      "a local time in the repeated half hour fires at the first",
      "0,45 1 * * *",
      "2026-04-04T12:00+11:00",
      "2026-04-05T12:00+10:30",
      ["2026-04-05T01:00+11:00", "2026-04-05T01:45+11:00"],
    ],
    [
      "a quarter-hourly cron fires in both passes of the repeated half hour",
      "*/15 * * * *",
      "2026-04-05T01:15+11:00",
      "2026-04-05T02:00+10:30",
      ["2026-04-05T01:30+11:00", "2026-04-05T01:45+11:00", "2026-04-05T01:30+10:30", "2026-04-05T01:45+10:30", "2026-04-05T02:00+10:30"],
    ],
  ])("%s (%s)", expectTicks("Australia/Lord_Howe"));
});

describe("Africa/Casablanca: an hour back for Ramadan on 23 February 2025, forward again on 6 April", () => {
  test.each<Row>([
    [
      "a local time fires at the first of two when Ramadan begins, and at the gap's end when it is over",
      "30 2 23 2 *",
      "2025-02-22T12:00+01:00",
      "2025-02-24T12:00+00:00",
      ["2025-02-23T02:30+01:00"],
    ],
    [
      "a local time inside the gap after Ramadan fires at its end",
      "30 2 * * *",
      "2025-04-05T12:00+00:00",
      "2025-04-07T12:00+01:00",
      ["2025-04-06T03:00+01:00", "2025-04-07T02:30+01:00"],
    ],
    [
      "an hourly cron fires in both passes",
      "0 * * * *",
      "2025-02-23T01:00+01:00",
      "2025-02-23T03:00+00:00",
      ["2025-02-23T02:00+01:00", "2025-02-23T02:00+00:00", "2025-02-23T03:00+00:00"],
    ],
  ])("%s (%s)", expectTicks("Africa/Casablanca"));

  test("a local time of every day fires on each of the 365 local days of 2025", () => {
    const ticks = ticksBetween(cronIn("Africa/Casablanca", "30 2 * * *"), Date.UTC(2024, 11, 31, 12), Date.UTC(2025, 11, 31, 12));
    expect(ticks).toHaveLength(365);
  });
});

describe("Pacific/Apia: 30 December 2011 did not exist", () => {
  test.each<Row>([
    [
      "the missing day's local times fire as one run when the next day begins",
      "0 9,12 * * *",
      "2011-12-29T10:00-10:00",
      "2011-12-31T13:00+14:00",
      ["2011-12-29T12:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00", "2011-12-31T12:00+14:00"],
    ],
    [
      "a run for the missing Friday is made up, once",
      "0 12 * * FRI",
      "2011-12-24T00:00-10:00",
      "2012-01-07T00:00+14:00",
      ["2011-12-31T00:00+14:00", "2012-01-06T12:00+14:00"],
    ],
    [
      "the missing midnight and the one after it are one run",
      "@daily",
      "2011-12-29T12:00-10:00",
      "2012-01-01T12:00+14:00",
      ["2011-12-31T00:00+14:00", "2012-01-01T00:00+14:00"],
    ],
    [
      "an hourly cron goes on every hour",
      "0 * * * *",
      "2011-12-29T22:00-10:00",
      "2011-12-31T01:00+14:00",
      ["2011-12-29T23:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T01:00+14:00"],
    ],
  ])("%s (%s)", expectTicks("Pacific/Apia"));
});

describe("zones that change their standard time", () => {
  test("Almaty went back an hour at midnight: the repeated last hour of February fires once, midnight once", () => {
    expectTicks("Asia/Almaty")("", "30 23 29 2 *", "2024-02-29T12:00+06:00", "2024-03-02T00:00+05:00", ["2024-02-29T23:30+06:00"]);
    expectTicks("Asia/Almaty")("", "0 0 1 3 *", "2024-02-29T12:00+06:00", "2024-03-02T00:00+05:00", ["2024-03-01T00:00+05:00"]);
  });

  test("Recife had summer time for one week in 2000, and that week is not overlooked", () => {
    const ticks = ticksBetween(cronIn("America/Recife", "0 12 * * SAT"), Date.UTC(2000, 9, 1), Date.UTC(2000, 9, 22));
    expect(ticks.map(iso)).toEqual(["2000-10-07T15:00:00.000Z", "2000-10-14T14:00:00.000Z", "2000-10-21T15:00:00.000Z"]);
  });

  test("Monrovia went forward by 44 minutes and 30 seconds in 1972, and its seconds are right before and after", () => {
    const timing = cronIn("Africa/Monrovia", "0 0 * * *");
    const ticks = ticksBetween(timing, Date.UTC(1972, 0, 5, 12), Date.UTC(1972, 0, 8, 12));
    expect(ticks.map(iso)).toEqual(["1972-01-06T00:44:30.000Z", "1972-01-07T00:44:30.000Z", "1972-01-08T00:00:00.000Z"]);
  });
});

describe("latestTick", () => {
  test("finds the last of a year of seconds as it finds the last of a minute", () => {
    const now = Date.parse("2026-11-15T12:00:00.500Z");
    expect(iso(latestTick(cronIn("Europe/Berlin", "* * * * * *"), now - 365 * DAY_MS, now))).toBe("2026-11-15T12:00:00.000Z");
    expect(iso(latestTick(cronIn("Europe/Berlin", "* 0-23 * * * *"), now - 365 * DAY_MS, now))).toBe("2026-11-15T12:00:00.000Z");
  });

  test("counts a tick at the end of the time, and not one at its start", () => {
    const tick = Date.UTC(2026, 0, 2);
    expect(latestTick(utc("@daily"), tick - 1, tick)).toBe(tick);
    expect(latestTick(utc("@daily"), tick, tick + HOUR_MS)).toBeNull();
    expect(latestTick(utc("@daily"), tick, tick)).toBeNull();
    expect(latestTick(utc("@daily"), tick, tick - DAY_MS)).toBeNull();
  });

  test("looks back over leap years", () => {
    expect(iso(latestTick(utc("0 0 29 2 *"), 0, Date.UTC(2103, 5, 1)))).toBe("2096-02-29T00:00:00.000Z");
    expect(iso(latestTick(utc("0 * 29 2 *"), 0, Date.UTC(2103, 5, 1)))).toBe("2096-02-29T23:00:00.000Z");
  });
});

describe("the ends of time", () => {
  test.each([["* * * * *"], ["0 0 * * *"], ["0 0 29 2 *"], ["0 */5 L * *"], ["0 0 * 2 FRI#5"]])("%s ticks from 1970 to 9999", (cron) => {
    for (const timeZone of ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York"]) {
      const timing = cronIn(timeZone, cron);
      expect(nextTick(timing, 0)).toBeGreaterThan(0);
      expect(nextTick(timing, Date.UTC(5000, 0, 1))).toBeGreaterThan(Date.UTC(5000, 0, 1));
      expect(nextTick(timing, Date.UTC(9999, 11, 31, 23, 59, 59))).toBeNull();
      expect(latestTick(timing, 0, Date.UTC(9999, 11, 31))).toBeGreaterThan(Date.UTC(9900, 0, 1));
    }
  });

  test("a time that is none gives no tick", () => {
    for (const timing of [utc("* * * * *"), utc("0 5 * * *"), parseTiming({ every: "1s" })]) {
      expect(nextTick(timing, Number.NaN)).toBeNull();
      expect(nextTick(timing, Number.POSITIVE_INFINITY)).toBeNull();
      expect(latestTick(timing, Number.NaN, 1e12)).toBeNull();
      expect(latestTick(timing, 0, Number.NaN)).toBeNull();
      expect(nextTick(timing, Number.NEGATIVE_INFINITY)).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("previewTicks", () => {
  test("gives as many ticks as asked for, up to a hundred", () => {
    expect(previewTicks(utc("* * * * *"), 0, 3)).toEqual([MINUTE_MS, 2 * MINUTE_MS, 3 * MINUTE_MS]);
    expect(previewTicks(utc("* * * * *"), 0, 0)).toEqual([]);
    expect(previewTicks(utc("* * * * *"), 0, 1_000_000)).toHaveLength(MAX_PREVIEW);
    expect(previewTicks(utc("0 0 1 1 *"), Date.UTC(9998, 5, 1), 5).map(iso)).toEqual(["9999-01-01T00:00:00.000Z"]);
  });
});

describe("dueTick", () => {
  const HOURLY = utc("@hourly");
  const LATE_MS = MINUTE_MS;
  const at = (time: string): number => Date.parse(`2026-05-01T${time}Z`);
  const clock = (tick: number | null): string | null => iso(tick)?.slice(11, 16) ?? null;
  const due = (catchUp: CatchUp, last: string | null, next: string | null, now: string): (string | null)[] => {
    const state = { timing: HOURLY, catchUp, lastTick: last === null ? null : at(last), nextTick: next === null ? null : at(next) };
    const decision = dueTick(state, at(now), LATE_MS);
    return [clock(decision.tick), clock(decision.next)];
  };

  test.each<CatchUp>(["one", "skip"])("catchUp %s: before the next tick there is nothing to do", (catchUp) => {
    expect(due(catchUp, "08:00", "09:00", "08:59:59.999")).toEqual([null, "09:00"]);
    expect(due(catchUp, null, "09:00", "08:30")).toEqual([null, "09:00"]);
  });

  test.each<CatchUp>(["one", "skip"])("catchUp %s: a tick is run when it is due, and also when upkeep comes a little late", (catchUp) => {
    expect(due(catchUp, "08:00", "09:00", "09:00")).toEqual(["09:00", "10:00"]);
    expect(due(catchUp, null, "09:00", "09:00:03")).toEqual(["09:00", "10:00"]);
    expect(due(catchUp, "08:00", "09:00", "09:01")).toEqual(["09:00", "10:00"]);
  });

  test("after downtime `one` runs the latest missed tick, and only that", () => {
    expect(due("one", "08:00", "09:00", "09:30")).toEqual(["09:00", "10:00"]);
    expect(due("one", "08:00", "09:00", "15:30")).toEqual(["15:00", "16:00"]);
    expect(due("one", null, "09:00", "15:30")).toEqual(["15:00", "16:00"]);
  });

  test("after downtime `skip` runs nothing and waits for the next tick", () => {
    expect(due("skip", "08:00", "09:00", "09:01:00.001")).toEqual([null, "10:00"]);
    expect(due("skip", "08:00", "09:00", "15:30")).toEqual([null, "16:00"]);
  });

  test("after downtime `skip` still runs a tick that has only just come", () => {
    expect(due("skip", "08:00", "09:00", "15:00:10")).toEqual(["15:00", "16:00"]);
  });

  test("a tick at or before the last one is never run again", () => {
    expect(due("one", "09:00", "09:00", "09:30")).toEqual([null, "10:00"]);
    expect(due("one", "15:00", "09:00", "15:30")).toEqual([null, "16:00"]);
  });

  test("when the clock was set back, the ticks that were run are not waited for again", () => {
    expect(due("one", "15:00", "09:00", "09:30")).toEqual([null, "16:00"]);
    expect(due("one", "15:00", "16:00", "09:30")).toEqual([null, "16:00"]);
  });

  test("a tick that new zone rules moved to before the stored one is late, not lost", () => {
    expect(due("one", "08:00", "09:30", "09:30")).toEqual(["09:00", "10:00"]);
  });

  test("a schedule without a next tick stays silent", () => {
    expect(due("one", "08:00", null, "15:30")).toEqual([null, null]);
  });

  test("two processes that look at the same state make the same decision", () => {
    expect(due("one", "08:00", "09:00", "12:10")).toEqual(due("one", "08:00", "09:00", "12:50"));
  });
});

// ------------------------------------------------------------------------------------------- against the walker

const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/London",
  "America/New_York",
  "America/Santiago",
  "America/Havana",
  "America/St_Johns",
  "America/Asuncion",
  "America/Scoresbysund",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Gaza",
  "Asia/Almaty",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "Antarctica/Troll",
];

/** A zone and a time around which to look: where its clocks change in 2024 to 2030, or an ordinary day. */
const places = ZONES.flatMap((timeZone) => {
  const changes = clockChanges(timeZone, Date.UTC(2024, 0, 1), Date.UTC(2031, 0, 1));
  return [Date.UTC(2027, 1, 28), ...changes].map((at) => ({ timeZone, at }));
});

const aPlace = fc.constantFrom(...places).map(({ timeZone, at }) => ({ timeZone, at, toString: () => `${timeZone} ${iso(at)}` }));

function aField(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max });
  const step = fc.integer({ min: 1, max: Math.ceil(max / 2) });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const part = fc.oneof(
    value.map(String),
    range,
    fc.tuple(range, step).map(([span, size]) => `${span}/${size}`),
  );
  return fc.oneof(
    part,
    fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(",")),
    step.map((size) => `*/${size}`),
    fc.constant("*"),
  );
}

const often = (field: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof({ arbitrary: fc.constant("*"), weight: 3 }, { arbitrary: field, weight: 1 });

// Half of the hours lie where clocks change.
const anHour = fc.oneof(aField(0, 23), aField(0, 3), fc.constantFrom("23", "23,0", "22-23", "0-23", "*", "*/2", "*/5"));
const aDayPart = fc.tuple(often(aField(1, 28)), often(aField(1, 12)), often(aField(0, 7)));
const aCron = fc.tuple(aField(0, 59), anHour, aDayPart).map(([minute, hour, days]) => [minute, hour, ...days].join(" "));
const aCronWithSeconds = fc.tuple(aField(0, 59), aCron).map(([second, cron]) => `${second} ${cron}`);

const wallsRead = new Map<string, Wall[]>();

function wallsOf(timeZone: string, from: number, to: number, stepMs: number): Wall[] {
  const key = [timeZone, from, to, stepMs].join();
  const walls = wallsRead.get(key) ?? readWalls(timeZone, from, to, stepMs);
  if (wallsRead.size > 50) wallsRead.clear();
  wallsRead.set(key, walls);
  return walls;
}

/** The time that a walk and the code under test are compared in, and instants in it from which to look on and back. */
interface Walk {
  readonly timeZone: string;
  readonly from: number;
  readonly to: number;
  readonly probes: readonly number[];
  readonly stepMs: number;
}

function expectAsWalked(cron: string, { timeZone, from, to, probes, stepMs }: Walk): void {
  const timing = cronIn(timeZone, cron);
  const walked = walkedTicks(cron, { timeZone, from, to, stepMs });
  expect(ticksBetween(timing, from, to).map(iso)).toEqual(walked.map(iso));
  for (const probe of probes) {
    const following = walked.find((tick) => tick > probe);
    const found = nextTick(timing, probe) ?? Number.POSITIVE_INFINITY;
    if (following === undefined) expect(found).toBeGreaterThan(to);
    else expect([iso(probe), iso(found)]).toEqual([iso(probe), iso(following)]);
    expect([iso(probe), iso(latestTick(timing, from, probe))]).toEqual([iso(probe), iso(walked.findLast((tick) => tick <= probe) ?? null)]);
    expect([iso(probe), iso(latestTick(timing, probe, to))]).toEqual([iso(probe), iso(walked.findLast((tick) => tick > probe) ?? null)]);
  }
}

function walkedTicks(cron: string, { timeZone, from, to, stepMs }: Omit<Walk, "probes">): number[] {
  return walkTicks(cron, wallsOf(timeZone, from, to, stepMs), stepMs);
}

/** Places in a span of time, from -1 to 1; half of them near its middle, where clocks change. */
const someShares = fc.array(fc.oneof(fc.double({ min: -1, max: 1, noNaN: true }), fc.double({ min: -0.04, max: 0.04, noNaN: true })), {
  minLength: 6,
  maxLength: 12,
});

/** Begins early enough to see the first pass of an hour that is repeated. */
function walkAround(timeZone: string, at: number, sideMs: number, stepMs: number, shares: readonly number[]): Walk {
  const probes = shares.map((share) => Math.round(at + share * sideMs));
  return { timeZone, from: at - sideMs, to: at + sideMs, probes, stepMs };
}

describe("a walk through every minute agrees", () => {
  const timeout = 60_000 + RUNS * 200;

  test("around the changes of the clock", { timeout }, () => {
    fc.assert(
      fc.property(aCron, aPlace, someShares, (cron, { timeZone, at }, shares) => {
        expectAsWalked(cron, walkAround(timeZone, at, 1.5 * DAY_MS, MINUTE_MS, shares));
      }),
      { numRuns: RUNS },
    );
  });

  test("to the second around the changes of the clock", { timeout }, () => {
    fc.assert(
      fc.property(aCronWithSeconds, aPlace, someShares, (cron, { timeZone, at }, shares) => {
        expectAsWalked(cron, walkAround(timeZone, at, 2.25 * HOUR_MS, 1_000, shares));
      }),
      { numRuns: Math.ceil(RUNS / 5) },
    );
  });

  test("across a day that does not exist", { timeout }, () => {
    fc.assert(
      fc.property(aCron, someShares, (cron, shares) => {
        expectAsWalked(cron, walkAround("Pacific/Apia", Date.parse("2011-12-30T10:00Z"), 1.5 * DAY_MS, MINUTE_MS, shares));
      }),
      { numRuns: Math.ceil(RUNS / 10) },
    );
  });

  test("on the days of five years, whatever the day fields say", { timeout }, () => {
    fc.assert(
      fc.property(
        aField(1, 31),
        often(aField(1, 12)),
        fc.oneof(aField(0, 7), fc.constant("*")),
        someShares,
        (day, month, weekday, shares) => {
          const cron = `0 0 ${day} ${month} ${weekday}`;
          const walk = walkAround("UTC", Date.UTC(2026, 5, 1), 900 * DAY_MS, DAY_MS, shares);
          if (isRefusedAsNeverFiring(cron)) expect(walkedTicks(cron, walk)).toEqual([]);
          else expectAsWalked(cron, walk);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

function isRefusedAsNeverFiring(cron: string): boolean {
  try {
    parseTiming({ cron });
    return false;
  } catch (error) {
    return error instanceof MillraceError && error.message.includes("never fires");
  }
}
