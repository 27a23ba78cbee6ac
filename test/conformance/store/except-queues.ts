import { describe, expect } from "vitest";
import { type ListQuery, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

/** Neither is in the partition of the other; "sms-2" has the beginning of "sms", and no pattern means more than its own text. */
const QUEUES = ["mail", "sms", "sms-2", "s%"];

async function queuesIn(world: World, query: Omit<ListQuery, "limit">): Promise<string[]> {
  const { jobs, cursor } = await world.store.list({ limit: 100, ...query });
  expect(cursor).toBeNull();
  expect(await world.store.count(query)).toEqual({ count: jobs.length, isCapped: false });
  return [...new Set(jobs.map(({ queue }) => queue))].sort();
}

async function inEveryStatus(world: World): Promise<void> {
  for (const queue of [...QUEUES, "mail~webhooks"]) {
    await world.add({ queue, delay: 60_000 });
    await world.running({ queue }, { queues: [queue] });
    await world.discard(await world.running({ queue }, { queues: [queue] }));
    await world.complete(await world.running({ queue }, { queues: [queue] }));
    await world.add({ queue, tags: ["x"], payload: { customer: "globex" }, fields: ["customer"] });
  }
}

/** Queues that a filter leaves out by their names. */
export function exceptQueuesSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("jobs of excepted queues", () => {
    keeps("are left out of lists and counts, in every status and order", async (world) => {
      await inEveryStatus(world);
      const exceptQueues = new Set(["mail", "sms", "no such queue"]);
      const statuses = [undefined, ["scheduled"], ["pending"], ["running"], ["dead"], ["completed"], ["dead", "completed"]] as const;
      for (const status of statuses) {
        for (const sort of ["created", "state"] as const) {
          expect(await queuesIn(world, { status, sort })).toEqual(QUEUES.toSorted());
          expect(await queuesIn(world, { status, sort, exceptQueues })).toEqual(["s%", "sms-2"]);
          expect(await queuesIn(world, { status, sort, exceptQueues, internal: true })).toEqual(["mail~webhooks", "s%", "sms-2"]);
          expect(await queuesIn(world, { status, sort, exceptQueues: new Set(), internal: true })).toHaveLength(5);
          expect(await queuesIn(world, { status, sort, exceptQueues: new Set(QUEUES) })).toEqual([]);
        }
      }
    });

    keeps("are left out of every search, and one of them is not found by its name either", async (world) => {
      await inEveryStatus(world);
      const exceptQueues = new Set(["mail", "s%"]);
      for (const filter of [
        { q: "globex" },
        { tag: "x" },
        { facets: { customer: "globex" } },
        { q: "globex", status: ["pending"] as const },
      ])
        expect(await queuesIn(world, { ...filter, exceptQueues })).toEqual(["sms", "sms-2"]);
      expect(await queuesIn(world, { queue: "mail", exceptQueues })).toEqual([]);
      expect(await queuesIn(world, { queue: "sms", exceptQueues })).toEqual(["sms"]);
    });

    keeps("do not keep a page from being full, however many stand before it", async (world) => {
      const mine = await world.addMany(7, { queue: "sms", payload: "globex" });
      await world.addMany(MAX_CANDIDATES + 500, { queue: "mail", payload: "globex" });
      const exceptQueues = new Set(["mail"]);
      const newestFirst = mine.map(({ id }) => id).reverse();
      for (const q of [undefined, "globex"]) {
        const first = await world.store.list({ limit: 4, q, exceptQueues });
        expect(first.jobs.map(({ id }) => id)).toEqual(newestFirst.slice(0, 4));
        const rest = await world.store.list({ limit: 4, q, exceptQueues, cursor: first.cursor! });
        expect(rest.jobs.map(({ id }) => id)).toEqual(newestFirst.slice(4));
        expect(rest.cursor).toBeNull();
        expect(await world.store.count({ q, exceptQueues })).toEqual({ count: 7, isCapped: false });
        expect(await world.store.count({ q, exceptQueues, status: ["pending"] })).toEqual({ count: 7, isCapped: false });
        expect((await world.store.list({ limit: 7, q, exceptQueues, status: ["pending"], sort: "state" })).jobs).toHaveLength(7);
      }
    });

    keeps("do not keep a page of delayed jobs from being full, however many are due sooner", async (world) => {
      await world.addMany(MAX_CANDIDATES + 500, { queue: "mail", delay: 10_000 });
      const mine = await world.addMany(3, { queue: "sms", delay: 20_000 });
      for (const status of [["scheduled"], ["retrying", "scheduled"]] as const) {
        const page = await world.store.list({ limit: 3, status, sort: "state", exceptQueues: new Set(["mail"]) });
        expect(page.jobs.map(({ id }) => id)).toEqual(mine.map(({ id }) => id));
      }
    });
  });
}
