import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { Shutdown } from "../../../src/worker/shutdown.ts";

describe("a shutdown", () => {
  let clock: VirtualClock;
  let shutdown: Shutdown;
  let told: Record<string, number>;

  beforeEach(() => {
    clock = new VirtualClock(0);
    told = {};
    const note = (step: string) => (): void => void (told[step] = clock.monotonic());
    shutdown = new Shutdown(clock, { abort: note("abort"), giveUp: note("giveUp") });
    void shutdown.outOfTime.then(note("outOfTime"));
  });

  test.each([
    ["an hour", 3_600_000, 3_595_000],
    ["30 s", 30_000, 25_000],
    ["10 s", 10_000, 5000],
    ["5 s", 5000, 2500],
    ["1 s", 1000, 500],
    ["an odd time", 5, 3],
    ["no time", 0, 0],
  ])("aborts 5 s before its end, or at half of a grace below 10 s: %s", async (_name, graceMs, abort) => {
    shutdown.endAfter(graceMs);
    await clock.advance("2h");
    expect(told).toEqual({ abort, giveUp: graceMs, outOfTime: graceMs + 1000 });
  });

  test("with a grace of 5 s leaves handlers alone when it begins", async () => {
    shutdown.endAfter(5000);
    await clock.settle();
    expect(told).toEqual({});
  });

  test("can be drawn nearer, never put off", async () => {
    shutdown.endAfter(30_000);
    await clock.advance("1s");
    shutdown.endAfter(4000);
    await clock.advance("1s");
    shutdown.endAfter(60_000);
    await clock.advance("1h");
    expect(told).toEqual({ abort: 3000, giveUp: 5000, outOfTime: 6000 });
  });

  test("drawn nearer shortly before its abort aborts no later for it", async () => {
    shutdown.endAfter(30_000);
    await clock.advance("24s");
    shutdown.endAfter(5900);
    await clock.advance("1h");
    expect(told).toEqual({ abort: 25_000, giveUp: 29_900, outOfTime: 30_900 });
  });

  test("leaves time for answers of the store also to a process that was held up beyond its end", async () => {
    // A clock that stands at a later time when its timer comes at last, as after a blocked loop or a stopped process.
    let heldUpMs = 0;
    const late = { now: () => clock.now(), monotonic: () => clock.monotonic() + heldUpMs, setTimer: clock.setTimer.bind(clock) };
    const held = new Shutdown(late, { abort: () => (told["abort"] = late.monotonic()), giveUp: () => (told["giveUp"] = late.monotonic()) });
    void held.outOfTime.then(() => (told["outOfTime"] = late.monotonic()));
    held.endAfter(1_000);
    heldUpMs = 60_000;
    await clock.advance("1h");
    expect(told).toEqual({ abort: 60_500, giveUp: 60_500, outOfTime: 61_500 });
  });

  test("that is over does nothing more", async () => {
    shutdown.endAfter(20_000);
    await clock.advance("16s");
    shutdown.stop();
    shutdown.endAfter(0);
    await clock.advance("1h");
    expect(told).toEqual({ abort: 15_000 });
  });
});
