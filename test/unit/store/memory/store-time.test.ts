import { describe, expect, test } from "vitest";
import { StoreTime } from "../../../../src/store/memory/store-time.ts";

function clockAt(now: number, monotonic: number): { wall: number; steady: number; now(): number; monotonic(): number; setTimer(): never } {
  return {
    wall: now,
    steady: monotonic,
    now() {
      return this.wall;
    },
    monotonic() {
      return this.steady;
    },
    setTimer() {
      throw new Error("no timers here");
    },
  };
}

describe("the store's time", () => {
  test("is the machine's, in whole milliseconds", () => {
    const clock = clockAt(1_000.7, 5);
    const time = new StoreTime(clock);
    expect(time.now()).toBe(1_000);
    clock.wall = 1_500.2;
    expect(time.now()).toBe(1_500);
  });

  test("goes on by the monotonic clock while the machine's clock is behind, and loses no part of a millisecond", () => {
    const clock = clockAt(1_000_000, 0);
    const time = new StoreTime(clock);
    clock.wall = 0;
    for (let tick = 1; tick <= 10; tick++) {
      clock.steady += 1.5;
      expect(time.now()).toBe(1_000_000 + Math.floor(tick * 1.5));
    }
  });

  test("is the machine's again once that has caught up", () => {
    const clock = clockAt(1_000_000, 0);
    const time = new StoreTime(clock);
    clock.wall = 0;
    clock.steady = 10;
    expect(time.now()).toBe(1_000_010);
    clock.wall = 1_000_500;
    expect(time.now()).toBe(1_000_500);
  });
});
