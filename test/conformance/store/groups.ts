import { describe, expect } from "vitest";
import { errorGroup } from "../../../src/core/error-group.ts";
import { TREND_HOURS } from "../../../src/core/error-tally.ts";
import { type GroupQuery, MAX_CANDIDATES } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { HOUR_MS } from "../../../src/core/time-units.ts";
import { BOOM, keepsOn, settlementOf, type Wishes, type World } from "../world.ts";

/** Makes a job and lets it die of an error with this message. */
async function die(world: World, message: string, wishes: Wishes = {}, version?: string): Promise<string> {
  const lease = await world.running(wishes);
  await world.settle(lease, { kind: "discard", error: { ...BOOM, message, version }, runMs: 1 });
  return lease.id;
}

/** Lets many die together, in batches that a store takes. */
async function dieMany(world: World, count: number, wishes: Wishes, message: string): Promise<void> {
  await world.addMany(count, wishes);
  for (let left = count; left > 0;) {
    const leases = await world.claim({ queues: [wishes.queue ?? "default"], limit: 1_000 });
    const error = { ...BOOM, message };
    await world.store.exchange(
      leases.map((lease) => settlementOf(lease, { kind: "discard", error, runMs: 1 })),
      [],
    );
    left -= leases.length;
  }
}

const groups = async (world: World, query: Partial<GroupQuery> = {}): ReturnType<World["store"]["errorGroups"]> =>
  world.store.errorGroups({ status: ["dead"], limit: 100, ...query });

const counts = async (world: World, query: Partial<GroupQuery> = {}): Promise<[string, number][]> =>
  (await groups(world, query)).groups.map(({ message, count }) => [message, count]);

const inLastHour = (count: number): number[] => [...Array.from({ length: TREND_HOURS - 1 }, () => 0), count];

/** Dead letters by error. */
export function groupSuite(engine: Engine): void {
  const keeps = keepsOn(engine);
  describe("groups of errors", () => {
    keeps("a store without dead jobs has none", async (world) => {
      await world.ended("completed");
      await world.running();
      expect(await groups(world)).toEqual({ groups: [], isCapped: false, hasMore: false });
    });

    keeps("each tells its newest error, how many, of which types, and since when", async (world) => {
      const first = world.clock.now();
      await die(world, "no user 1", { type: "mail" });
      world.clock.advance(1_000);
      await die(world, "disk full", { type: "report" });
      await die(world, "no user 22", { type: "sms", queue: "other" });
      world.clock.advance(1_000);
      const last = world.clock.now();
      const sample = await die(world, "no user 333", { type: "mail" });
      const user = errorGroup("Error", "no user 4");
      expect(await groups(world)).toEqual({
        groups: [
          {
            group: user,
            name: "Error",
            message: "no user 333",
            count: 3,
            types: ["mail", "sms"],
            firstSeenAt: first,
            firstVersion: null,
            lastSeenAt: last,
            trend: inLastHour(3),
            sampleJobId: sample,
          },
          {
            group: errorGroup("Error", "disk full"),
            name: "Error",
            message: "disk full",
            count: 1,
            types: ["report"],
            firstSeenAt: first + 1_000,
            firstVersion: null,
            lastSeenAt: first + 1_000,
            trend: inLastHour(1),
            sampleJobId: expect.any(String) as string,
          },
        ],
        isCapped: false,
        hasMore: false,
      });
      const { jobs } = await world.store.list({ group: user, limit: 10 });
      expect(jobs.map(({ error }) => error?.message)).toEqual(["no user 333", "no user 22", "no user 1"]);
      expect((await world.store.list({ status: ["dead"], group: user, type: "sms", limit: 10 })).jobs).toHaveLength(1);
      expect((await world.store.list({ group: "000000000000", limit: 10 })).jobs).toEqual([]);
    });

    keeps("each tells how many died in each of the last 24 hours, and with which version it began", async (world) => {
      await die(world, "no user 1", { type: "sms" }, "1.0.0");
      world.clock.advance(5 * HOUR_MS);
      await die(world, "no user 2", { queue: "other" }, "1.1.0");
      await die(world, "no user 3");
      world.clock.advance(20 * HOUR_MS + 1);
      await die(world, "no user 4", {}, "1.2.0");
      await die(world, "disk full", {}, "1.2.0");
      const trend = inLastHour(1);
      trend[TREND_HOURS - 1 - 20] = 2;
      expect(await groups(world)).toMatchObject({
        groups: [
          { message: "no user 4", count: 4, types: ["sms", "task"], firstVersion: "1.0.0", trend },
          { message: "disk full", count: 1, firstVersion: "1.2.0", trend: inLastHour(1) },
        ],
      });
    });

    keeps("of jobs that died in the same millisecond, the highest id is the last, and the lowest the first", async (world) => {
      const jobs = world.jobs(40, (index) => ({ type: index % 2 === 0 ? "mail" : "sms" }));
      // Not in the order of their ids.
      await world.store.insert(jobs.toReversed());
      const leases = await world.claim();
      const nth = new Map(jobs.map(({ id }, index) => [id, index]));
      const settlements = leases.map((lease) => {
        const error = { ...BOOM, message: `no user ${nth.get(lease.id)}`, version: `1.${nth.get(lease.id)}` };
        return settlementOf(lease, { kind: "discard", error, runMs: 1 });
      });
      await world.store.exchange(settlements, []);
      const last = jobs.length - 1;
      const lastOf = async (query: Partial<GroupQuery>) => (await groups(world, query)).groups;
      expect(await lastOf({})).toMatchObject([{ message: `no user ${last}`, sampleJobId: jobs[last]!.id, firstVersion: "1.0" }]);
      expect(await lastOf({ type: "mail" })).toMatchObject([{ sampleJobId: jobs[last - 1]!.id, firstVersion: "1.0" }]);
      expect(await lastOf({ type: "sms" })).toMatchObject([{ sampleJobId: jobs[last]!.id, firstVersion: "1.1" }]);
    });

    keeps("filters: status, type, queue, priority, tag and time of creation", async (world) => {
      const start = world.clock.now();
      await die(world, "a", { type: "t1", tags: ["x", "y"], priority: 5 });
      await die(world, "b", { type: "t2", queue: "other", priority: -5 });
      world.clock.advance(1_000);
      await die(world, "c", { type: "t1", tags: ["x"], queue: "other" });
      await world.store.configure("keeps", { deadLetters: false });
      await die(world, "d", { queue: "keeps" });
      expect(new Map(await counts(world))).toEqual(
        new Map([
          ["a", 1],
          ["b", 1],
          ["c", 1],
        ]),
      );
      expect(await counts(world, { status: ["failed"] })).toEqual([["d", 1]]);
      expect(await counts(world, { status: ["failed", "dead"] })).toHaveLength(4);
      expect(await counts(world, { type: "t2" })).toEqual([["b", 1]]);
      expect(await counts(world, { queue: "default" })).toEqual([["a", 1]]);
      expect(await counts(world, { queue: "nowhere" })).toEqual([]);
      expect(await counts(world, { priority: { min: 1, max: 9 } })).toEqual([["a", 1]]);
      expect(await counts(world, { priority: { min: -9, max: -1 } })).toEqual([["b", 1]]);
      expect(await counts(world, { tag: "y" })).toEqual([["a", 1]]);
      expect(await counts(world, { tag: "z" })).toEqual([]);
      expect(await counts(world, { from: start + 1 })).toEqual([["c", 1]]);
      expect(await counts(world, { to: start + 1, queue: "other" })).toEqual([["b", 1]]);
      expect(await counts(world, { from: start, to: start + 1, tag: "x", type: "t1", queue: "default" })).toEqual([["a", 1]]);
    });

    keeps("what is retried or removed is not in them any more", async (world) => {
      const one = await die(world, "boom");
      const two = await die(world, "boom");
      await world.retry(one);
      expect(await counts(world)).toEqual([["boom", 1]]);
      await world.store.remove([two], ["dead"]);
      expect(await counts(world)).toEqual([]);
    });

    keeps("B01: U+0000, lone surrogates and quotes in errors do no harm", async (world) => {
      const hostile = `a\u0000b \ud800 \u{1F4A5} \\ " ' {"group":"ffffffffffff"}`;
      await die(world, hostile);
      const { groups: found } = await groups(world);
      expect(found).toMatchObject([{ message: hostile, group: errorGroup("Error", hostile), count: 1 }]);
      expect((await world.store.list({ group: found[0]!.group, limit: 1 })).jobs).toHaveLength(1);
    });

    keeps("all of them can be counted, however many, with the same filters", async (world) => {
      const start = world.clock.now();
      for (const message of ["a", "a", "b"]) await die(world, message);
      world.clock.advance(1_000);
      await die(world, "a", { queue: "other" });
      const [a, b] = [errorGroup("Error", "a"), errorGroup("Error", "b")];
      expect(await world.store.errorCounts({ status: ["dead"] })).toEqual(
        new Map([
          [a, 3],
          [b, 1],
        ]),
      );
      expect(await world.store.errorCounts({ status: ["dead", "failed"], endedFrom: start + 1_000 })).toEqual(new Map([[a, 1]]));
      expect(await world.store.errorCounts({ status: ["failed"] })).toEqual(new Map());
    });

    keeps(
      "as many as were asked for are shown, the most numerous first; that there are more is told, and the counts are exact",
      async (world) => {
        for (const message of ["a", "b", "b", "c", "c", "c"]) await die(world, message);
        expect((await groups(world, { limit: 2 })).groups.map(({ message }) => message)).toEqual(["c", "b"]);
        expect(await groups(world, { limit: 2 })).toMatchObject({ groups: [{ count: 3 }, { count: 2 }], hasMore: true, isCapped: false });
        expect(await groups(world, { limit: 3 })).toMatchObject({ hasMore: false, isCapped: false });
      },
    );

    keeps("C16: no more jobs are looked at than a list would, and that there are more is told", async (world) => {
      await dieMany(world, MAX_CANDIDATES / 2 + 1, { queue: "one" }, "a");
      world.clock.advance(1_000);
      const late = world.clock.now();
      await dieMany(world, MAX_CANDIDATES / 2 + 1, { queue: "two" }, "b");
      const { groups: found, isCapped, hasMore } = await groups(world);
      expect({ isCapped, hasMore }).toEqual({ isCapped: true, hasMore: false });
      expect(await groups(world, { limit: 1 })).toMatchObject({ isCapped: true, hasMore: true });
      expect(found.map(({ message }) => message).sort()).toEqual(["a", "b"]);
      expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(MAX_CANDIDATES);
      expect(await groups(world, { queue: "one" })).toMatchObject({ isCapped: false, groups: [{ count: MAX_CANDIDATES / 2 + 1 }] });
      const half = { isCapped: false, groups: [{ count: MAX_CANDIDATES / 2 + 1 }] };
      expect(await groups(world, { endedFrom: late })).toMatchObject(half);
      expect(await groups(world, { endedTo: late })).toMatchObject(half);
    });
  });
}
