import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import { Deadlines, type HasDeadline } from "../../../src/worker/deadlines.ts";

class Item implements HasDeadline {
  deadlineAt: number;
  readonly #act: () => void;

  constructor(deadlineAt: number, act: () => void) {
    this.deadlineAt = deadlineAt;
    this.#act = act;
  }

  onDeadline(): void {
    this.deadlineAt = Infinity;
    this.#act();
  }
}

describe("one timer for all deadlines", () => {
  let clock: VirtualClock;
  let items: Set<Item>;
  let deadlines: Deadlines;
  let seen: string[];
  let timers: number;

  beforeEach(() => {
    clock = new VirtualClock(0);
    timers = 0;
    const setTimer = clock.setTimer.bind(clock);
    clock.setTimer = (callback, ms) => {
      timers++;
      return setTimer(callback, ms);
    };
    items = new Set();
    deadlines = new Deadlines(clock, items);
    seen = [];
  });

  function add(name: string, deadlineAt: number): Item {
    const item = new Item(deadlineAt, () => seen.push(`${name} at ${clock.monotonic()}`));
    items.add(item);
    deadlines.watch(deadlineAt);
    return item;
  }

  test("each item is told at its own time", async () => {
    add("b", 200);
    add("a", 100);
    add("c", 300);
    await clock.advance(250);
    expect(seen).toEqual(["a at 100", "b at 200"]);
    await clock.advance(50);
    expect(seen).toEqual(["a at 100", "b at 200", "c at 300"]);
  });

  test("items that come and go before their deadline need no timer of their own", async () => {
    for (let at = 0; at < 1000; at++) {
      const item = add("quick", clock.monotonic() + 30_000);
      items.delete(item);
      await clock.advance(1);
    }
    expect(timers).toBe(1);
    await clock.advance(60_000);
    expect(seen).toEqual([]);
  });

  test("a deadline that came nearer is kept", async () => {
    const item = add("a", 1000);
    item.deadlineAt = 10;
    deadlines.watch(10);
    await clock.advance(10);
    expect(seen).toEqual(["a at 10"]);
  });

  test("an item that moves its deadline on is told again", async () => {
    const item = new Item(100, () => {
      seen.push(`at ${clock.monotonic()}`);
      if (seen.length === 1) item.deadlineAt = 5100;
    });
    items.add(item);
    deadlines.watch(100);
    await clock.advance("10s");
    expect(seen).toEqual(["at 100", "at 5100"]);
  });

  test("nothing happens after stop", async () => {
    add("a", 100);
    deadlines.stop();
    add("b", 50);
    await clock.advance(1000);
    expect(seen).toEqual([]);
  });
});
