import { describe, expect, test } from "vitest";
import { COUNTERS, MAX_TYPES_COUNTED, TIMES } from "../../../src/core/counters.ts";
import { bucketOf, BUCKETS } from "../../../src/core/histogram.ts";
import { STATUSES, TERMINAL, WAITING } from "../../../src/core/job.ts";
import { OUTCOME_KINDS } from "../../../src/core/lifecycle.ts";
import {
  BUCKETS_PER_TYPE,
  COUNTER,
  counterMetric,
  COUNTERS_PER_TYPE,
  FIELDS_PER_TYPE,
  FIRST_BUCKET,
  FIRST_COUNTER,
  FIRST_LATER_TALLY,
  firstBucketOf,
  firstFieldOf,
  LAST_LATER_TALLY,
  LEVELS,
  levelNumber,
  MARKS_PER_FENCE,
  OUTCOME,
  readMetric,
  readTallyMetric,
  readTyped,
  settledMark,
  STATE,
  statusOf,
  tallyMetric,
  THRESHOLDS,
  typedCounter,
} from "../../../src/store/numbers.ts";

const inOrder = (numbers: readonly number[]): number[] => [...numbers].sort((a, b) => a - b);
const everyTally = STATUSES.flatMap((status) =>
  LEVELS.map((level, number) => ({ status, level, metric: tallyMetric(STATE[status], number) })),
);

describe("numbers that were ever stored keep their meaning", () => {
  test("of states, outcomes and counters", () => {
    expect(STATE).toMatchObject({ scheduled: 0, retrying: 1, pending: 2, running: 3, completed: 4, cancelled: 5, failed: 6, dead: 7 });
    expect(OUTCOME).toMatchObject({ completed: 0, failed: 1, discard: 2, snooze: 3, release: 4, lost: 5 });
    expect(COUNTER).toMatchObject({ enqueued: 0, completed: 1, failed: 2, dead: 3, retried: 4, cancelled: 5, lost: 6 });
    expect(settledMark(7, "lost")).toBe(62);
  });

  test("of levels and times", () => {
    expect([-100, -1, 0, 9, 10, 19, 20, 100].map(levelNumber)).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    expect(TIMES.map(firstBucketOf)).toEqual([100, 208]);
    expect(counterMetric("enqueued")).toBe(32);
    expect(tallyMetric(STATE.dead, 3)).toBe(31);
  });
});

describe("what statements rely on when they compare numbers", () => {
  test("waiting states are those below running, and the first two of them wait for their time", () => {
    expect(inOrder(WAITING.map((status) => STATE[status]))).toEqual([0, 1, 2]);
    expect([STATE.scheduled, STATE.retrying]).toEqual([0, 1]);
    expect(STATE.running).toBe(3);
  });

  test("ended states are those from completed to dead", () => {
    expect(inOrder(TERMINAL.map((status) => STATE[status]))).toEqual([4, 5, 6, 7]);
    expect([STATE.completed, STATE.cancelled, STATE.dead]).toEqual([4, 5, 7]);
  });

  test("thresholds tell the level that the core tells", () => {
    for (let priority = -100; priority <= 100; priority++) {
      expect(THRESHOLDS.find(({ from }) => priority >= from)?.level ?? 0).toBe(levelNumber(priority));
    }
  });
});

describe("every number has one meaning", () => {
  test("states are numbered without a gap, from 0", () => {
    expect(inOrder(Object.values(STATE))).toEqual(STATUSES.map((_, index) => index));
    for (const status of STATUSES) expect(statusOf(STATE[status])).toBe(status);
  });

  test("outcomes fit between two fences", () => {
    expect(inOrder(Object.values(OUTCOME))).toEqual(OUTCOME_KINDS.map((_, index) => index));
    expect(OUTCOME_KINDS.length).toBeLessThanOrEqual(MARKS_PER_FENCE);
  });

  test("tallies, counters and buckets of PostgreSQL stand apart", () => {
    const tallies = everyTally.map(({ metric }) => metric);
    const counters = COUNTERS.map(counterMetric);
    expect(new Set([...tallies, ...counters]).size).toBe(tallies.length + counters.length);
    for (const metric of tallies) expect(metric < FIRST_COUNTER || (metric >= FIRST_LATER_TALLY && metric <= LAST_LATER_TALLY)).toBe(true);
    for (const metric of counters) expect(metric >= FIRST_COUNTER && metric < FIRST_LATER_TALLY).toBe(true);
    expect(LAST_LATER_TALLY).toBeLessThan(FIRST_BUCKET);
    for (const { status, level, metric } of everyTally) expect(readTallyMetric(metric)).toEqual({ status, level });
    for (const counter of COUNTERS) expect(readMetric(counterMetric(counter), FIRST_COUNTER)).toEqual({ counter });
  });

  test("figures of a type tell the type, and fit the column of PostgreSQL", () => {
    expect([COUNTERS_PER_TYPE, BUCKETS_PER_TYPE, FIELDS_PER_TYPE]).toEqual([16, 320, 10_000]);
    for (const type of [0, 1, MAX_TYPES_COUNTED]) {
      for (const [perType, firstOf] of [
        [BUCKETS_PER_TYPE, firstBucketOf],
        [FIELDS_PER_TYPE, firstFieldOf],
      ] as const) {
        const metrics = TIMES.flatMap((time) => [firstOf(time), firstOf(time) + BUCKETS - 1]);
        for (const metric of metrics) expect(readTyped(type * perType + metric, perType)).toEqual({ type, metric });
        if (type > 0) {
          for (const metric of Object.values(COUNTER)) expect(readTyped(typedCounter(type, metric), perType)).toEqual({ type, metric });
        }
      }
    }
    expect(COUNTERS.length).toBeLessThanOrEqual(COUNTERS_PER_TYPE);
    expect((MAX_TYPES_COUNTED + 1) * BUCKETS_PER_TYPE).toBeLessThan(2 ** 15);
  });

  test("buckets tell their time", () => {
    for (const time of TIMES) {
      for (const ms of [0, 1, 500, 86_400_000, Infinity]) {
        const bucket = bucketOf(ms);
        expect(bucket).toBeLessThan(BUCKETS);
        expect(readMetric(firstBucketOf(time) + bucket, 0)).toEqual({ time, bucket });
      }
    }
  });
});
