import { describe, expect } from "vitest";
import { BULK_QUEUE } from "../../../src/core/bulk.ts";
import type { Filter } from "../../../src/core/filter.ts";
import { type ListQuery, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, type World } from "../world.ts";

const DELIVERIES = "default~webhooks";
const OWN = ["millrace:webhook", "millrace:bulk"];

async function typesIn(world: World, query: Omit<ListQuery, "limit"> = {}): Promise<string[]> {
  const { jobs, cursor } = await world.store.list({ limit: 100, ...query });
  expect(cursor).toBeNull();
  expect(await world.store.count(query)).toEqual({ count: jobs.length, isCapped: false });
  return jobs.map(({ type }) => type);
}

/** A job of ours and one of a user's, in any status that a filter may name. */
async function inEveryStatus(world: World): Promise<void> {
  for (const queue of ["default", DELIVERIES, BULK_QUEUE]) {
    const type = queue === "default" ? "user" : queue === BULK_QUEUE ? "millrace:bulk" : "millrace:webhook";
    await world.add({ queue, type, delay: 60_000 });
    await world.running({ queue, type }, { queues: [queue] });
    const dead = await world.running({ queue, type }, { queues: [queue] });
    await world.discard(dead);
    const done = await world.running({ queue, type }, { queues: [queue] });
    await world.complete(done);
    await world.add({ queue, type });
  }
}

/** Jobs of our own queues, which nobody enqueued. */
export function internalSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("jobs of our own", () => {
    keeps("are left out of lists and counts, in every status, unless internal asks for them", async (world) => {
      await inEveryStatus(world);
      const statuses = [undefined, ["scheduled"], ["pending"], ["running"], ["dead"], ["completed"], ["dead", "completed"]] as const;
      for (const status of statuses) {
        const mine = await typesIn(world, { status });
        expect(new Set(mine)).toEqual(new Set(["user"]));
        expect(await typesIn(world, { status, internal: false })).toEqual(mine);
        const all = await typesIn(world, { status, internal: true });
        expect(all).toHaveLength(3 * mine.length);
        expect(new Set(all)).toEqual(new Set(["user", ...OWN]));
      }
    });

    keeps("are found by type and queue only with internal", async (world) => {
      await inEveryStatus(world);
      const filters: Filter[] = [
        { queue: DELIVERIES },
        { type: "millrace:webhook" },
        { queue: DELIVERIES, status: ["dead"] },
        { q: "millrace:web" },
      ];
      for (const filter of filters) {
        expect(await typesIn(world, filter)).toEqual([]);
        const found = await typesIn(world, { ...filter, internal: true });
        expect(new Set(found)).toEqual(new Set(["millrace:webhook"]));
      }
      expect(await typesIn(world, { q: "null", tag: "none" })).toEqual([]);
    });

    keeps("are in no group of errors unless internal asks for them", async (world) => {
      const lease = await world.running({ queue: DELIVERIES, type: "millrace:webhook" }, { queues: [DELIVERIES] });
      await world.settle(lease, { kind: "discard", error: { ...BOOM, message: "gone" }, runMs: 1 });
      await world.ended("dead");
      const messages = async (filter: Filter): Promise<[string, number][]> => {
        const { groups } = await world.store.errorGroups({ ...filter, status: ["dead"], limit: 10 });
        return groups.map(({ message, count }): [string, number] => [message, count]).sort(([a], [b]) => (a < b ? -1 : 1));
      };
      expect(await messages({})).toEqual([["boom", 1]]);
      expect(await messages({ internal: true })).toEqual([
        ["boom", 1],
        ["gone", 1],
      ]);
      expect(await messages({ queue: DELIVERIES })).toEqual([]);
      expect(await messages({ queue: DELIVERIES, internal: true })).toEqual([["gone", 1]]);
    });

    keeps("are found by their id", async (world) => {
      const job = await world.add({ queue: DELIVERIES, type: "millrace:webhook" });
      expect(await world.store.find([job.id])).toMatchObject([{ id: job.id, queue: DELIVERIES }]);
    });

    keeps("do not keep a page from being full, however many stand before it", async (world) => {
      const mine = await world.addMany(7);
      await world.addMany(MAX_CANDIDATES + 500, { queue: DELIVERIES, type: "millrace:webhook" });
      const newestFirst = mine.map(({ id }) => id).reverse();
      const first = await world.store.list({ limit: 4 });
      expect(first.jobs.map(({ id }) => id)).toEqual(newestFirst.slice(0, 4));
      const rest = await world.store.list({ limit: 4, cursor: first.cursor! });
      expect(rest.jobs.map(({ id }) => id)).toEqual(newestFirst.slice(4));
      expect(rest.cursor).toBeNull();
      expect(await world.store.count({})).toEqual({ count: 7, isCapped: false });
      expect(await world.store.count({ status: ["pending"] })).toEqual({ count: 7, isCapped: false });
      expect((await world.store.list({ limit: 7, status: ["pending"] })).jobs).toHaveLength(7);
      expect(await world.store.count({ internal: true })).toEqual({ count: MAX_CANDIDATES, isCapped: true });
    });

    keeps("do not keep a page of delayed jobs from being full, however many are due sooner", async (world) => {
      await world.addMany(MAX_CANDIDATES + 500, { queue: DELIVERIES, type: "millrace:webhook", delay: 10_000 });
      const mine = await world.addMany(3, { delay: 20_000 });
      for (const status of [["scheduled"], ["retrying", "scheduled"]] as const) {
        const page = await world.store.list({ limit: 3, status, sort: "state" });
        expect(page.jobs.map(({ id }) => id)).toEqual(mine.map(({ id }) => id));
      }
      expect(await world.store.list({ limit: 3, status: ["retrying"], sort: "state" })).toEqual({ jobs: [], cursor: null });
    });
  });
}
