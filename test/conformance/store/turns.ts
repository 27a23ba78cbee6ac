import { describe, expect } from "vitest";
import type { NewJob } from "../../../src/core/job.ts";
import { STRICT_HEAD_START_MS } from "../../../src/core/rank.ts";
import type { LeasedRecord } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";
import { unfairness } from "./fair-shares.ts";
import { countByKey, hold, idsOf, setKey, setLimits, starts, startsNothing } from "./limit-steps.ts";

/** Claims with limits that change, until so many have started, and tells the lines in order. */
async function startsInOrder(world: World, count: number, limits: readonly number[] = [1, 3, 2, 7]): Promise<LeasedRecord[]> {
  const started: LeasedRecord[] = [];
  for (let claims = 0; started.length < count; claims++) {
    const limit = Math.min(count - started.length, limits[claims % limits.length]!);
    started.push(...(await starts(world, limit, { limit })));
  }
  return started;
}

const linesOf = (jobs: readonly LeasedRecord[]): string[] => jobs.map(({ limitKey }) => limitKey ?? "none");

/** Jobs of each line are taken in the order of the list. */
function expectFirstComeFirstServed(
  jobs: readonly { readonly id: string; readonly limitKey: string | null }[],
  started: readonly LeasedRecord[],
): void {
  const place = new Map(jobs.map(({ id }, index) => [id, index]));
  const last = new Map<string | null, number>();
  for (const { id, limitKey } of started) {
    expect(place.get(id)!, `job ${id} of ${limitKey}`).toBeGreaterThan(last.get(limitKey) ?? -1);
    last.set(limitKey, place.get(id)!);
  }
}

export function turnsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("turns", () => {
    keeps("keys take turns, however many jobs one of them put in first", async (world) => {
      const jobs = await world.addMany(100, { limitKey: "many" });
      for (const limitKey of ["a", "b", "c"]) jobs.push(...(await world.addMany(10, { limitKey })));
      const started = await startsInOrder(world, 36);
      expect(unfairness({ starts: linesOf(started), weights: { many: 1, a: 1, b: 1, c: 1 } })).toBeNull();
      expectFirstComeFirstServed(jobs, started);
    });

    keeps("the order within one answer is that of the turns", async (world) => {
      for (const limitKey of ["a", "b", "c"]) await world.addMany(30, { limitKey });
      const [first, second] = [await starts(world, 40, { limit: 40 }), await starts(world, 20, { limit: 20 })];
      expect(unfairness({ starts: linesOf([...first, ...second]), weights: { a: 1, b: 1, c: 1 } })).toBeNull();
    });

    keeps("a weight is a share of the turns", async (world) => {
      const weights = { a: 1, b: 3, c: 10, d: 100 };
      for (const [limitKey, weight] of Object.entries(weights)) await setKey(world, limitKey, { weight });
      for (const limitKey of Object.keys(weights)) await world.addMany(200, { limitKey });
      const started = await startsInOrder(world, 190, [1, 20, 5, 50]);
      expect(unfairness({ starts: linesOf(started), weights })).toBeNull();
    });

    keeps("jobs without a key are one line, and have a weight together", async (world) => {
      await setKey(world, null, { weight: 3 });
      for (const limitKey of ["a", "b"]) await world.addMany(30, { limitKey });
      const plain = await world.addMany(60);
      const started = await startsInOrder(world, 60);
      expect(unfairness({ starts: linesOf(started), weights: { a: 1, b: 1, none: 3 } })).toBeNull();
      expectFirstComeFirstServed(
        plain,
        started.filter(({ limitKey }) => limitKey === null),
      );
      await setKey(world, null, null);
      const next = await startsInOrder(world, 20);
      expect(unfairness({ starts: linesOf(next).slice(5), weights: { a: 1, b: 1, none: 1 } })).toBeNull();
    });

    keeps("a new weight counts from the next turns on", async (world) => {
      for (const limitKey of ["a", "b"]) await world.addMany(150, { limitKey });
      await startsInOrder(world, 20);
      await setKey(world, "a", { weight: 4 });
      const started = await startsInOrder(world, 100);
      // The turn that each has coming was counted by the old weight.
      expect(unfairness({ starts: linesOf(started).slice(4), weights: { a: 4, b: 1 } })).toBeNull();
    });

    keeps("if only one key has work, it gets all the capacity", async (world) => {
      await setKey(world, "a", { weight: 1 });
      await setKey(world, "b", { weight: 100 });
      await world.addMany(50, { limitKey: "a" });
      await starts(world, 50, { limit: 50 });
    });

    keeps("a key that had nothing to do has no turns saved, and one that comes anew does not wait", async (world) => {
      await world.addMany(100, { limitKey: "busy" });
      await world.addMany(2, { limitKey: "rare" });
      await startsInOrder(world, 40);
      await world.addMany(30, { limitKey: "rare" });
      await world.addMany(30, { limitKey: "new" });
      const started = await startsInOrder(world, 60);
      expect(unfairness({ starts: linesOf(started), weights: { busy: 1, rare: 1, new: 1 } })).toBeNull();
    });

    for (const busy of ["busy", undefined]) {
      keeps(`a key that comes back at once after its last job gains nothing over ${busy ?? "jobs without a key"}`, async (world) => {
        await setKey(world, busy ?? null, { weight: 5 });
        await world.addMany(100, { limitKey: busy });
        const started: LeasedRecord[] = [];
        await world.add({ limitKey: "one by one" });
        for (let round = 0; round < 60; round++) {
          const lease = await world.take();
          started.push(lease);
          if (lease.limitKey !== "one by one") continue;
          await world.complete(lease);
          await world.store.sweep({ minutesMs: 1e12, hoursMs: 1e12 }, 100);
          await world.add({ limitKey: "one by one" });
        }
        expect(unfairness({ starts: linesOf(started), weights: { [busy ?? "none"]: 5, "one by one": 1 } })).toBeNull();
      });
    }

    keeps("lines at a limit stand aside, and do not make up for it later", async (world) => {
      await setKey(world, "full", { running: 1 });
      for (const limitKey of ["full", "a", "b"]) await world.addMany(60, { limitKey });
      const [first] = (await startsInOrder(world, 31)).filter(({ limitKey }) => limitKey === "full");
      expect(first).toBeDefined();
      await setKey(world, "full", null);
      const started = await startsInOrder(world, 40);
      expect(unfairness({ starts: linesOf(started), weights: { full: 1, a: 1, b: 1 } })).toBeNull();
    });

    keeps("others share what a line at its limit leaves, fairly", async (world) => {
      await setKey(world, "full", { running: 1 });
      for (const limitKey of ["full", "a", "b"]) await world.addMany(60, { limitKey });
      await world.addMany(60);
      const started = await startsInOrder(world, 61);
      const others = linesOf(started).filter((line) => line !== "full");
      expect(others).toHaveLength(60);
      expect(unfairness({ starts: others, weights: { a: 1, b: 1, none: 1 } })).toBeNull();
    });

    keeps("held lines stand aside, and do not make up for it later", async (world) => {
      for (const limitKey of ["held", "a"]) await world.addMany(80, { limitKey });
      const lease = (await startsInOrder(world, 2)).find(({ limitKey }) => limitKey === "held")!;
      await hold(world, lease, 1_000);
      expect(countByKey(await startsInOrder(world, 20))).toEqual({ a: 20 });
      world.clock.advance(1_000);
      const started = await startsInOrder(world, 40);
      expect(unfairness({ starts: linesOf(started), weights: { held: 1, a: 1 } })).toBeNull();
    });

    keeps("a higher priority goes first, whatever its key; turns are taken within a priority", async (world) => {
      for (const limitKey of ["a", "b"]) await world.addMany(10, { limitKey });
      await world.addMany(10);
      for (const limitKey of ["a", "c"]) await world.addMany(10, { limitKey, priority: 5 });
      await world.addMany(4, { priority: 10 });
      const started = await startsInOrder(world, 54);
      expect(started.map(({ priority }) => priority)).toEqual([...Array(4).fill(10), ...Array(20).fill(5), ...Array(30).fill(0)]);
      expect(unfairness({ starts: linesOf(started.slice(4, 24)), weights: { a: 1, c: 1 } })).toBeNull();
      expect(unfairness({ starts: linesOf(started.slice(24)), weights: { a: 1, b: 1, none: 1 } })).toBeNull();
    });

    keeps("a key at its limit in a high priority lets lower priorities start", async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      await world.addMany(3, { limitKey: "a", priority: 100 });
      await world.addMany(3, { limitKey: "a", priority: 0 });
      const free = await world.add({ limitKey: "b", priority: -100 });
      const leases = await starts(world, 2);
      expect(leases.map(({ priority }) => priority)).toEqual([100, -100]);
      expect(leases[1]!.id).toBe(free.id);
      await world.complete(leases[0]!);
      expect((await starts(world, 1))[0]!.priority).toBe(100);
    });

    keeps("within a line: by due time, then first come, first served", async (world) => {
      const soon = await world.add({ limitKey: "a", delay: 1_000 });
      const [first, second] = [await world.add({ limitKey: "a" }), await world.add({ limitKey: "a" })];
      world.clock.advance(500);
      const third = await world.add({ limitKey: "a" });
      world.clock.advance(1_500);
      const last = await world.add({ limitKey: "a" });
      await world.store.promote(10);
      await world.addMany(5, { limitKey: "b" });
      const started = (await startsInOrder(world, 10)).filter(({ limitKey }) => limitKey === "a");
      expect(idsOf(started)).toEqual(idsOf([first, second, third, soon, last]));
    });

    keeps("a released job keeps its place in its line, a retry by hand goes to its end", async (world) => {
      const jobs = await world.addMany(4, { limitKey: "a" });
      const [first, second] = await starts(world, 2, { limit: 2 });
      await world.release(first!);
      await world.discard(second!);
      world.clock.advance(10);
      await world.retry(second!.id);
      expect(idsOf(await starts(world, 4))).toEqual([first!.id, jobs[2]!.id, jobs[3]!.id, second!.id]);
    });

    keeps("the types of a claim take turns, so that none starves", async (world) => {
      for (const type of ["t1", "t2", "t3"]) for (const limitKey of ["a", "b"]) await world.addMany(40, { type, limitKey });
      const countOf = (jobs: readonly LeasedRecord[], type: string): number => jobs.filter((job) => job.type === type).length;
      const atOnce = await starts(world, 30, { limit: 30, types: ["t1", "t2", "t3"] });
      const oneByOne = await startsInOrder(world, 60, [1]);
      for (const type of ["t1", "t2", "t3"]) {
        expect(countOf(atOnce, type), `starts of ${type}`).toBeGreaterThanOrEqual(5);
        expect(countOf(oneByOne, type), `starts of ${type}`).toBeGreaterThanOrEqual(10);
      }
    });

    keeps("a type without keys beside one with keys: neither starves", async (world) => {
      await world.addMany(60, { type: "plain" });
      for (const limitKey of ["a", "b"]) await world.addMany(40, { type: "keyed", limitKey });
      const started = [...(await starts(world, 30, { limit: 30 })), ...(await startsInOrder(world, 30, [1]))];
      const plain = started.filter(({ type }) => type === "plain").length;
      expect(plain).toBeGreaterThanOrEqual(10);
      expect(plain).toBeLessThanOrEqual(50);
    });

    keeps("each type has its own turns: lines of one type are fair among themselves", async (world) => {
      for (const limitKey of ["a", "b", "c"]) await world.addMany(20, { type: "t1", limitKey });
      for (const limitKey of ["a", "d"]) await world.addMany(30, { type: "t2", limitKey });
      const started = await startsInOrder(world, 70);
      const ofType = (type: string): string[] => linesOf(started.filter((job) => job.type === type));
      expect(unfairness({ starts: ofType("t1"), weights: { a: 1, b: 1, c: 1 } })).toBeNull();
      expect(unfairness({ starts: ofType("t2"), weights: { a: 1, d: 1 } })).toBeNull();
    });

    keeps("a claim takes only of its types, in turns as well", async (world) => {
      for (const limitKey of ["a", "b"]) {
        await world.addMany(10, { type: "mine", limitKey });
        await world.addMany(10, { type: "theirs", limitKey });
      }
      const started = await starts(world, 20, { types: ["mine"] });
      expect(new Set(started.map(({ type }) => type))).toEqual(new Set(["mine"]));
      expect(unfairness({ starts: linesOf(started), weights: { a: 1, b: 1 } })).toBeNull();
      await startsNothing(world, { types: ["mine", "nobody's"] });
      await starts(world, 20, { types: ["mine", "theirs", "theirs"] });
    });

    keeps("in a queue whose head start is not strict, keys stand by rank", async (world) => {
      await world.store.configure("default", { headStartMs: 1_000 });
      const jobs: NewJob[] = [];
      for (let index = 0; index < 20; index++) {
        jobs.push(
          await world.add({
            priority: (index * 5) % 7,
            type: `t${index % 2}`,
            ...(index % 4 === 0 ? {} : { limitKey: `k${index % 4 === 1 ? 1 : 2}` }),
          }),
        );
        world.clock.advance(1_500);
      }
      const rank = (index: number): number => index * 1_500 - jobs[index]!.priority * 1_000;
      const order = [...jobs.keys()].sort((one, other) => rank(one) - rank(other) || one - other);
      const started = await startsInOrder(world, 20);
      expect(idsOf(started)).toEqual(order.map((index) => jobs[index]!.id));
    });

    keeps("a new head start moves keyed jobs between rank and turns, and loses none", async (world) => {
      const jobs = await world.addMany(30, (index) => ({ limitKey: `k${index % 3}`, priority: index % 2 }));
      jobs.push(...(await world.addMany(10)));
      const started = await startsInOrder(world, 5);
      await world.store.configure("default", { headStartMs: 0 });
      await world.rerank("default", 7);
      const byRank = await startsInOrder(world, 10);
      const waiting = idsOf(jobs).filter((id) => !idsOf(started).includes(id));
      expect(idsOf(byRank)).toEqual(waiting.slice(0, 10));
      await world.store.configure("default", { headStartMs: STRICT_HEAD_START_MS });
      await world.rerank("default", 7);
      const rest = await startsInOrder(world, 25);
      const priorities = rest.map(({ priority }) => priority);
      expect(priorities).toEqual([...priorities].sort((one, other) => other - one));
      expect(new Set(idsOf([...started, ...byRank, ...rest])).size).toBe(40);
      await startsNothing(world);
    });

    keeps("2,000 keys with a job each all start, each once", async (world) => {
      const jobs = await world.addMany(2_000, (index) => ({ limitKey: `k${index}` }));
      const started = [...(await starts(world, 1_000)), ...(await starts(world, 1_000))];
      expect(new Set(idsOf(started))).toEqual(new Set(idsOf(jobs)));
      await startsNothing(world);
    });

    keeps("what stands ahead of a keyed job is counted by rank", async (world) => {
      const jobs = await world.addMany(6, (index) => (index % 2 === 0 ? { limitKey: "a" } : { limitKey: `b${index}` }));
      const urgent = await world.add({ limitKey: "c", priority: 5 });
      expect(await Promise.all(jobs.map(({ id }) => world.store.ahead(id, "*", 100)))).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await world.store.ahead(urgent.id, "*", 100)).toBe(0);
      expect(await world.store.ahead(jobs[5]!.id, "*", 3)).toBe(3);
    });

    if (engine.forgets === undefined) {
      keeps("turns go on after a restart, and no job is lost", async (world) => {
        for (const limitKey of ["a", "b", "c"]) await world.addMany(20, { limitKey });
        const before = await startsInOrder(world, 20);
        await world.restart();
        const after = await startsInOrder(world, 40);
        expect(unfairness({ starts: linesOf([...before, ...after]), weights: { a: 1, b: 1, c: 1 } })).toBeNull();
        await startsNothing(world);
      });
    }
  });
}
