import { describe, expect } from "vitest";
import type { WorkerEntry } from "../../../src/core/worker-entry.ts";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";

function entryOf(id: string, change: Partial<WorkerEntry> = {}): WorkerEntry {
  return {
    id,
    host: "host \u{1F600}",
    pid: 4242,
    state: "idle",
    slots: 20,
    queues: ["default", "mail"],
    types: ["a", "b"],
    startedAt: 1_700_000_000_000,
    running: [],
    runningCount: 0,
    processed: 7,
    perMinute: 1.5,
    abandoned: 0,
    ...change,
  };
}

export function workerSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("the registry of workers", () => {
    keeps("shows an entry as it was given, and when it was last heard of", async (world) => {
      const entry = entryOf("w-1", { types: "*", state: "busy", running: [world.newId(), world.newId()], runningCount: 2 });
      await world.store.register(entry, 15_000);
      expect(await world.store.workers()).toEqual([{ ...entry, heartbeatAt: world.clock.now() }]);
    });

    keeps("shows the newest word of each worker, to every connection", async (world) => {
      const other = await world.elsewhere();
      await world.store.register(entryOf("a"), 15_000);
      await other.store.register(entryOf("b"), 15_000);
      world.clock.advance(5_000);
      await world.store.register(entryOf("a", { state: "stopping", processed: 99 }), 15_000);
      const workers = (await other.store.workers()).sort((a, b) => (a.id < b.id ? -1 : 1));
      expect(workers).toMatchObject([
        { id: "a", state: "stopping", processed: 99, heartbeatAt: world.clock.now() },
        { id: "b", state: "idle", heartbeatAt: world.clock.now() - 5_000 },
      ]);
    });

    keeps("forgets a worker ttlMs after the last time it spoke", async (world) => {
      await world.store.register(entryOf("quiet"), 10_000);
      await world.store.register(entryOf("alive"), 10_000);
      world.clock.advance(6_000);
      await world.store.register(entryOf("alive"), 10_000);
      expect(await world.store.workers()).toHaveLength(2);
      world.clock.advance(6_000);
      expect((await world.store.workers()).map(({ id }) => id)).toEqual(["alive"]);
    });

    keeps("forgets a worker that says goodbye, and only that one", async (world) => {
      await world.store.register(entryOf("a"), 10_000);
      await world.store.register(entryOf("b"), 10_000);
      await world.store.unregister("a");
      await world.store.unregister("a");
      await world.store.unregister("never was there");
      expect((await world.store.workers()).map(({ id }) => id)).toEqual(["b"]);
    });

    keeps("S12: a worker's goodbye leaves the leases of others, and even its own, untouched", async (world) => {
      await world.store.register(entryOf("a"), 10_000);
      const own = await world.running({}, { workerId: "a" });
      const others = await world.running({}, { workerId: "b" });
      await world.store.unregister("a");
      expect([await world.complete(own), await world.complete(others)]).toEqual(["ok", "ok"]);
    });

    keeps("is empty at first", async (world) => {
      expect(await world.store.workers()).toEqual([]);
    });
  });
}
