import { describe, expect, test } from "vitest";
import { readLimits, readOneKeyLimits, shownLimits } from "../../../src/core/limits.ts";
import {
  EMPTY_FORM,
  formOfKey,
  formOfQueue,
  isEmpty,
  limitsIn,
  queueLimitsIn,
  refusalOf,
} from "../../../src/dashboard/views/queue/limits/limit-form.ts";

/** What the client throws. */
function refused(read: () => unknown): unknown {
  try {
    read();
  } catch (error) {
    return error;
  }
  throw new Error("it was not refused");
}

describe("the form of a queue's limits", () => {
  test.each([
    [{ running: 50 }],
    [{ rate: "100/s", burst: 20 }],
    [{ perKey: { waiting: 10 } }],
    [{ running: 5, rate: "1/h", perKey: { running: 2, rate: "5/s", burst: 3, waiting: 10_000 } }],
  ])("gives back the limits that it was opened with: %j", (limits) => {
    const stored = readLimits(limits);
    expect(readLimits(queueLimitsIn(formOfQueue(shownLimits(stored))))).toBe(stored);
  });

  test("without any text there are no limits", () => {
    expect(queueLimitsIn(formOfQueue(null))).toBeNull();
    expect(queueLimitsIn({ queue: { ...EMPTY_FORM, running: " " }, perKey: EMPTY_FORM })).toBeNull();
  });

  test("numbers may have commas, as the page writes them", () => {
    expect(queueLimitsIn({ queue: { ...EMPTY_FORM, running: "1,000,000" }, perKey: EMPTY_FORM })).toEqual({
      running: 1_000_000,
      perKey: {},
    });
  });

  test.each([
    ["queue", "running", "abc", 'Must be a whole number from 1 to 1000000; got "abc".'],
    ["queue", "running", "0", "Must be a whole number from 1 to 1000000; got 0."],
    ["queue", "running", "1,0", 'Must be a whole number from 1 to 1000000; got "1,0".'],
    ["queue", "running", "NaN", 'Must be a whole number from 1 to 1000000; got "NaN".'],
    ["perKey", "rate", "fast", 'Must be a rate such as "100/s", "20/10s", "5000/h" or "1000/d"; got "fast".'],
    ["perKey", "burst", "3", "Must be given together with a rate; got 3."],
    ["perKey", "waiting", "-1", 'Must be a whole number from 1 to 1000000000; got "-1".'],
  ] as const)("a refusal stands at its field: %s %s %s", (of, field, text, problem) => {
    const form = { queue: EMPTY_FORM, perKey: EMPTY_FORM, [of]: { ...EMPTY_FORM, [field]: text } };
    expect(refusalOf(refused(() => readLimits(queueLimitsIn(form))))).toEqual({ of, field, problem });
  });

  test("another error stands at no field", () => {
    expect(refusalOf(new Error("the server is away"))).toBeNull();
  });
});

describe("the form of a key's limits", () => {
  test.each([
    [{ running: 10, rate: "50/s", burst: 5, waiting: 7, weight: 3 }],
    [{ running: null, waiting: null }],
    [{ rate: null }],
    [{ rate: "5/s", burst: 1 }],
    [{ weight: 100 }],
  ])("gives back the limits that it was opened with: %j", (own) => {
    expect(readOneKeyLimits(limitsIn(formOfKey(own)), "acme")).toBe(readOneKeyLimits(own, "acme"));
  });

  test("an empty field is as for every key, and none is no limit", () => {
    expect(isEmpty(formOfKey(null))).toBe(true);
    expect(limitsIn({ ...EMPTY_FORM, running: "None", rate: " none ", weight: "2" })).toEqual({ running: null, rate: null, weight: 2 });
  });

  test("a refusal stands at its field", () => {
    const error = refused(() => readOneKeyLimits(limitsIn({ ...EMPTY_FORM, weight: "0" }), "acme"));
    expect(refusalOf(error)).toMatchObject({ field: "weight", problem: "Must be a whole number from 1 to 100; got 0." });
  });
});
