import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  intervalOf,
  MAX_RATE_PERIOD_MS,
  MAX_RATE_UNITS,
  type Rate,
  rateInWords,
  type RateState,
  readRate,
  rescaleRate,
  takeFromRate,
  waitForRate,
} from "../../../src/core/rate.ts";

const NOW = 1_700_000_000_000;
const PER_SECOND: Rate = { units: 10, periodMs: 1_000, burst: 1 };

describe("a rate is read", () => {
  test.each([
    ["100/s", 100, 1_000],
    ["20/10s", 20, 10_000],
    ["5000/h", 5_000, 3_600_000],
    ["1000/d", 1_000, 86_400_000],
    ["1/500ms", 1, 500],
    ["3/m", 3, 60_000],
    ["1/31d", 1, MAX_RATE_PERIOD_MS],
    ["1000000000/ms", MAX_RATE_UNITS, 1],
  ] as const)("%s", (text, units, periodMs) => {
    expect(readRate(text)).toEqual({ units, periodMs });
  });

  test.each([
    "",
    "/",
    "100",
    "100/",
    "/s",
    "0/s",
    "-1/s",
    "+1/s",
    "1.5/s",
    "1e3/s",
    "1/0s",
    "1/-1s",
    "1/1.5s",
    " 1/s",
    "1/s ",
    "1 / s",
    "1/S",
    "1/w",
    "1/32d",
    "1000000001/s",
    "99999999999/s",
    "1/999999999s",
    "1/s/s",
    "1/s\n",
    "Infinity/s",
    "NaN/s",
    "١/s",
    `1/${"1".repeat(100_000)}s`,
    0,
    1,
    -1,
    NaN,
    Infinity,
    null,
    undefined,
    true,
    {},
    [],
    ["1/s"],
    Symbol("s"),
    { toString: () => "1/s" },
  ])("%s is no rate", (input) => {
    expect(readRate(input)).toBeUndefined();
  });

  test("and written as it is read, in the largest unit that keeps it whole", () => {
    for (const [given, shown] of [
      ["100/s", "100/s"],
      ["20/10s", "20/10s"],
      ["1/1000ms", "1/s"],
      ["1/60s", "1/m"],
      ["1/90s", "1/90s"],
      ["1/24h", "1/d"],
    ] as const) {
      expect(rateInWords(readRate(given)!)).toBe(shown);
    }
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_RATE_UNITS }), fc.integer({ min: 1, max: 99_999_999 }), (units, periodMs) => {
        expect(readRate(rateInWords({ units, periodMs }))).toEqual({ units, periodMs });
      }),
    );
  });

  test("every period that can be given can be written", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 99_999_999 }), fc.constantFrom("ms", "s", "m", "h", "d"), (times, unit) => {
        const rate = readRate(`1/${times}${unit}`);
        fc.pre(rate !== undefined);
        expect(readRate(rateInWords(rate))).toEqual(rate);
      }),
    );
  });
});

/** Starts one after the other, each as soon as it may, and tells when. */
function startTimes(rate: Rate, costs: readonly number[]): number[] {
  let [state, now]: [RateState | null, number] = [null, NOW];
  return costs.map((cost) => {
    for (let wait = waitForRate(rate, state, cost, now); wait > 0; wait = waitForRate(rate, state, cost, now)) now += wait;
    state = takeFromRate(rate, state, cost, now);
    return now - NOW;
  });
}

describe("a start", () => {
  test("waits for the time of one unit after another, with a burst of 1", () => {
    expect(startTimes(PER_SECOND, [1, 1, 1, 1])).toEqual([0, 100, 200, 300]);
  });

  test("may come at once up to the burst", () => {
    expect(startTimes({ ...PER_SECOND, burst: 3 }, [1, 1, 1, 1, 1])).toEqual([0, 0, 0, 100, 200]);
  });

  test("needs min(cost, burst) units and takes its whole cost", () => {
    expect(startTimes({ ...PER_SECOND, burst: 4 }, [3, 2, 10, 1])).toEqual([0, 100, 500, 1_200]);
    expect(startTimes(PER_SECOND, [1_000_000, 1])).toEqual([0, 100_000_000]);
  });

  test("waits whole milliseconds, at least one", () => {
    const thirds: Rate = { units: 3, periodMs: 1_000, burst: 1 };
    const state = takeFromRate(thirds, null, 1, NOW);
    expect(waitForRate(thirds, state, 1, NOW)).toBe(334);
    expect(waitForRate(thirds, state, 1, NOW + 333)).toBe(1);
    expect(waitForRate(thirds, state, 1, NOW + 334)).toBe(0);
    expect(
      waitForRate(
        { units: 1_000_000, periodMs: 1, burst: 1 },
        takeFromRate({ units: 1_000_000, periodMs: 1, burst: 1 }, null, 1_000, NOW),
        1,
        NOW,
      ),
    ).toBe(1);
  });

  test("never comes with more than units + burst − 1 others in a period: every window, by trying", () => {
    const rates = fc.record({
      units: fc.integer({ min: 1, max: 50 }),
      periodMs: fc.integer({ min: 1, max: 5_000 }),
      burst: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(rates, fc.array(fc.nat({ max: 300 }), { minLength: 1, maxLength: 80 }), (rate, pauses) => {
        let [state, now]: [RateState | null, number] = [null, NOW];
        const starts: number[] = [];
        for (const pause of pauses) {
          now += pause;
          while (waitForRate(rate, state, 1, now) === 0 && starts.length < 500) {
            state = takeFromRate(rate, state, 1, now);
            starts.push(now);
          }
        }
        const most = Math.max(0, ...starts.map((from) => starts.filter((at) => at >= from && at < from + rate.periodMs).length));
        expect(most).toBeLessThanOrEqual(rate.units + rate.burst - 1);
      }),
    );
  });

  test("starts when the wait that was told is over, and not before", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 30 }),
        (units, periodMs, burst, taken) => {
          const rate = { units, periodMs, burst };
          const state = takeFromRate(rate, null, taken, NOW);
          const wait = waitForRate(rate, state, 1, NOW);
          expect(waitForRate(rate, state, 1, NOW + wait)).toBe(0);
          if (wait > 0) expect(waitForRate(rate, state, 1, NOW + wait - 1)).toBe(1);
        },
      ),
    );
  });
});

describe("what a rate remembers", () => {
  test("units come back with time, and are never more than the burst", () => {
    const state = takeFromRate({ ...PER_SECOND, burst: 3 }, null, 3, NOW);
    expect(state).toEqual({ busyUntil: NOW + 300, intervalMs: 100 });
    expect(takeFromRate({ ...PER_SECOND, burst: 3 }, state, 3, NOW + 60_000)).toEqual({ busyUntil: NOW + 60_300, intervalMs: 100 });
  });

  test("units that are given back are there, but none are saved", () => {
    const state = takeFromRate(PER_SECOND, null, 5, NOW);
    expect(waitForRate(PER_SECOND, takeFromRate(PER_SECOND, state, -5, NOW), 1, NOW)).toBe(0);
    const late = takeFromRate(PER_SECOND, state, -5, NOW + 60_000);
    expect(startWait(late, NOW + 60_000)).toBe(100);
  });

  test("a debt stays the same number of units when the rate changes", () => {
    const state = takeFromRate({ units: 1, periodMs: 1_000, burst: 1 }, null, 10, NOW);
    expect(waitForRate(PER_SECOND, state, 1, NOW + 2_000)).toBe(800);
    expect(waitForRate({ units: 1, periodMs: 10_000, burst: 1 }, state, 1, NOW + 2_000)).toBe(80_000);
    expect(rescaleRate(PER_SECOND, state, NOW + 2_000)).toEqual({ busyUntil: NOW + 2_800, intervalMs: 100 });
  });

  test("what was rescaled goes on by the new rate", () => {
    const state = takeFromRate({ units: 1, periodMs: 1_000, burst: 1 }, null, 10, NOW);
    const rescaled = rescaleRate(PER_SECOND, state, NOW + 2_000)!;
    expect(waitForRate(PER_SECOND, rescaled, 1, NOW + 2_400)).toBe(400);
    expect(rescaleRate(PER_SECOND, rescaled, NOW + 2_400)).toBe(rescaled);
    expect(rescaleRate(PER_SECOND, null, NOW)).toBeNull();
    expect(intervalOf(PER_SECOND)).toBe(100);
  });

  test("a clock that was set back makes nobody wait longer than the debt", () => {
    const state = takeFromRate(PER_SECOND, null, 1, NOW);
    expect(waitForRate(PER_SECOND, state, 1, NOW - 1_000)).toBe(1_100);
  });
});

/** How long the second of two starts waits. */
function startWait(state: RateState, now: number): number {
  return waitForRate(PER_SECOND, takeFromRate(PER_SECOND, state, 1, now), 1, now);
}

describe("a rate whose interval is no whole number of milliseconds", () => {
  /** The times of all starts, if somebody asks in every millisecond. */
  function startsOf(rate: Rate, periods: number): number[] {
    let state: RateState | null = null;
    const starts: number[] = [];
    for (let now = NOW; now < NOW + periods * rate.periodMs; now++) {
      while (waitForRate(rate, state, 1, now) === 0) {
        state = takeFromRate(rate, state, 1, now);
        starts.push(now);
      }
    }
    return starts;
  }

  test.each([
    { units: 300, periodMs: 1_000, burst: 1 },
    { units: 700, periodMs: 1_000, burst: 1 },
    { units: 5_000, periodMs: 1_000, burst: 1 },
    { units: 7, periodMs: 10, burst: 3 },
  ])("gives all of its units, and no period has more: $units in $periodMs ms, burst $burst", (rate) => {
    const starts = startsOf(rate, 20);
    expect(starts.length).toBeGreaterThan(20 * rate.units * 0.998);
    const most = rate.units + rate.burst - 1;
    for (let index = most; index < starts.length; index++) {
      expect(starts[index]! - starts[index - most]!).toBeGreaterThanOrEqual(rate.periodMs);
    }
  });
});
