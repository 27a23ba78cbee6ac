import { describe, expect } from "vitest";
import { MAX_KEPT_SCHEMAS, MAX_PUBLISHED_SCHEMAS, MAX_SCHEMA_BYTES, readSchema } from "../../../src/core/payload-schema.ts";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";

const HOUR_MS = 3_600_000;

export function payloadSchemaSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("schemas of payloads", () => {
    keeps("are kept under their digests for every process, until their time is over", async (world) => {
      const other = await world.elsewhere();
      const one = readSchema({ title: 'line\n "1" \u0000 \ud800 é' }, "schema");
      const two = readSchema({ title: "x".repeat(MAX_SCHEMA_BYTES - 12) }, "schema");
      expect(await other.store.readSchemas([one.digest])).toEqual([null]);
      await world.store.putSchemas([one, two, one], 2 * HOUR_MS);
      expect(await other.store.readSchemas([two.digest, "unknown", one.digest])).toEqual([two.text, null, one.text]);
      world.clock.advance(HOUR_MS);
      await other.store.putSchemas([two], 2 * HOUR_MS);
      world.clock.advance(HOUR_MS);
      expect(await world.store.readSchemas([one.digest, two.digest])).toEqual([null, two.text]);
      await world.store.sweep({ minutesMs: HOUR_MS, hoursMs: HOUR_MS }, 100);
      expect(await other.store.readSchemas([two.digest])).toEqual([two.text]);
      await world.store.putSchemas([], HOUR_MS);
      expect(await world.store.readSchemas([])).toEqual([]);
    });

    keeps("are swept beyond the latest, unless they are kept anew", async (world) => {
      const [old, anew, ...others] = Array.from({ length: MAX_KEPT_SCHEMAS + 1 }, (_, index) =>
        readSchema({ title: `no. ${index}` }, "schema"),
      );
      await world.store.putSchemas([old!, anew!], HOUR_MS);
      world.clock.advance(1_000);
      await world.store.putSchemas([...others, anew!], HOUR_MS);
      const keep = { minutesMs: HOUR_MS, hoursMs: HOUR_MS };
      expect(await world.store.sweep(keep, 100)).toEqual({ removed: 1 });
      expect(await world.store.sweep(keep, 100)).toEqual({ removed: 0 });
      const [gone, ...texts] = await world.store.readSchemas([old!, anew!, ...others].map(({ digest }) => digest));
      expect(gone).toBeNull();
      expect(texts).toEqual([anew!, ...others].map(({ text }) => text));
    });

    keeps("are written by many workers at once, in any order", async (world) => {
      const schemas = Array.from({ length: MAX_PUBLISHED_SCHEMAS }, (_, index) => readSchema({ title: `no. ${index}` }, "schema"));
      const other = await world.elsewhere();
      await Promise.all([
        world.store.putSchemas(schemas, HOUR_MS),
        other.store.putSchemas(schemas.toReversed(), HOUR_MS),
        world.store.putSchemas(schemas, HOUR_MS),
      ]);
      const texts = await world.store.readSchemas(schemas.map(({ digest }) => digest));
      expect(texts).toEqual(schemas.map(({ text }) => text));
    });
  });
}
