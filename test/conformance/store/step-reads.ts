import { describe, expect } from "vitest";
import { MAX_STEPS_READ_BYTES, type NewStep } from "../../../src/core/steps.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS, type World } from "../world.ts";
import { keep, MIB, read, result, signal, sleep, stepOf, stepsOf, suspend, taken, textOf, wait } from "./durable-work.ts";

/** A call that would end by itself. */
const shortCall: NewStep = { name: "c", kind: "call", state: "open", value: null, untilMs: 1_000, detail: null };

/** The names of each page. */
async function pagesOf(world: World, id: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let after: string | null = null; ;) {
    const { steps, cursor } = await read(world, id, null, after);
    pages.push(steps.map(({ name }) => name));
    if (cursor === null) return pages;
    expect(steps.length).toBeGreaterThan(0);
    expect(cursor).toBe(steps.at(-1)!.name);
    expect(pages.length, "pages come to an end").toBeLessThan(1_000);
    after = cursor;
  }
}

export function stepReadsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("steps are read", () => {
    keeps("in pages, each of about the bytes that one read returns, none twice and none left out", async (world) => {
      const lease = await world.running();
      const size = MAX_STEPS_READ_BYTES / 8;
      const names = Array.from({ length: 16 }, (_, index) => `step ${10 + index}`);
      for (const name of names) await keep(world, lease, result(name, textOf(size)));
      const pages = await pagesOf(world, lease.id);
      expect(pages.flat()).toEqual(names);
      for (const page of pages.slice(0, -1)) {
        expect(page.length).toBeGreaterThanOrEqual(6);
        expect(page.length).toBeLessThanOrEqual(10);
      }
    });

    keeps("at least one by one, however large; those without a value come along", async (world) => {
      const lease = await world.running();
      const large = MAX_STEPS_READ_BYTES - 1;
      await keep(world, lease, result("a", textOf(large)), result("c", null));
      await keep(world, lease, result("b", textOf(large)), result("d", null));
      const pages = await pagesOf(world, lease.id);
      expect(pages.flat()).toEqual(["a", "b", "c", "d"]);
      expect(pages.length).toBeGreaterThanOrEqual(2);
    });

    keeps("from after a name that is not there, and nothing after the last", async (world) => {
      const lease = await world.running();
      await keep(world, lease, result("b"), result("d"));
      const names = async (after: string): Promise<string[]> => (await read(world, lease.id, null, after)).steps.map(({ name }) => name);
      expect([await names("a"), await names("b"), await names("c"), await names("d")]).toEqual([["b", "d"], ["d"], ["d"], []]);
    });

    keeps("null for a job that is not there; with a fence, also if the lease does not hold", async (world) => {
      expect(await world.store.readSteps(world.newId(), null, null)).toBeNull();
      expect(await world.store.readSteps(world.newId(), 1, null)).toBeNull();
      const lease = await world.running();
      await keep(world, lease, result("a"));
      expect(await world.store.readSteps(lease.id, lease.fence + 1, null)).toBeNull();
      expect(await world.store.readSteps(lease.id, 0, null)).toBeNull();
      expect(await read(world, lease.id, lease.fence)).toMatchObject({ steps: [{ name: "a" }] });
      world.clock.advance(LEASE_MS);
      expect(await read(world, lease.id, lease.fence), "until it is reclaimed").toMatchObject({ steps: [{ name: "a" }] });
      await world.complete(lease);
      expect(await world.store.readSteps(lease.id, lease.fence, null)).toBeNull();
      expect(await read(world, lease.id)).toMatchObject({ life: 1, steps: [{ name: "a" }] });
    });

    keeps("with a fence, what is overdue ends: a sleep is done, a wait has timed out", async (world) => {
      const lease = await world.running();
      await keep(world, lease, sleep("s", 1_000), wait("w", 1_000), sleep("later", 1_001), wait("ever"), shortCall, result("r"));
      world.clock.advance(999);
      expect((await read(world, lease.id, lease.fence)).steps.filter(({ state }) => state === "open")).toHaveLength(5);
      world.clock.advance(1);
      const now = world.clock.now();
      const { steps } = await read(world, lease.id, lease.fence);
      expect(steps.map(({ name, state, endedAt }) => [name, state, endedAt])).toEqual([
        ["c", "timeout", now],
        ["ever", "open", null],
        ["later", "open", null],
        ["r", "done", now - 1_000],
        ["s", "done", now],
        ["w", "timeout", now],
      ]);
      expect(steps.find(({ name }) => name === "w")).toMatchObject({
        until: now,
        startedAt: now - 1_000,
        attempt: 1,
        by: null,
        value: null,
      });
      world.clock.advance(50);
      expect((await read(world, lease.id, lease.fence)).steps.find(({ name }) => name === "s")).toMatchObject({ endedAt: now });
    });

    keeps("what ended so stays ended: a signal is late, also for a later attempt", async (world) => {
      const lease = await world.running({ retryDelay: 0 });
      await keep(world, lease, wait("w", 100), sleep("s", 100));
      world.clock.advance(100);
      await read(world, lease.id, lease.fence);
      expect(await signal(world, lease.id, "w")).toEqual({ kind: "late", state: "timeout" });
      expect(await signal(world, lease.id, "s")).toEqual({ kind: "late", state: "done" });
      await world.fail(lease, 0);
      await world.store.promote(10);
      const again = await world.take();
      expect(await signal(world, lease.id, "w")).toEqual({ kind: "late", state: "timeout" });
      expect((await read(world, lease.id, again.fence)).steps).toMatchObject([{ state: "done" }, { state: "timeout", value: null }]);
    });

    keeps("without a fence nothing ends: a signal still comes in time", async (world) => {
      const lease = await world.running();
      await keep(world, lease, wait("w", 100));
      world.clock.advance(5_000);
      expect((await read(world, lease.id)).steps).toMatchObject([{ state: "open", endedAt: null }]);
      expect(await signal(world, lease.id, "w")).toEqual(taken(false));
      expect((await read(world, lease.id, lease.fence)).steps).toMatchObject([{ state: "done", value: '"yes"' }]);
    });

    keeps("with a lease that does not hold nothing ends either", async (world) => {
      const lease = await world.running();
      await keep(world, lease, wait("w", 100));
      world.clock.advance(100);
      expect(await world.store.readSteps(lease.id, lease.fence + 1, null)).toBeNull();
      expect(await signal(world, lease.id, "w")).toEqual(taken(false));
    });

    keeps("all that is overdue ends with the first page", async (world) => {
      const lease = await world.running();
      for (const name of ["a", "b", "c"]) await keep(world, lease, result(name, textOf(2 * MIB)));
      await keep(world, lease, wait("z", 100));
      world.clock.advance(100);
      const { cursor } = await read(world, lease.id, lease.fence);
      expect(cursor).not.toBeNull();
      expect(await signal(world, lease.id, "z")).toEqual({ kind: "late", state: "timeout" });
    });

    keeps("seen by every other process", async (world) => {
      const other = await world.elsewhere();
      const lease = await world.running();
      await keep(world, lease, result("a"), wait("w"));
      expect(await stepsOf(other, lease.id)).toEqual(await stepsOf(world, lease.id));
      expect(await signal(other, lease.id, "w")).toEqual(taken(false));
      expect(await stepOf(world, lease.id, "w")).toMatchObject({ state: "done" });
      expect(await keep(other, lease, result("b"))).toBe("ok");
      expect(await stepsOf(world, lease.id)).toHaveLength(3);
    });

    keeps(`${engine.forgets === undefined ? "the same" : "gone with their store"} after a restart`, async (world) => {
      const lease = await world.running();
      await keep(world, lease, result("a", '"\\u0000"'), wait("w", 1_000));
      await signal(world, lease.id, "early");
      if (engine.forgets !== undefined) return expect(world.restart()).rejects.toThrow("cannot restart");
      const before = await read(world, lease.id);
      await world.restart();
      expect(await read(world, lease.id)).toEqual(before);
      expect(await signal(world, lease.id, "early", { by: "signal-2" })).toEqual({ kind: "late", state: "done" });
      expect(await suspend(world, lease, wait("w", 5_000))).toBe("ok");
      await world.restart();
      expect(await world.store.promote(10)).toEqual({ moved: 0, nextInMs: 1_000 });
      expect(await signal(world, lease.id, "w")).toEqual(taken(true));
      expect((await world.take()).id).toBe(lease.id);
    });
  });
}
