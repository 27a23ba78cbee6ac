import { describe, expect } from "vitest";
import { MAX_MUTES } from "../../../src/core/mute.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const HOUR_MS = 3_600_000;

export function muteSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("muted error groups", () => {
    const ann = { by: "ann", reason: 'known: a\n"b"\u0000\ud800' };
    const nobody = { by: null, reason: null };
    const groups = async (world: World): Promise<string[]> => (await world.store.mutes()).map(({ group }) => group);

    keeps("are seen by every process, the latest first, until they are over or unmuted", async (world) => {
      const other = await world.elsewhere();
      expect(await other.store.mutes()).toEqual([]);
      const at = world.clock.now();
      await world.store.mute("aaaaaaaaaaaa", ann, HOUR_MS);
      world.clock.advance(1_000);
      await other.store.mute("bbbbbbbbbbbb", nobody, null);
      expect(await world.store.mutes()).toEqual([
        { group: "bbbbbbbbbbbb", ...nobody, at: at + 1_000, until: null },
        { group: "aaaaaaaaaaaa", ...ann, at, until: at + HOUR_MS },
      ]);
      world.clock.advance(HOUR_MS - 1_000);
      expect(await groups(world)).toEqual(["bbbbbbbbbbbb"]);
      await world.store.unmute("bbbbbbbbbbbb");
      await world.store.unmute("bbbbbbbbbbbb");
      expect(await groups(world)).toEqual([]);
    });

    keeps("that are muted again have the new time, name and reason", async (world) => {
      await world.store.mute("aaaaaaaaaaaa", ann, 1_000);
      world.clock.advance(500);
      const at = world.clock.now();
      await world.store.mute("aaaaaaaaaaaa", nobody, null);
      world.clock.advance(HOUR_MS);
      expect(await world.store.mutes()).toEqual([{ group: "aaaaaaaaaaaa", ...nobody, at, until: null }]);
    });

    keeps("are swept when they are over, and beyond the latest", async (world) => {
      const keep = { minutesMs: HOUR_MS, hoursMs: HOUR_MS };
      await world.store.mute("aaaaaaaaaaaa", nobody, 1_000);
      await world.store.mute("bbbbbbbbbbbb", nobody, null);
      world.clock.advance(2_000);
      for (let count = 0; count < MAX_MUTES; count++) await world.store.mute(count.toString(16).padStart(12, "0"), nobody, null);
      const found = await groups(world);
      expect(found).toHaveLength(MAX_MUTES);
      expect(found).not.toContain("bbbbbbbbbbbb");
      expect(await world.store.sweep(keep, 1)).toEqual({ removed: 1 });
      expect(await world.store.sweep(keep, 100)).toEqual({ removed: 1 });
      expect(await world.store.sweep(keep, 100)).toEqual({ removed: 0 });
      expect(await groups(world)).toEqual(found);
    });
  });
}
