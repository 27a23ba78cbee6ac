import { describe, expect, test } from "vitest";
import { nextTick, parseTiming, type Timing } from "../../../src/core/schedule.ts";
import { type Lead, readLeads, walkTogether } from "./calendar-walk.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const FROM = Date.UTC(2024, 0, 1);
const TO = Date.UTC(2031, 0, 1);

/** Crons that fire every few minutes are walked around the changes of the clocks; with `all`, through all seven years. */
const ALL = process.env["MILLRACE_TEST_CRON"] === "all";

/** Half an hour and three quarters, midnights that do not exist, changes for Ramadan, the other half of the world, and none at all. */
const ZONES = [
  "UTC",
  "Europe/Berlin",
  "Europe/London",
  "America/New_York",
  "America/Santiago",
  "America/Havana",
  "America/St_Johns",
  "Africa/Casablanca",
  "Africa/Cairo",
  "Asia/Gaza",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
];

/** A few ticks a day at most: these are walked through every minute of seven years. */
const RARE = [
  "0 0 * * *",
  "30 0 * * *",
  "15 1 * * *",
  "30 1 * * *",
  "0 2 * * *",
  "30 2 * * *",
  "45 2,3 * * *",
  "0 3 * * *",
  "59 23 * * *",
  "0 */6 * * *",
  "30 */12 * * SUN",
  "0 0 1 * *",
  "0 12 29 2 *",
  "0 2 31 * *",
  "30 2 * MAR,OCT,NOV 0",
  "0 0 13 * FRI",
  "0 1 1-7 * MON",
  "0 4 */2 * MON-FRI",
  "0 0 L * *",
  "30 2 LW * *",
  "0 9 1W,15W * *",
  "0 2 * * SUN#1,SUN#3",
  "30 23 * * 6L",
  "0 0 29,30,31 2-11/3 *",
];

const OFTEN = [
  "* * * * *",
  "*/7 * * * *",
  "*/15 */2 * * *",
  "5 * * * *",
  "* 0-23 * * *",
  "*/20 0,1,2,3 * * *",
  "13-47/11 22-23 * * SAT,SUN",
];

/** Six fields, with seconds first. */
const TO_THE_SECOND = ["*/30 * * * * *", "30 59 * * * *", "15 30 0-3 * * *", "0 0 2 * * SUN", "59 59 23,1 * * *"];

const leadsRead = new Map<string, readonly Lead[]>();

function leadsOf(timeZone: string): readonly Lead[] {
  const known = leadsRead.get(timeZone) ?? readLeads(timeZone, FROM, TO);
  leadsRead.set(timeZone, known);
  return known;
}

function ticksBetween(timing: Timing, from: number, to: number): number[] {
  const ticks: number[] = [];
  for (let tick = nextTick(timing, from); tick !== null && tick <= to; tick = nextTick(timing, tick)) ticks.push(tick);
  return ticks;
}

/** The first that differs, if any: two lists of sixty thousand ticks say little. */
function firstDifference(found: readonly number[], walked: readonly number[]): string | null {
  for (let index = 0; index < Math.max(found.length, walked.length); index++) {
    if (found[index] !== walked[index]) return `tick ${index}: found ${iso(found[index])}, walked ${iso(walked[index])}`;
  }
  return null;
}

function iso(at: number | undefined): string {
  return at === undefined ? "none" : new Date(at).toISOString();
}

describe.each(ZONES)("%s, 2024 to 2030", (timeZone) => {
  const leads = leadsOf(timeZone);

  function compare(crons: readonly string[], from: number, to: number, stepMs: number): void {
    // The walk begins with what the clocks show then.
    const before = leads.findLast(({ since }) => since <= from)!;
    const walked = walkTogether(crons, [before, ...leads.filter(({ since }) => since > from)], from, to, stepMs);
    const differences = crons.map((cron, index) => {
      const difference = firstDifference(ticksBetween(parseTiming({ cron, timeZone }), from, to), walked[index]!);
      return difference === null ? null : `${cron}: ${difference}`;
    });
    expect(differences.filter((difference) => difference !== null)).toEqual([]);
  }

  /** Every change of the zone's clocks, and an ordinary day. */
  function moments(): number[] {
    return [Date.UTC(2027, 1, 28), ...leads.slice(1).map(({ since }) => since)];
  }

  test("every minute, for crons that fire now and then", () => {
    compare(RARE, FROM, TO, MINUTE_MS);
  });

  test("every minute around every change of the clocks, for crons that fire often", { timeout: ALL ? 600_000 : 60_000 }, () => {
    if (ALL) compare(OFTEN, FROM, TO, MINUTE_MS);
    for (const at of moments()) compare(OFTEN, at - 36 * HOUR_MS, at + 36 * HOUR_MS, MINUTE_MS);
  });

  test("every second around every change of the clocks, for crons with seconds", () => {
    for (const at of moments()) compare(TO_THE_SECOND, at - 2 * HOUR_MS, at + 2 * HOUR_MS, 1_000);
  });
});

test("the zones do change their clocks, as often as they should", () => {
  const changes = ZONES.map((timeZone) => [timeZone, leadsOf(timeZone).length - 1] as const);
  expect(Object.fromEntries(changes)).toMatchObject({ UTC: 0, "Europe/Berlin": 14, "America/New_York": 14, "Australia/Lord_Howe": 14 });
  expect(changes.reduce((sum, [, count]) => sum + count, 0)).toBeGreaterThan(140);
});
