import { describe, expect } from "vitest";
import { Discard } from "../../src/core/control-errors.ts";
import type { Client, JobFilter } from "../../src/client/client.ts";
import { MAX_LISTED_FORMER_WORKERS, type WorkerEntry } from "../../src/core/worker-entry.ts";
import type { Promises } from "./client.ts";

const HOOK = "https://example.com/hook";

/** A dead job, the delivery that tells of it, and a bulk operation that has ended. */
async function withOwnJobs(client: Client): Promise<{ dead: string; delivery: string; operation: string }> {
  const { id } = await client.enqueue("mail", null, { maxRetries: 0, webhookUrl: HOOK });
  const claim = { workerId: "w", queues: ["default"], types: ["mail"], limit: 1, leaseMs: 30_000, turn: 1, again: false };
  const { jobs } = await client.leases.exchange([], claim);
  const error = { name: "Boom", message: "no user", stack: null, kind: "error" } as const;
  const report = { id, fence: jobs[0]!.fence, facts: jobs[0]!.facts, outcome: { kind: "discard", error, runMs: 1 } as const };
  expect((await client.leases.exchange([report], null)).results).toEqual(["ok"]);
  const operation = await client.bulk.start({ action: "delete", filter: { tag: "none" } });
  await client.wait(operation.id);
  const { jobs: found } = await client.list({ internal: true, type: "millrace:webhook" });
  return { dead: id, delivery: found[0]!.id, operation: operation.id };
}

/** What is our own: left out everywhere, unless `internal` asks for it. */
export function internalSuite(promises: Promises): void {
  describe("our own jobs", () => {
    promises("are in lists, counts and bulk operations only with internal", async (client) => {
      const { dead, delivery, operation } = await withOwnJobs(client);
      const ids = async (filter?: JobFilter): Promise<string[]> => (await client.list(filter)).jobs.map(({ id }) => id).sort();
      expect(await ids()).toEqual([dead]);
      expect(await ids({ internal: false })).toEqual([dead]);
      expect(await ids({ internal: true })).toEqual([dead, delivery, operation].sort());
      expect(await ids({ internal: true, queue: "default~webhooks" })).toEqual([delivery]);
      expect(await ids({ internal: true, queue: "~bulk", type: "millrace:bulk" })).toEqual([operation]);
      expect(await ids({ q: delivery })).toEqual([]);
      expect(await ids({ q: delivery, internal: true })).toEqual([delivery]);
      expect(await client.count()).toEqual({ count: 1, isCapped: false });
      expect(await client.count({ internal: true })).toEqual({ count: 3, isCapped: false });
      expect(await client.count({ internal: true, type: "millrace:webhook" })).toEqual({ count: 1, isCapped: false });
      expect(await client.get(delivery)).toMatchObject({ type: "millrace:webhook", queue: "default~webhooks" });
      expect(await client.bulk.preview({ action: "cancel", filter: {} })).toMatchObject({ matched: 0 });
      expect(await client.bulk.preview({ action: "cancel", filter: { internal: true } })).toMatchObject({ matched: 1 });
      expect(await client.bulk.preview({ action: "cancel", filter: { internal: true, type: "millrace:webhook" } })).toMatchObject({
        matched: 1,
      });
      // Operations are left alone by operations.
      expect(await client.bulk.preview({ action: "delete", filter: { internal: true } })).toMatchObject({ matched: 1 });
    });

    promises("are dead letters only with internal", async (client, { direct }) => {
      const { dead, delivery } = await withOwnJobs(client);
      const giveUp = (): never => {
        throw new Discard("gone");
      };
      const worker = direct.work({ "millrace:webhook": giveUp }, { queues: ["*~webhooks"] });
      expect(await client.wait(delivery)).toMatchObject({ status: "dead" });
      await worker.stop();
      const ids = async (internal?: boolean): Promise<string[]> => (await client.dead.list({ internal })).jobs.map(({ id }) => id).sort();
      const messages = async (internal?: boolean): Promise<string[]> =>
        (await client.dead.groups({ internal })).groups.map(({ message }) => message).sort();
      expect([await ids(), await messages()]).toEqual([[dead], ["no user"]]);
      expect([await ids(true), await messages(true)]).toEqual([[dead, delivery].sort(), ["gone", "no user"]]);
      expect((await client.stats()).deadCount).toBe(1);
      expect(await client.dead.purge()).toBe(1);
      expect(await ids(true)).toEqual([delivery]);
      expect(await client.dead.retry({ internal: true, type: "millrace:webhook" })).toBe(1);
    });

    promises("are named only with internal, and the refusal says so", async (client) => {
      for (const [filter, field] of [
        [{ type: "millrace:webhook" }, "type"],
        [{ queue: "~bulk" }, "queue"],
        [{ queue: "default~webhooks" }, "queue"],
      ] as const) {
        await expect(client.list(filter)).rejects.toMatchObject({
          code: "invalid_input",
          field,
          message: expect.stringContaining("internal") as string,
        });
      }
      for (const queue of ["a~b", "~", "~webhooks", "*~webhooks"]) {
        await expect(client.list({ queue, internal: true })).rejects.toMatchObject({ code: "invalid_input", field: "queue" });
      }
      await expect(client.list({ internal: "yes" as never })).rejects.toMatchObject({ code: "invalid_input", field: "internal" });
      await expect(client.bulk.start({ action: "delete", filter: { internal: true } })).rejects.toMatchObject({ field: "filter" });
    });
  });

  describe("our own queues", () => {
    promises("are listed only with internal, with their counts", async (client) => {
      await withOwnJobs(client);
      const counts = async (options?: { internal?: boolean }): Promise<unknown[]> =>
        (await client.queues(options)).map(({ name, counts: { pending, completed, dead } }) => [name, pending, completed, dead]);
      expect(await counts()).toEqual([["default", 0, 0, 1]]);
      expect(await counts({ internal: false })).toEqual([["default", 0, 0, 1]]);
      expect(await counts({ internal: true })).toEqual([
        ["default", 0, 0, 1],
        ["default~webhooks", 1, 0, 0],
        ["~bulk", 0, 1, 0],
      ]);
      expect(Object.keys((await client.stats()).queues)).toEqual(["default"]);
      await expect(client.queues({ internal: 1 as never })).rejects.toMatchObject({ code: "invalid_input", field: "internal" });
    });
  });

  describe("our own workers", () => {
    promises("are listed only with internal, and not counted", async (client) => {
      const entry: WorkerEntry = {
        id: "mine", host: "h", pid: 1, state: "idle", slots: 3, queues: ["*"], types: ["mail"], startedAt: Date.now(),
        running: [], runningCount: 0, processed: 0, perMinute: 0, abandoned: 0,
      }; // oxfmt-ignore
      await client.leases.register(entry, 60_000);
      await client.leases.register({ ...entry, id: "requests", types: ["http:request"] }, 60_000);
      const ids = async (options?: { internal?: boolean }): Promise<string[]> => (await client.workers(options)).map(({ id }) => id);
      expect(await ids()).toEqual(["mine"]);
      expect(await ids({ internal: false })).toEqual(["mine"]);
      expect(await ids({ internal: true })).toEqual(expect.arrayContaining(["mine", "requests"]));
      expect((await client.stats()).activeWorkers).toBe(1);
      await client.leases.unregister("mine");
      await client.leases.unregister("requests");
      expect((await client.formerWorkers({ internal: true })).map(({ id }) => id)).toEqual(expect.arrayContaining(["mine", "requests"]));
      const later = Array.from({ length: MAX_LISTED_FORMER_WORKERS }, (_, index) => `requests-${index}`);
      await Promise.all(later.map((id) => client.leases.register({ ...entry, id, types: ["http:request"] }, 60_000)));
      await Promise.all(later.map((id) => client.leases.unregister(id)));
      expect((await client.formerWorkers()).map(({ id }) => id)).toEqual(["mine"]);
      expect(await client.formerWorkers({ internal: true })).toHaveLength(MAX_LISTED_FORMER_WORKERS);
      await expect(client.formerWorkers({ internal: 1 as never })).rejects.toMatchObject({ code: "invalid_input", field: "internal" });
      await expect(client.workers({ internal: 1 as never })).rejects.toMatchObject({ code: "invalid_input", field: "internal" });
    });
  });
}
