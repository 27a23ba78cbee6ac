import { describe, expect } from "vitest";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";

const HOUR_MS = 3_600_000;

export function markSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("marks", () => {
    keeps("are seen by every process, until they are over", async (world) => {
      const other = await world.elsewhere();
      expect(await other.store.marked(["a", "b"])).toEqual([false, false]);
      await world.store.mark("a", HOUR_MS);
      expect(await other.store.marked(["b", "a", "b"])).toEqual([false, true, false]);
      world.clock.advance(HOUR_MS - 1_000);
      expect(await other.store.marked(["a"])).toEqual([true]);
      world.clock.advance(1_000);
      expect(await other.store.marked(["a"])).toEqual([false]);
      expect(await other.store.marked([])).toEqual([]);
    });

    keeps("that are set again count from then", async (world) => {
      await world.store.mark("a", 10_000);
      world.clock.advance(5_000);
      await world.store.mark("a", 10_000);
      world.clock.advance(9_000);
      expect(await world.store.marked(["a"])).toEqual([true]);
    });

    keeps("are swept when they are over", async (world) => {
      await world.store.mark("a", 1_000);
      await world.store.mark("b", HOUR_MS);
      world.clock.advance(2_000);
      await world.store.sweep({ minutesMs: HOUR_MS, hoursMs: HOUR_MS }, 100);
      expect(await world.store.marked(["a", "b"])).toEqual([false, true]);
    });
  });
}
