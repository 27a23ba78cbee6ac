import { describe, expect, test } from "vitest";
import { Pace } from "../../../src/worker/pace.ts";

const SLOW_MS = 20;

describe("the pace of a worker", () => {
  test("is not known before a claim in a backlog has been followed by another", () => {
    const pace = new Pace();
    expect(pace.startsWithin(20, 10)).toBe(0);
    pace.claimed(true, 0);
    pace.started();
    expect(pace.startsWithin(20, 10)).toBe(0);
    pace.claimed(true, 4);
    expect(pace.startsWithin(20, 10)).toBe(5);
  });

  test("has the exchange in it: what passed between two full claims, over the starts in between", () => {
    const pace = new Pace();
    pace.claimed(true, 100);
    for (let start = 0; start < 10; start++) pace.started();
    pace.claimed(true, 102);
    expect(pace.startsWithin(20, 10)).toBe(100);
  });

  test("leaves out the time in which there was too little work", () => {
    const pace = new Pace();
    pace.claimed(true, 0);
    pace.started();
    pace.claimed(true, 1);
    pace.started();
    pace.claimed(false, 50_000);
    pace.started();
    pace.claimed(true, 100_000);
    expect(pace.startsWithin(20, 10)).toBe(20);
    pace.started();
    pace.claimed(true, 100_001);
    expect(pace.startsWithin(20, 10)).toBe(20);
  });

  test("follows a fall of the rate faster than a rise", () => {
    const after = (ms: number): number => {
      const pace = new Pace();
      pace.claimed(true, 0);
      pace.started();
      pace.claimed(true, 4);
      pace.started();
      pace.claimed(true, 4 + ms);
      return 20 / pace.startsWithin(20, 1000);
    };
    expect(after(8)).toBe(5);
    expect(after(0.001)).toBeCloseTo(3.5, 2);
  });

  test("is bounded by the run time of the handlers and the slots that take part", () => {
    const pace = new Pace();
    pace.claimed(true, 0);
    for (let start = 0; start < 1000; start++) pace.started();
    pace.claimed(true, 1);
    pace.ran("a", 10, SLOW_MS, 0);
    expect(pace.startsWithin(20, 5)).toBe(10);
  });

  test("cannot be measured by a clock that stands still", () => {
    const pace = new Pace();
    pace.claimed(true, 5);
    pace.started();
    pace.claimed(true, 5);
    expect(pace.startsWithin(20, 10)).toBe(0);
  });

  test("knows a slow type by its average, and forgets it a minute after its last run", () => {
    const pace = new Pace();
    pace.ran("fast", 1, SLOW_MS, 0);
    expect(pace.hasSlowTypes(0)).toBe(false);
    pace.ran("slow", 500, SLOW_MS, 1000);
    expect([pace.isSlow("slow"), pace.isSlow("fast")]).toEqual([true, false]);
    expect(pace.hasSlowTypes(61_000)).toBe(true);
    expect(pace.hasSlowTypes(61_001)).toBe(false);
    expect(pace.isSlow("slow")).toBe(false);
  });

  test("is quick to call a type slow, and slow to call it fast again", () => {
    const pace = new Pace();
    pace.ran("a", 1, SLOW_MS, 0);
    pace.ran("a", 100, SLOW_MS, 1);
    expect(pace.hasSlowTypes(1)).toBe(true);
    const runs = Array.from({ length: 100 }, (_, run) => (pace.ran("a", 1, SLOW_MS, run), pace.hasSlowTypes(run)));
    expect(runs.indexOf(false)).toBeGreaterThan(0);
    expect(runs.at(-1)).toBe(false);
  });

  test.for([1, 500])("remembers a bounded number of types that run for %i ms", (ms) => {
    const pace = new Pace();
    pace.ran("first", 500, SLOW_MS, 0);
    for (let type = 0; type < 2000; type++) pace.ran(`type-${type}`, ms, SLOW_MS, 0);
    expect(pace.isSlow("first")).toBe(false);
  });
});
