import { describe, expect } from "vitest";
import { FORMER_WORKERS_MS, MAX_FORMER_WORKERS, type WorkerEntry } from "../../../src/core/worker-entry.ts";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";

const KEEP = { minutesMs: 48 * 3_600_000, hoursMs: 30 * 86_400_000 };

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

    keeps("remembers for a day who stopped and who was lost, the latest end first, and what they last said", async (world) => {
      const other = await world.elsewhere();
      const host = 'a "state":"idle" \\ host';
      const stopped = entryOf("stopped", { host, state: "busy", running: [world.newId()], runningCount: 1 });
      const { state: _state, ...said } = stopped;
      await world.store.register(entryOf("lost"), 10_000);
      await world.store.register(stopped, 60_000);
      await world.store.register(entryOf("live"), 3_600_000);
      const start = world.clock.now();
      expect(await world.store.formerWorkers()).toEqual([]);
      world.clock.advance(20_000);
      await world.store.unregister("stopped");
      await world.store.unregister("stopped");
      await world.store.unregister("lost");
      const former = await other.store.formerWorkers();
      expect(former.map(({ id, end, endedAt }) => ({ id, end, endedAt }))).toEqual([
        { id: "stopped", end: "stopped", endedAt: start + 20_000 },
        { id: "lost", end: "lost", endedAt: start + 10_000 },
      ]);
      expect(former[0]).toEqual({ ...said, heartbeatAt: start, end: "stopped", endedAt: start + 20_000 });
      expect((await world.store.workers()).map(({ id }) => id)).toEqual(["live"]);
    });

    keeps("lists a former worker no longer when it is back, or a day after its end, and drops it then", async (world) => {
      await world.store.register(entryOf("a"), 10_000);
      await world.store.register(entryOf("b"), 10_000);
      await world.store.unregister("a");
      await world.store.unregister("b");
      await world.store.register(entryOf("b"), FORMER_WORKERS_MS * 2);
      expect((await world.store.formerWorkers()).map(({ id }) => id)).toEqual(["a"]);
      world.clock.advance(FORMER_WORKERS_MS - 1);
      expect(await world.store.sweep(KEEP, 100)).toEqual({ removed: 0 });
      expect((await world.store.formerWorkers()).map(({ id }) => id)).toEqual(["a"]);
      world.clock.advance(1);
      expect(await world.store.formerWorkers()).toEqual([]);
      expect(await world.store.sweep(KEEP, 100)).toEqual({ removed: 1 });
      expect((await world.store.workers()).map(({ id }) => id)).toEqual(["b"]);
    });

    keeps("keeps only the last that ended", async (world) => {
      const all = Array.from({ length: MAX_FORMER_WORKERS + 5 }, (_, index) => `w${index}`);
      await Promise.all(all.map((id, index) => world.store.register(entryOf(id), 1_000 + index)));
      await world.store.register(entryOf("live"), 60_000);
      world.clock.advance(10_000);
      const kept = all.slice(5).reverse();
      const former = async (): Promise<string[]> => (await world.store.formerWorkers()).map(({ id }) => id);
      expect(await former()).toEqual(kept);
      expect(await world.store.sweep(KEEP, 3)).toEqual({ removed: 3 });
      expect(await world.store.sweep(KEEP, 3)).toEqual({ removed: 2 });
      expect(await world.store.sweep(KEEP, 3)).toEqual({ removed: 0 });
      expect(await former()).toEqual(kept);
      expect((await world.store.workers()).map(({ id }) => id)).toEqual(["live"]);
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
