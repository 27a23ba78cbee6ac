import { describe, expect, test } from "vitest";
import { JOB_DEFAULTS, type JobOptions, readJobOptions } from "../../../src/core/job-options.ts";
import {
  decodeKeyLimits,
  decodeLimits,
  isLimited,
  type LimitOptions,
  limitsOfKey,
  MAX_COST,
  MAX_LIMIT_KEY_BYTES,
  MAX_RUNNING_LIMIT,
  MAX_WAITING_LIMIT,
  MAX_WEIGHT,
  NO_LIMITS,
  type OneKeyLimitOptions,
  readLimits,
  readOneKeyLimits,
  shownKeyLimits,
  shownLimits,
} from "../../../src/core/limits.ts";
import { MAX_RATE_UNITS } from "../../../src/core/rate.ts";

/** What is no whole number from 1 to its bound. */
const NO_COUNTS = [0, -1, -0, 1.5, NaN, Infinity, -Infinity, "1", "", true, {}, [], [1], 2 ** 53, Symbol("s"), 1n];
const NO_RATES = [
  "",
  "fast",
  "0/s",
  "-1/s",
  "1.5/s",
  "1/0s",
  "1/32d",
  "NaN/s",
  "Infinity/s",
  0,
  1,
  NaN,
  Infinity,
  {},
  [],
  true,
  "1000000001/s",
];

function refuses(read: () => unknown, field: string): void {
  expect(read).toThrow(expect.objectContaining({ code: "invalid_input", field, message: expect.stringContaining(field) as string }));
}

describe("the limits of a queue", () => {
  test("are read, stored and shown", () => {
    const given: LimitOptions = { running: 50, rate: "100/s", perKey: { running: 2, rate: "20/10s", burst: 5, waiting: 10_000 } };
    const stored = readLimits(given);
    expect(decodeLimits(stored)).toEqual({
      running: 50,
      rate: { units: 100, periodMs: 1_000, burst: 1 },
      perKey: { running: 2, rate: { units: 20, periodMs: 10_000, burst: 5 }, waiting: 10_000 },
    });
    expect(shownLimits(stored)).toEqual({ ...given, burst: 1 });
    expect(readLimits(shownLimits(stored))).toBe(stored);
  });

  test("what is not named, undefined or null is no limit", () => {
    for (const none of [
      null,
      {},
      { running: null },
      { perKey: null },
      { perKey: {} },
      { rate: null, perKey: { running: null, waiting: undefined } },
    ]) {
      expect(readLimits(none)).toBeNull();
    }
    expect(decodeLimits(null)).toEqual(NO_LIMITS);
    expect(shownLimits(null)).toBeNull();
    expect(decodeLimits(readLimits({ perKey: { waiting: 1 } }))).toEqual({ ...NO_LIMITS, perKey: { ...NO_LIMITS.perKey, waiting: 1 } });
    expect(isLimited(NO_LIMITS)).toBe(false);
  });

  test("the largest values are accepted, and one more is not", () => {
    expect(
      readLimits({ running: MAX_RUNNING_LIMIT, rate: "1/s", burst: MAX_RATE_UNITS, perKey: { waiting: MAX_WAITING_LIMIT } }),
    ).not.toBeNull();
    refuses(() => readLimits({ running: MAX_RUNNING_LIMIT + 1 }), "limits.running");
    refuses(() => readLimits({ perKey: { running: MAX_RUNNING_LIMIT + 1 } }), "limits.perKey.running");
    refuses(() => readLimits({ perKey: { waiting: MAX_WAITING_LIMIT + 1 } }), "limits.perKey.waiting");
    refuses(() => readLimits({ rate: "1/s", burst: MAX_RATE_UNITS + 1 }), "limits.burst");
  });

  test.each(NO_COUNTS)("a count of %s is refused, naming the field", (count) => {
    refuses(() => readLimits({ running: count }), "limits.running");
    refuses(() => readLimits({ rate: "1/s", burst: count }), "limits.burst");
    refuses(() => readLimits({ perKey: { running: count } }), "limits.perKey.running");
    refuses(() => readLimits({ perKey: { waiting: count } }), "limits.perKey.waiting");
    refuses(() => readLimits({ perKey: { rate: "1/s", burst: count } }), "limits.perKey.burst");
  });

  test.each(NO_RATES)("a rate of %s is refused, naming the field", (rate) => {
    refuses(() => readLimits({ rate }), "limits.rate");
    refuses(() => readLimits({ perKey: { rate } }), "limits.perKey.rate");
  });

  test("a burst needs its rate, and says so", () => {
    refuses(() => readLimits({ burst: 5 }), "limits.burst");
    refuses(() => readLimits({ rate: null, burst: 5 }), "limits.burst");
    refuses(() => readLimits({ rate: "1/s", perKey: { burst: 5 } }), "limits.perKey.burst");
    refuses(() => readLimits({ rate: "1/s", burst: null }), "limits.burst");
  });

  test("what is no object, or has other fields, is refused", () => {
    for (const input of [undefined, 1, "50", true, [], [{ running: 1 }]]) refuses(() => readLimits(input), "limits");
    for (const perKey of [1, "2", true, []]) refuses(() => readLimits({ perKey }), "limits.perKey");
    refuses(() => readLimits({ runing: 1 }), "limits.runing");
    refuses(() => readLimits({ waiting: 1 }), "limits.waiting");
    refuses(() => readLimits({ weight: 1 }), "limits.weight");
    refuses(() => readLimits({ perKey: { weight: 2 } }), "limits.perKey.weight");
    refuses(() => readLimits({ perKey: { perKey: {} } }), "limits.perKey.perKey");
  });
});

describe("the limits of one key", () => {
  test("are read, stored and shown: what is absent is as for every key, null is no limit", () => {
    const given: OneKeyLimitOptions = { running: 10, rate: "50/s", burst: 5, waiting: null, weight: 3 };
    const own = decodeKeyLimits(readOneKeyLimits(given, "k"));
    expect(own).toEqual({ running: 10, rate: { units: 50, periodMs: 1_000, burst: 5 }, waiting: null, weight: 3 });
    expect(shownKeyLimits(own)).toEqual(given);
    expect(shownKeyLimits(decodeKeyLimits(readOneKeyLimits({ rate: null }, "k")))).toEqual({ rate: null });
    expect(readOneKeyLimits({}, "k")).toBeNull();
    expect(readOneKeyLimits({ running: undefined }, "k")).toBeNull();
    expect(decodeKeyLimits(null)).toEqual({});
  });

  test("replace those of the queue where they are given", () => {
    const queue = decodeLimits(readLimits({ running: 9, perKey: { running: 2, rate: "1/s", waiting: 7 } }));
    const of = (own: OneKeyLimitOptions): unknown => limitsOfKey(queue, "k", decodeKeyLimits(readOneKeyLimits(own, "k")));
    const rate = { units: 1, periodMs: 1_000, burst: 1 };
    expect(of({})).toEqual({ running: 2, rate, waiting: 7, weight: 1 });
    expect(of({ running: 5, weight: 4 })).toEqual({ running: 5, rate, waiting: 7, weight: 4 });
    expect(of({ rate: null, waiting: null })).toEqual({ running: 2, rate: null, waiting: null, weight: 1 });
  });

  test("jobs without a key have a weight, and nothing of what each key has", () => {
    const queue = decodeLimits(readLimits({ perKey: { running: 2, rate: "1/s", waiting: 7 } }));
    const own = decodeKeyLimits(readOneKeyLimits({ weight: 3 }, null));
    expect(limitsOfKey(queue, null, own)).toEqual({ running: null, rate: null, waiting: null, weight: 3 });
    for (const name of ["running", "rate", "burst", "waiting"]) refuses(() => readOneKeyLimits({ [name]: 1 }, null), name);
  });

  test.each([...NO_COUNTS, MAX_WEIGHT + 1, null])("a weight of %s is refused", (weight) => {
    refuses(() => readOneKeyLimits({ weight }, "k"), "weight");
    refuses(() => readOneKeyLimits({ weight }, null), "weight");
  });

  test.each(NO_COUNTS)("a count of %s is refused, naming the field", (count) => {
    refuses(() => readOneKeyLimits({ running: count }, "k"), "running");
    refuses(() => readOneKeyLimits({ waiting: count }, "k"), "waiting");
    refuses(() => readOneKeyLimits({ rate: "1/s", burst: count }, "k"), "burst");
  });

  test.each(NO_RATES)("a rate of %s is refused", (rate) => refuses(() => readOneKeyLimits({ rate }, "k"), "rate"));

  test("what is no object, or has other fields, is refused", () => {
    for (const input of [undefined, null, 1, "x", []]) refuses(() => readOneKeyLimits(input, "k"), "the limits of a key");
    refuses(() => readOneKeyLimits({ perKey: {} }, "k"), "perKey");
    refuses(() => readOneKeyLimits({ burst: 2 }, "k"), "burst");
  });
});

describe("the options of a job", () => {
  const read = (options: JobOptions): unknown => readJobOptions(options, JOB_DEFAULTS, 0);

  test("a limit key of up to 255 bytes, and a cost of up to 1,000,000", () => {
    expect(read({ limitKey: "customer-7", cost: MAX_COST })).toMatchObject({ limitKey: "customer-7", cost: MAX_COST });
    expect(read({ limitKey: "k".repeat(MAX_LIMIT_KEY_BYTES) })).toMatchObject({ limitKey: "k".repeat(MAX_LIMIT_KEY_BYTES) });
    expect(read({})).toMatchObject({ limitKey: null, cost: 1 });
  });

  test.each(["", "k".repeat(256), "é".repeat(128), 1, 0, null, {}, [], true, NaN])("a limit key of %s is refused", (limitKey) => {
    refuses(() => read({ limitKey: limitKey as string }), "limitKey");
  });

  test.each([...NO_COUNTS, null, MAX_COST + 1])("a cost of %s is refused", (cost) => refuses(() => read({ cost: cost as number }), "cost"));
});
