import { describe, expect, test } from "vitest";
import { type Gauge, judge, type Sample, tableOf } from "./verdict.ts";

const MB = 1024 * 1024;

/** A run of so many minutes, one sample each. */
function run(minutes: number, gauge: Gauge, valueAt: (minute: number) => number): Sample[] {
  return Array.from({ length: minutes }, (_, index) => ({ minute: index + 1, held: { [gauge]: valueAt(index + 1) } }));
}

describe("flat is", () => {
  test.each<[string, Sample[]]>([
    ["what stays", run(30, "server heap", () => 26.5 * MB)],
    ["what swings around a mean", run(30, "server heap", (minute) => (26 + (minute % 3)) * MB)],
    ["what grows in the first five minutes only", run(30, "rows in the store", (minute) => 1_000 * Math.min(5, minute))],
    ["a spike", run(30, "server descriptors", (minute) => (minute === 20 ? 400 : 30))],
    ["what shrinks", run(30, "size of the store", (minute) => (100 - minute) * MB)],
    [
      "resident memory, whatever it does: the system takes none back without need",
      run(30, "server RSS", (minute) => (90 + 2 * minute) * MB),
    ],
  ])("%s", (_what, samples) => expect(judge(samples)).toEqual([]));
});

describe("not flat is", () => {
  test.each<[string, Gauge, number, (minute: number) => number]>([
    ["a heap that grows by 0.2 MB a minute", "worker heap", 30, (minute) => (11.3 + 0.2 * minute) * MB],
    ["a heap that grows by half a MB a minute, in a run of twelve", "server heap", 12, (minute) => (26 + 0.5 * minute) * MB],
    ["a descriptor a minute", "server descriptors", 30, (minute) => 30 + minute],
    ["a handle a minute", "worker handles", 30, (minute) => 20 + minute],
    ["a table that nobody prunes", "rows in the store", 30, (minute) => 4_800 * minute],
    ["a leak that begins late", "server heap", 30, (minute) => (26 + Math.max(0, minute - 15)) * MB],
  ])("%s", (_what, gauge, minutes, valueAt) => {
    expect(judge(run(minutes, gauge, valueAt))).toEqual([
      expect.stringMatching(new RegExp(`^${gauge}: .* in the earlier half, .* in the later one$`)),
    ]);
  });

  test("what was measured too few times to tell", () => {
    expect(judge(run(3, "server heap", () => MB))).toEqual(["only 2 samples after the first 1.2 minutes: run it for longer"]);
    expect(judge([])).toHaveLength(1);
  });
});

test("the table has a row a sample, and leaves out what the system does not tell", () => {
  const samples = [{ minute: 1, held: { "server heap": 26.5 * MB, "rows in the store": 4_800 } }];
  expect(tableOf(samples)).toBe("| minute | server heap, MB | rows in the store |\n| ---: | ---: | ---: |\n| 1 | 26.5 | 4,800 |");
});
