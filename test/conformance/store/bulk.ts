import { describe, expect } from "vitest";
import { MAX_FAILURES } from "../../../src/core/bulk.ts";
import { MillraceError } from "../../../src/core/errors.ts";
import { CANCEL, RETRY } from "../../../src/core/lifecycle.ts";
import { until } from "../../faults/until.ts";
import type { Engine } from "../harness.ts";
import { keepsOn } from "../world.ts";
import { openClient } from "./client-of-world.ts";

/** What only a race or a crash shows of a bulk operation. */
export function bulkSuite(engine: Engine): void {
  const keeps = keepsOn(engine);
  describe("bulk operations", () => {
    keeps("jobs that changed or vanished before their turn are told, a hundred at most", async (world) => {
      const jobs = await world.addMany(MAX_FAILURES + 20);
      const [gone, ...others] = jobs.slice(0, MAX_FAILURES + 10).map(({ id }) => id);
      await world.store.change(
        jobs.map(({ id }) => id),
        CANCEL,
      );
      const client = openClient(world, {
        list: async (query) => {
          const page = await world.store.list(query);
          // Between the look and the change somebody else acts.
          await world.store.change(others, RETRY);
          await world.store.remove([gone!], ["cancelled"]);
          return page;
        },
      });
      const { id } = await client.bulk.start({ action: "delete", all: true });
      await client.wait(id);
      const operation = (await client.bulk.get(id))!;
      expect(operation).toMatchObject({ status: "completed", processed: jobs.length, succeeded: 10, failed: MAX_FAILURES + 10 });
      expect(operation.failures).toHaveLength(MAX_FAILURES);
      for (const { id: failed, code, message } of operation.failures) {
        expect(code).toBe(failed === gone ? "not_found" : "wrong_status");
        expect(message).toContain(failed);
      }
      expect(await world.counts()).toMatchObject({ pending: others.length });
    });

    keeps("a job that somebody else cancelled before its turn is cancelled, as was asked", async (world) => {
      const jobs = await world.addMany(3);
      const client = openClient(world, {
        list: async (query) => {
          const page = await world.store.list(query);
          await world.store.change([jobs[0]!.id], CANCEL);
          return page;
        },
      });
      const { id } = await client.bulk.start({ action: "cancel", all: true });
      await client.wait(id);
      expect(await client.bulk.get(id)).toMatchObject({ status: "completed", processed: 3, succeeded: 3, failed: 0, failures: [] });
      expect(await world.counts()).toMatchObject({ cancelled: 3 });
    });

    keeps("one whose process is cut off goes on elsewhere, from where it was", async (world) => {
      await world.addMany(1_200);
      let changes = 0;
      let isCut = false;
      const cutOff = (): Promise<never> => Promise.reject(new MillraceError("store_unavailable", "cut off"));
      const never = new Promise<never>(() => {});
      const first = openClient(world, {
        change: (ids, move) => (++changes === 1 ? world.store.change(ids, move) : never),
        exchange: (settlements, claims) => (isCut ? cutOff() : world.store.exchange(settlements, claims)),
        extend: cutOff,
      });
      const { id } = await first.bulk.start({ action: "cancel", filter: { type: "task" } });
      await until(() => changes === 2);
      isCut = true;
      expect(await first.bulk.get(id)).toMatchObject({ status: "running", processed: 500, succeeded: 500 });

      const second = openClient(world, {}, { upkeep: true, worksBulk: true });
      // Its lease runs out, and the pause before the next attempt passes.
      world.clock.advance(6_000);
      await until(async () => {
        const { status } = await world.find(id);
        if (status === "retrying") world.clock.advance(2_000);
        return status === "completed";
      });
      expect(await second.bulk.get(id)).toMatchObject({ matched: 1_200, processed: 1_200, succeeded: 1_200, failed: 0 });
      // Who is heard again has nothing more to say.
      isCut = false;
      await first.close({ grace: 0 });
      expect(await second.get(id)).toMatchObject({ status: "completed", attempt: 2 });
      expect(await world.counts()).toMatchObject({ cancelled: 1_200 });
    });

    keeps("one that a closing client gives back costs no attempt, and goes on with the next that works operations", async (world) => {
      await world.addMany(1_200);
      let changes = 0;
      const hold = Promise.withResolvers<void>();
      const first = openClient(world, {
        change: async (ids, move) => {
          if (++changes === 2) await hold.promise;
          return world.store.change(ids, move);
        },
      });
      const { id } = await first.bulk.start({ action: "cancel", filter: { type: "task" } });
      await until(() => changes === 2);
      await first.close();
      hold.reject(new MillraceError("store_unavailable", "cut off"));
      expect(await world.find(id)).toMatchObject({ status: "pending", attempt: 0, retryCount: 0 });
      const second = openClient(world, {}, { worksBulk: true });
      await until(async () => (await second.bulk.get(id))!.status === "completed");
      expect(await second.bulk.get(id)).toMatchObject({ processed: 1_200, succeeded: 1_200 });
    });
  });
}
