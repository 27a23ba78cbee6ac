import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Held } from "../../../../src/worker/renewal/lease-book.ts";
import { readSharedLeases, SharedLeases } from "../../../../src/worker/renewal/shared-leases.ts";

function lease(id: string, fence = 1): Held {
  return { id, fence, stopAt: fence, heldAt: fence };
}

function idsOf({ buffer }: SharedLeases): string[] {
  return readSharedLeases(buffer).map(({ id }) => id);
}

describe("leases in shared memory", () => {
  test("are read as they were written, and gone when they were removed", () => {
    const leases = new SharedLeases(() => {});
    const one = leases.add({ id: "one", fence: 1, stopAt: Infinity, heldAt: -0.5 });
    leases.add({ id: "two", fence: 2, stopAt: 3, heldAt: 4 });
    expect(readSharedLeases(leases.buffer)).toEqual([
      { id: "one", fence: 1, stopAt: Infinity, heldAt: expect.closeTo(-0.5) },
      { id: "two", fence: 2, stopAt: expect.closeTo(3), heldAt: expect.closeTo(4) },
    ]);
    leases.remove(one);
    expect(idsOf(leases)).toEqual(["two"]);
    leases.add(lease("three"));
    expect(idsOf(leases)).toEqual(["three", "two"]);
  });

  test("move to larger memory when there is no room, and whoever reads is told", () => {
    let told: SharedArrayBuffer | null = null;
    const leases = new SharedLeases((buffer) => (told = buffer));
    const all = Array.from({ length: 1000 }, (_, number) => `lease ${number}`);
    const rows = all.map((id) => leases.add(lease(id)));
    expect(new Set(rows).size).toBe(1000);
    expect(told).toBe(leases.buffer);
    expect(idsOf(leases)).toEqual(all);
    for (const row of rows) leases.remove(row);
    expect(idsOf(leases)).toEqual([]);
  });

  test("refuse an id that does not fit", () => {
    expect(() => new SharedLeases(() => {}).add(lease("x".repeat(41)))).toThrow(RangeError);
  });

  test("are never seen half written by another thread", async () => {
    const leases = new SharedLeases(() => {});
    const reader = new Worker(new URL("shared-leases-reader.ts", import.meta.url), { workerData: leases.buffer });
    onTestFinished(async () => void (await reader.terminate()));
    const verdict = once(reader, "message");
    const over = new AbortController();
    void verdict.then(() => over.abort());
    // The id, the fence and the times of a lease say the same; what is read of two leases at once would not.
    for (let number = 0; !over.signal.aborted; number++) {
      leases.remove(leases.add(lease(String(number), number)));
      if (number % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await verdict)[0]).toEqual({ seen: 2000, torn: [] });
  });
});
