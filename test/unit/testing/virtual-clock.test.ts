import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

describe("a virtual clock", () => {
  test("stands still until it is turned", async () => {
    const clock = new VirtualClock(1000);
    let fired = false;
    clock.setTimer(() => (fired = true), 1);
    await clock.settle();
    expect([clock.now(), clock.monotonic(), fired]).toEqual([1000, 0, false]);
    await clock.advance("1s");
    expect([clock.now(), clock.monotonic(), fired]).toEqual([2000, 1000, true]);
  });

  test("fires timers in the order of their times, and equal ones in the order in which they were set", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 15 }), async (delays) => {
        const clock = new VirtualClock(0);
        const fired: { at: number; index: number }[] = [];
        delays.forEach((ms, index) => clock.setTimer(() => fired.push({ at: clock.now(), index }), ms));
        await clock.advance(20);
        const expected = delays.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at || a.index - b.index);
        expect(fired).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  test("lets what a timer caused come to rest before the next one fires", async () => {
    const clock = new VirtualClock(0);
    const log: string[] = [];
    clock.setTimer(() => {
      log.push("first");
      void Promise.resolve().then(() => setImmediate(() => log.push("what it caused")));
    }, 5);
    clock.setTimer(() => log.push("second"), 6);
    await clock.advance(10);
    expect(log).toEqual(["first", "what it caused", "second"]);
  });

  test("fires timers that were set on the way, at their own time", async () => {
    const clock = new VirtualClock(0);
    const at: number[] = [];
    const again = (): void => {
      at.push(clock.now());
      clock.setTimer(again, 10);
    };
    clock.setTimer(again, 10);
    await clock.advance(35);
    expect(at).toEqual([10, 20, 30]);
    expect(clock.now()).toBe(35);
  });

  test("forgets cancelled timers, and one that fired may be cancelled", async () => {
    const clock = new VirtualClock(0);
    const fired: string[] = [];
    const gone = clock.setTimer(() => fired.push("gone"), 5);
    const kept = clock.setTimer(() => fired.push("kept"), 5);
    gone.cancel();
    await clock.advance(5);
    kept.cancel();
    expect(fired).toEqual(["kept"]);
  });

  test("refuses to turn back, and time it cannot read", async () => {
    const clock = new VirtualClock(0);
    await expect(clock.advance(-1)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(clock.advance("soon" as never)).rejects.toMatchObject({ code: "invalid_input", field: "time" });
  });

  test("says so when something never comes to rest", async () => {
    const clock = new VirtualClock(0);
    const again = (): void => void clock.setTimer(again, 0);
    again();
    await expect(clock.settle()).rejects.toThrow("does not settle");
  });
});
