import { describe, expect } from "vitest";
import type { Spend, Spent } from "../../../src/core/allowance.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

/** Long, so that what only real time could bring back stays away while the test runs. */
const HOUR_MS = 3_600_000;

function spendOf(change: Partial<Spend> = {}): Spend {
  return { name: "key:a", units: 100, perMs: HOUR_MS, ...change };
}

async function spendOne(world: World, change: Partial<Spend> = {}): Promise<Spent> {
  const [spent] = await world.store.spend([spendOf(change)]);
  return spent!;
}

/** Takes until nothing is left; answers how many units that were. */
async function spendAll(world: World, change: Partial<Spend> = {}): Promise<number> {
  let total = 0;
  for (let spent = await spendOne(world, change); spent.taken > 0; spent = await spendOne(world, change)) total += spent.taken;
  return total;
}

export function allowanceSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("allowances", () => {
    keeps("give a tenth of what is left, and one unit at least", async (world) => {
      const taken: number[] = [];
      for (let index = 0; index < 12; index++) taken.push((await spendOne(world)).taken);
      expect(taken).toEqual([10, 9, 8, 7, 6, 6, 5, 4, 4, 4, 3, 3]);
    });

    keeps("give all their units and no more, and then say when the next one will be there", async (world) => {
      expect(await spendAll(world)).toBe(100);
      expect(await spendOne(world)).toEqual({ taken: 0, waitMs: HOUR_MS / 100 });
      world.clock.advance(HOUR_MS / 100 - 1_000);
      expect(await spendOne(world)).toEqual({ taken: 0, waitMs: 1_000 });
      world.clock.advance(1_000);
      expect([await spendOne(world), await spendOne(world)]).toEqual([
        { taken: 1, waitMs: 0 },
        { taken: 0, waitMs: HOUR_MS / 100 },
      ]);
    });

    keeps("are whole again when the time has passed in which their units come back, and never more than whole", async (world) => {
      await spendAll(world);
      world.clock.advance(HOUR_MS / 2);
      expect(await spendAll(world)).toBe(50);
      world.clock.advance(20 * HOUR_MS);
      expect(await spendAll(world)).toBe(100);
    });

    keeps("lose nothing to fractions of milliseconds", async (world) => {
      for (const units of [7, 333, 1013]) expect(await spendAll(world, { name: `key:${units}`, units })).toBe(units);
    });

    keeps("are one for all connections", async (world) => {
      const other = await world.elsewhere();
      expect(await spendOne(world)).toEqual({ taken: 10, waitMs: 0 });
      expect(await spendOne(other)).toEqual({ taken: 9, waitMs: 0 });
      const [here, there] = await Promise.all([spendAll(world), spendAll(other)]);
      expect(here + there).toBe(81);
    });

    keeps("stand apart by their names, and are answered in the order in which they were asked, also twice in one call", async (world) => {
      const names = ["b", "a", "b", "address:2001:db8::/64", "ключ 😀", "a", "%_*'\\"];
      const spent = await world.store.spend(names.map((name) => spendOf({ name })));
      expect(spent.map(({ taken }) => taken)).toEqual([10, 10, 9, 10, 10, 9, 10]);
    });

    keeps("go by the rate that the call gives: what was taken counts for what it took of the time", async (world) => {
      await spendAll(world);
      // All of an hour is in use. To one who may have twice as many in it, that is all of it, too.
      expect(await spendOne(world, { units: 200 })).toEqual({ taken: 0, waitMs: HOUR_MS / 200 });
    });

    keeps("are whole again after one period of the present rate, whatever the rate was before", async (world) => {
      await spendAll(world);
      const fast = { units: 1000, perMs: 1000 };
      expect(await spendOne(world, fast)).toEqual({ taken: 0, waitMs: 1 });
      world.clock.advance(1000);
      expect((await spendOne(world, fast)).taken).toBeGreaterThan(0);
    });

    keeps("are not kept once nothing of them is in use", async (world) => {
      await world.store.spend(Array.from({ length: 30 }, (_, index) => spendOf({ name: `key:${index}` })));
      const keep = { minutesMs: HOUR_MS, hoursMs: HOUR_MS };
      expect((await world.store.sweep(keep, 100)).removed).toBe(0);
      world.clock.advance(HOUR_MS);
      let removed = 0;
      for (let some = await world.store.sweep(keep, 20); some.removed > 0; some = await world.store.sweep(keep, 20)) {
        expect(some.removed).toBeLessThanOrEqual(20);
        removed += some.removed;
      }
      expect(removed).toBe(engine.allowancesVanish === undefined ? 30 : 0);
      expect(await spendAll(world, { name: "key:0" })).toBe(100);
    });

    keeps("take nothing for an empty call", async (world) => {
      expect(await world.store.spend([])).toEqual([]);
    });
  });
}
