import { describe, expect, test, vi } from "vitest";
import { sleep, systemClock } from "../../../src/lib/clock.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

describe("sleep", () => {
  test("ends when its time has passed", async () => {
    const clock = new VirtualClock(0);
    let awake = false;
    const sleeping = sleep(clock, 1000).then(() => (awake = true));
    await clock.advance(999);
    expect(awake).toBe(false);
    await clock.advance(1);
    await sleeping;
  });

  test("ends at once when its signal aborts, before or meanwhile", async () => {
    const clock = new VirtualClock(0);
    await sleep(clock, 1000, AbortSignal.abort());
    const controller = new AbortController();
    const sleeping = sleep(clock, 1000, controller.signal);
    controller.abort();
    await sleeping;
    expect(clock.now()).toBe(0);
  });
});

describe("the system's clock", () => {
  test("does not fire a timer at once that is longer than JavaScript's can be", () => {
    vi.useFakeTimers();
    try {
      const fired = vi.fn();
      systemClock.setTimer(fired, 2 ** 31 + 5000);
      vi.advanceTimersByTime(2 ** 31 + 4999);
      expect(fired).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(fired).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  test("forgets a timer that was cancelled, also in its second lap", () => {
    vi.useFakeTimers();
    try {
      const fired = vi.fn();
      const timer = systemClock.setTimer(fired, 2 ** 31 + 5000);
      vi.advanceTimersByTime(2 ** 31);
      timer.cancel();
      vi.advanceTimersByTime(10_000);
      expect(fired).not.toHaveBeenCalled();
    } finally {
      vi.useRealTimers();
    }
  });
});
