import { expect, test } from "vitest";
import { EarliestTimer } from "../../../src/lib/earliest-timer.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

test("calls back once, at the earliest time that it was given, and can be set again", async () => {
  const clock = new VirtualClock(0);
  const calledAt: number[] = [];
  const timer = new EarliestTimer(clock, () => calledAt.push(clock.now()));
  expect(timer.leftMs).toBeNull();
  timer.set(300);
  timer.set(100);
  timer.set(200);
  expect(timer.leftMs).toBe(100);
  await clock.advance(1000);
  expect([calledAt, timer.leftMs]).toEqual([[100], null]);
  timer.set(50);
  await clock.advance(1000);
  expect(calledAt).toEqual([100, 1050]);
});

test("calls back no more once it is cancelled", async () => {
  const clock = new VirtualClock(0);
  let calls = 0;
  const timer = new EarliestTimer(clock, () => calls++);
  timer.set(100);
  timer.cancel();
  await clock.advance(1000);
  expect([calls, timer.leftMs]).toEqual([0, null]);
});
