import { describe, expect, test } from "vitest";
import { Loop } from "../../../src/lib/loop.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";

describe("a loop", () => {
  function make(turn: () => Promise<number> | number, onError: (error: unknown) => number = () => 1000) {
    const clock = new VirtualClock(0);
    return { clock, loop: new Loop({ clock, turn, onError }) };
  }

  test("takes its first turn at once and then rests as long as each turn says", async () => {
    const at: number[] = [];
    const { clock, loop } = make(() => {
      at.push(clock.monotonic());
      return at.length * 100;
    });
    loop.start();
    await clock.advance(650);
    expect(at).toEqual([0, 100, 300, 600]);
    await loop.stop();
  });

  test("a wake-up ends the rest", async () => {
    let turns = 0;
    const { clock, loop } = make(() => {
      turns++;
      return 1000;
    });
    loop.start();
    await clock.advance(10);
    loop.wake();
    await clock.advance(10);
    expect(turns).toBe(2);
    await clock.advance(985);
    expect(turns).toBe(2);
    await clock.advance(10);
    expect(turns).toBe(3);
    await loop.stop();
  });

  test("a wake-up within a time ends the rest then, unless it ends before, and keeps turns apart", async () => {
    const at: number[] = [];
    const { clock, loop } = make(() => {
      at.push(clock.monotonic());
      return 1000;
    });
    loop.wakeWithin(0, 25);
    loop.start();
    loop.wakeWithin(5000, 25);
    await clock.advance(10);
    loop.wakeWithin(0, 25);
    await clock.advance(90);
    loop.wakeWithin(300, 25);
    loop.wakeWithin(400, 25);
    await clock.advance(400);
    loop.wakeWithin(5000, 25);
    await clock.advance("1s");
    expect(at).toEqual([0, 25, 400, 1400]);
    await loop.stop();
    loop.wakeWithin(0, 0);
    await clock.advance("1s");
    expect(at).toHaveLength(4);
  });

  test("wake-ups in the middle of a turn make one more turn follow, never two at once", async () => {
    const turns: PromiseWithResolvers<number>[] = [];
    const { clock, loop } = make(() => {
      turns.push(Promise.withResolvers());
      return turns.at(-1)!.promise;
    });
    loop.start();
    let isDone = false;
    const done = loop.turnNow().then(() => (isDone = true));
    loop.wake();
    expect(turns).toHaveLength(1);
    turns[0]!.resolve(1000);
    await clock.settle();
    expect([turns.length, isDone]).toEqual([2, false]);
    turns[1]!.resolve(1000);
    await done;
    await clock.settle();
    expect(turns).toHaveLength(2);
    await loop.stop();
  });

  test("a wake-up between the end of a turn and the one that follows starts no third one beside it", async () => {
    let [atOnce, most] = [0, 0];
    let end: () => void = () => {};
    const { clock, loop } = make(async () => {
      most = Math.max(most, ++atOnce);
      await new Promise<void>((resolve) => (end = resolve));
      atOnce--;
      return 1000;
    });
    loop.start();
    loop.wake();
    const gate = Promise.withResolvers<void>();
    for (let hops = 0; hops < 6; hops++) {
      void gate.promise.then(async () => {
        for (let hop = 0; hop < hops; hop++) await Promise.resolve();
        loop.wake();
      });
    }
    end();
    gate.resolve();
    await clock.settle();
    expect(most).toBe(1);
    end();
    await clock.settle();
    end();
    await loop.stop();
  });

  test("a turn that fails is told, and the loop goes on", async () => {
    const errors: unknown[] = [];
    let turns = 0;
    const { clock, loop } = make(
      () => {
        if (++turns === 1) throw new Error("bad turn");
        return 1000;
      },
      (error) => {
        errors.push(error);
        return 50;
      },
    );
    loop.start();
    await clock.advance(50);
    expect(turns).toBe(2);
    expect(errors).toEqual([new Error("bad turn")]);
    await loop.stop();
  });

  test("stop waits for the turn under way, and nothing follows", async () => {
    const turn = Promise.withResolvers<number>();
    let turns = 0;
    const { clock, loop } = make(() => {
      turns++;
      return turn.promise;
    });
    loop.start();
    loop.wake();
    let isStopped = false;
    const stopped = Promise.all([loop.stop(), loop.stop()]).then(() => (isStopped = true));
    await clock.settle();
    expect(isStopped).toBe(false);
    turn.resolve(1);
    await stopped;
    await loop.turnNow();
    await clock.advance("1h");
    expect(turns).toBe(1);
  });
});
