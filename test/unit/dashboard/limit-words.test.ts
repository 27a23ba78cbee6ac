import { describe, expect, test } from "vitest";
import { MAX_COUNTED_OF_KEY } from "../../../src/core/limits.ts";
import { countOfKey, limitsInWords, nextStartOf, rateText, runningHint, usedOf } from "../../../src/dashboard/limit-words.ts";

describe("limits in words", () => {
  test.each([
    [{ running: 50 }, "at most 50 running"],
    [{ running: null, rate: "100/s", burst: 1, perKey: { running: null, rate: null, waiting: null } }, "100/s"],
    [
      { running: 5000, rate: "100/s", burst: 20, perKey: { running: 2, rate: "5/s", burst: 1, waiting: 10_000 } },
      "at most 5,000 running, 100/s, burst 20; each key: at most 2 running, 5/s, at most 10,000 waiting",
    ],
    [{ running: null, rate: null, perKey: { running: 1, rate: null, waiting: null } }, "each key: at most 1 running"],
    [{ perKey: null }, ""],
  ])("%j", (limits, words) => {
    expect(limitsInWords(limits)).toBe(words);
  });

  test("a rate has a burst only if that is more than one start", () => {
    expect(rateText({ rate: "5/s", burst: 1 })).toBe("5/s");
    expect(rateText({ rate: "5/s", burst: 2000 })).toBe("5/s, burst 2,000");
    expect(rateText({ rate: null })).toBe("no limit");
  });

  test("a count that has reached its bound may be more", () => {
    expect(countOfKey(MAX_COUNTED_OF_KEY - 1)).toBe("9,999");
    expect(countOfKey(MAX_COUNTED_OF_KEY)).toBe("10,000+");
    expect(usedOf(countOfKey(3), 5000)).toBe("3 of 5,000");
    expect(usedOf(countOfKey(3), null)).toBe("3");
  });
});

describe("what a new limit means for running jobs", () => {
  test.each([
    [0, 5, "0 run now."],
    [1, null, "1 runs now."],
    [4, 5, "4 run now."],
    [5, 5, "5 run now. The next one starts when fewer than 5 run."],
    [14, 10, "14 run now. The next one starts when fewer than 10 run."],
    [3, 1, "3 run now. The next one starts when none runs."],
  ])("%j run, the limit is %j", (running, limit, words) => {
    expect(runningHint(running, limit)).toBe(words);
  });
});

describe("the next start", () => {
  const NOW = 1000;
  const free = { running: 1, limit: 2, nextStartAt: null };
  const full = { running: 2, limit: 2, nextStartAt: null };
  const rated = (nextStartAt: number) => ({ running: 1, limit: null, nextStartAt });
  const held = (heldUntil: number, nextStartAt = heldUntil) => ({ running: 0, limit: 1, nextStartAt, heldUntil });

  test.each([
    ["with room in both", free, free, { kind: "now" }],
    ["without limits", { running: 9, limit: undefined, nextStartAt: null }, null, { kind: "now" }],
    ["of a full queue", full, null, { kind: "full" }],
    ["of a lowered limit", { ...full, running: 7 }, null, { kind: "full" }],
    ["of a key that is full", free, full, { kind: "full" }],
    ["of a free key in a full queue", full, free, { kind: "full" }],
    ["by the rate of the queue", rated(3000), free, { kind: "rate", at: 3000 }],
    ["by the later of two rates, of the key", rated(3000), rated(4000), { kind: "rate", at: 4000 }],
    ["by the later of two rates, of the queue", rated(5000), rated(4000), { kind: "rate", at: 5000 }],
    ["by the rate of a key in a full queue", full, rated(4000), { kind: "full" }],
    ["of a held key", full, held(9000), { kind: "held", heldUntil: 9000, at: 9000 }],
    ["of a held key whose rate is later", free, held(9000, 9500), { kind: "held", heldUntil: 9000, at: 9500 }],
    ["once the times of an old answer have come", rated(NOW), held(NOW), { kind: "now" }],
  ])("%s", (_, queue, key, next) => {
    expect(nextStartOf({ ...queue, isPaused: false }, key, NOW)).toEqual(next);
    expect(nextStartOf({ ...queue, isPaused: true }, key, NOW)).toEqual({ kind: "paused" });
  });
});
