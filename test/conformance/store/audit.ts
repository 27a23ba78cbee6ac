import { describe, expect } from "vitest";
import { AUDIT_KEPT_MS, auditEntry, MAX_AUDIT_ENTRIES, type NewAuditEntry } from "../../../src/core/audit.ts";
import { MAX_BATCH } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const KEEP = { minutesMs: 1_000, hoursMs: 1_000 };

function paused(queue: string, by: string | null = "ann"): NewAuditEntry {
  return auditEntry("queue:paused", { by, reason: null }, { queue });
}

async function queuesIn(world: World): Promise<(string | null)[]> {
  return (await world.store.readAudit(null, MAX_BATCH)).map(({ queue }) => queue);
}

export function auditSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("the audit", () => {
    keeps("gives back what was written, newest first, with the time and a number that rises", async (world) => {
      expect(await world.store.readAudit(null, 10)).toEqual([]);
      const at = world.clock.now();
      const job = world.newId();
      const whole: NewAuditEntry = { ...paused("b"), jobId: job, schedule: "nightly", reason: 'a\n"b"\u0000\ud800', details: "type=mail" };
      await world.store.writeAudit([paused("a"), whole]);
      world.clock.advance(50);
      await (await world.elsewhere()).store.writeAudit([paused("c", null)]);
      const found = await world.store.readAudit(null, 10);
      expect(found.map(({ number: _number, ...entry }) => entry)).toEqual([
        { ...paused("c", null), at: at + 50 },
        { ...whole, at },
        { ...paused("a"), at },
      ]);
      const numbers = found.map(({ number }) => number);
      expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));
      expect(new Set(numbers).size).toBe(3);
    });

    keeps("is read on from a number", async (world) => {
      for (const queue of ["a", "b", "c", "d"]) await world.store.writeAudit([paused(queue)]);
      const first = await world.store.readAudit(null, 2);
      expect(first.map(({ queue }) => queue)).toEqual(["d", "c"]);
      const second = await world.store.readAudit(first[1]!.number, 2);
      expect(second.map(({ queue }) => queue)).toEqual(["b", "a"]);
      expect(await world.store.readAudit(second[1]!.number, 2)).toEqual([]);
    });

    keeps("forgets what is too old, some at a time", async (world) => {
      await world.store.writeAudit([paused("a"), paused("b"), paused("c")]);
      world.clock.advance(1_000);
      await world.store.writeAudit([paused("d")]);
      world.clock.advance(AUDIT_KEPT_MS - 1_000);
      expect(await world.store.sweep(KEEP, 100)).toEqual({ removed: 0 });
      world.clock.advance(1);
      expect(await world.store.sweep(KEEP, 2)).toEqual({ removed: 2 });
      expect(await queuesIn(world)).toEqual(["d", "c"]);
      expect(await world.store.sweep(KEEP, 2)).toEqual({ removed: 1 });
      expect(await queuesIn(world)).toEqual(["d"]);
    });

    keeps("its numbers rise even after all entries are gone", async (world) => {
      await world.store.writeAudit([paused("a"), paused("b")]);
      const [last] = await world.store.readAudit(null, 1);
      world.clock.advance(AUDIT_KEPT_MS + 1);
      expect(await world.store.sweep(KEEP, 10)).toEqual({ removed: 2 });
      expect(await queuesIn(world)).toEqual([]);
      expect(await world.store.sweep(KEEP, 10)).toEqual({ removed: 0 });
      await world.store.writeAudit([paused("c")]);
      const [next] = await world.store.readAudit(null, 1);
      expect(next!.number).toBeGreaterThan(last!.number);
    });

    keeps("forgets what is beyond the newest, however young", async (world) => {
      await world.store.writeAudit([paused("first"), paused("second")]);
      for (let from = 0; from < MAX_AUDIT_ENTRIES - 1; from += MAX_BATCH) {
        const many = Math.min(MAX_BATCH, MAX_AUDIT_ENTRIES - 1 - from);
        await world.store.writeAudit(Array.from({ length: many }, () => paused("more")));
      }
      expect(await world.store.sweep(KEEP, 100)).toEqual({ removed: 1 });
      const [newest] = await world.store.readAudit(null, 1);
      const oldest = await world.store.readAudit(newest!.number - MAX_AUDIT_ENTRIES + 3, 10);
      expect(oldest.map(({ queue }) => queue)).toEqual(["more", "second"]);
    });
  });
}
