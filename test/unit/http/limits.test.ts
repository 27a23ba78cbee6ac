import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryLimiter, Occupancy } from "../../../src/http/limits.ts";

describe("a rate", () => {
  test("lets a burst through, then one after the other", () => {
    const limiter = new MemoryLimiter({ requests: 3, perMs: 3000 });
    expect([0, 0, 0, 0].map(() => limiter.take("a", 0))).toEqual([0, 0, 0, 1000]);
    expect(limiter.take("a", 999)).toBe(1);
    expect(limiter.take("a", 1000)).toBe(0);
    expect(limiter.take("a", 1000)).toBe(1000);
    expect(limiter.take("b", 1000)).toBe(0);
    expect([0, 0, 0].map(() => limiter.take("a", 100_000))).toEqual([0, 0, 0]);
  });

  test("I19: never lets through more than twice its number in a window, and keeps to it over many", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 50, maxLength: 400 }),
        (requests, steps) => {
          const limiter = new MemoryLimiter({ requests, perMs: 1000 });
          const passed: number[] = [];
          let now = 0;
          for (const step of steps) {
            now += step;
            if (limiter.take("a", now) === 0) passed.push(now);
          }
          for (const start of passed)
            expect(passed.filter((at) => at >= start && at < start + 1000).length).toBeLessThanOrEqual(2 * requests);
          expect(passed.length).toBeLessThanOrEqual(requests + Math.ceil((now / 1000) * requests));
        },
      ),
    );
  });

  test("says truly when the next request may come", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 50 }),
        (requests, steps) => {
          const limiter = new MemoryLimiter({ requests, perMs: 1000 });
          let now = 0;
          for (const step of steps) {
            now += step;
            const waitMs = limiter.take("a", now);
            if (waitMs > 0) expect(limiter.take("a", (now += Math.ceil(waitMs)))).toBe(0);
          }
        },
      ),
    );
  });

  test("remembers no more callers than it may, and forgets who was quiet for longest", () => {
    const limiter = new MemoryLimiter({ requests: 1, perMs: 60_000 }, 100);
    for (let index = 0; index < 10_000; index++) limiter.take(`caller-${index}`, index);
    expect(limiter.size).toBe(100);
    expect(limiter.take("caller-9999", 10_000)).toBeGreaterThan(0);
    expect(limiter.take("caller-0", 10_000)).toBe(0);
  });
});

describe("the room of a server", () => {
  test("is bounded in requests, in those that wait, and in bytes", () => {
    const room = new Occupancy({ requests: 2, waiting: 1, bytes: 100 });
    room.enter();
    room.enter();
    expect(() => room.enter()).toThrow(expect.objectContaining({ code: "overloaded" }) as Error);
    room.startWaiting();
    room.enter();
    expect(() => room.startWaiting()).toThrow(expect.objectContaining({ code: "overloaded" }) as Error);
    room.hold(100);
    expect(() => room.hold(1)).toThrow(expect.objectContaining({ code: "overloaded" }) as Error);
    room.giveBack(100);
    room.hold(100);
    room.stopWaiting();
    room.leave();
    room.leave();
    expect([room.requests, room.waiting]).toEqual([0, 0]);
  });
});
