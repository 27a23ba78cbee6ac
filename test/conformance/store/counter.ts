import { describe, expect } from "vitest";
import { MAX_TYPES_COUNTED } from "../../../src/core/counters.ts";
import { bucketOf } from "../../../src/core/histogram.ts";
import type { CounterQuery, CounterRow } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { BOOM, keepsOn, LEASE_MS } from "../world.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What a row counted, without zeros. */
function counted(row: CounterRow): Record<string, number> {
  return Object.fromEntries(Object.entries(row.counts).filter(([, count]) => count !== 0));
}

/** Rows that counted something, as (queue, at) → counts. */
function table(rows: readonly CounterRow[]): Record<string, Record<string, number>> {
  const entries = rows.map((row) => [`${row.queue} ${row.at}`, counted(row)] as const);
  return Object.fromEntries(entries.filter(([, counts]) => Object.keys(counts).length > 0));
}

export function counterSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("counters", () => {
    keeps("count each step once: enqueued, completed, retried, dead, failed, cancelled, lost", async (world) => {
      await world.complete(await world.running());
      await world.fail(await world.running({ maxRetries: 1 }), 10_000_000);
      await world.fail(await world.running({ maxRetries: 0 }));
      await world.discard({ ...(await world.running()), deadLetters: false });
      await world.cancel((await world.running()).id);
      await world.cancel((await world.add()).id);
      await world.snooze(await world.running(), 10_000_000);
      const lost = await world.running({ maxRetries: 0 });
      world.clock.advance(LEASE_MS);
      await world.lose(lost);
      const released = await world.running();
      await world.release(released);
      await world.insert(world.job({ idempotencyKey: "k" }));
      await world.insert(world.job({ idempotencyKey: "k" }));
      const { now, rows } = await world.store.counters({ step: "all" });
      expect(now).toBe(world.clock.now());
      expect(table(rows)).toEqual({
        "default 0": { enqueued: 10, completed: 1, retried: 1, dead: 2, failed: 1, cancelled: 2, lost: 1 },
      });
    });

    keeps("are kept by queue, and one queue can be asked for alone", async (world) => {
      await world.addMany(3, { queue: "a" });
      await world.addMany(2, { queue: "b" });
      expect(table((await world.store.counters({ step: "all" })).rows)).toEqual({ "a 0": { enqueued: 3 }, "b 0": { enqueued: 2 } });
      expect(table((await world.store.counters({ step: "all", queue: "b" })).rows)).toEqual({ "b 0": { enqueued: 2 } });
      expect((await world.store.counters({ step: "all", queue: "nowhere" })).rows).toEqual([]);
    });

    keeps("of one queue are those of its own periods, whatever other queues counted", async (world) => {
      const start = world.clock.now(); // the start of an hour
      await world.addMany(2, { queue: "before" });
      world.clock.advance(3 * MINUTE_MS);
      await world.addMany(1, { queue: "mine" });
      world.clock.advance(2 * HOUR_MS);
      await world.addMany(4, { queue: "mine" });
      await world.addMany(8, { queue: "other" });
      world.clock.advance(MINUTE_MS);
      await world.addMany(16, { queue: "other" });
      const second = start + 2 * HOUR_MS;
      const mine = async (query: Omit<CounterQuery, "queue">) => table((await world.store.counters({ ...query, queue: "mine" })).rows);
      const both = { [`mine ${start + 3 * MINUTE_MS}`]: { enqueued: 1 }, [`mine ${second + 3 * MINUTE_MS}`]: { enqueued: 4 } };
      expect(await mine({ step: "minute" })).toEqual(both);
      expect(await mine({ step: "minute", from: start + 1, to: second + 3 * MINUTE_MS + 1 })).toEqual(both);
      expect(await mine({ step: "minute", from: start + 3 * MINUTE_MS + 1, to: second + 3 * MINUTE_MS })).toEqual({});
      expect(await mine({ step: "hour", from: 0, to: second })).toEqual({ [`mine ${start}`]: { enqueued: 1 } });
      expect(await mine({ step: "hour", from: start + 1 })).toEqual({ [`mine ${second}`]: { enqueued: 4 } });
      expect(await mine({ step: "minute", from: second + HOUR_MS })).toEqual({});
    });

    keeps("by minute and by hour tell when, for the periods that begin in [from, to)", async (world) => {
      const start = world.clock.now(); // the start of an hour
      await world.addMany(1);
      world.clock.advance(MINUTE_MS - 1);
      await world.addMany(1);
      world.clock.advance(1);
      await world.addMany(4);
      world.clock.advance(HOUR_MS);
      await world.addMany(8);
      const all = { from: start, to: start + 10 * HOUR_MS };
      const minutes = await world.store.counters({ step: "minute", ...all });
      expect(table(minutes.rows)).toEqual({
        [`default ${start}`]: { enqueued: 2 },
        [`default ${start + MINUTE_MS}`]: { enqueued: 4 },
        [`default ${start + HOUR_MS + MINUTE_MS}`]: { enqueued: 8 },
      });
      const hours = await world.store.counters({ step: "hour", ...all });
      expect(table(hours.rows)).toEqual({ [`default ${start}`]: { enqueued: 6 }, [`default ${start + HOUR_MS}`]: { enqueued: 8 } });
      const some = await world.store.counters({ step: "minute", from: start + MINUTE_MS, to: start + HOUR_MS + MINUTE_MS });
      expect(table(some.rows)).toEqual({ [`default ${start + MINUTE_MS}`]: { enqueued: 4 } });
      const none = await world.store.counters({ step: "hour", from: start + 1, to: start + HOUR_MS, queue: "default" });
      expect(table(none.rows)).toEqual({});
    });

    keeps("all time is all time, whatever from and to say", async (world) => {
      await world.add();
      const { rows } = await world.store.counters({ step: "all", from: 0, to: 1 });
      expect(table(rows)).toEqual({ "default 0": { enqueued: 1 } });
    });

    keeps(
      "run and wait times are counted for attempts that were reported completed, failed or discarded, by minute only",
      async (world) => {
        const start = world.clock.now();
        const lengths = [1, 100, 2_000];
        await world.addMany(3, { maxRetries: 3 });
        world.clock.advance(500);
        const [a, b, c] = await world.claim();
        world.clock.advance(7_000); // running is no waiting
        await world.settle(a!, { kind: "completed", result: null, runMs: lengths[0]! });
        await world.settle(b!, { kind: "failed", error: BOOM, delayMs: 10_000_000, runMs: lengths[1]! });
        await world.settle(c!, { kind: "discard", error: BOOM, runMs: lengths[2]! });

        await world.release(await world.running({ queue: "uncounted" }));
        await world.snooze(await world.take({ queues: ["uncounted"] }), 10_000_000);
        await world.cancel((await world.running({ queue: "uncounted" })).id);
        const lost = await world.running({ queue: "uncounted" });
        world.clock.advance(LEASE_MS);
        await world.lose(lost);

        const { rows } = await world.store.counters({ step: "minute", from: start, to: start + HOUR_MS });
        const row = rows.find(({ queue }) => queue === "default")!;
        expect(row.times.run).toEqual(new Map(lengths.map((ms) => [bucketOf(ms), 1])));
        expect(row.times.wait).toEqual(new Map([[bucketOf(500), 3]]));
        const uncounted = rows.filter(({ queue }) => queue === "uncounted");
        expect(uncounted.flatMap(({ times }) => [...(times.run ?? []), ...(times.wait ?? [])])).toEqual([]);
        for (const step of ["all", "hour"] as const) {
          for (const { times } of (await world.store.counters({ step, from: start, to: start + HOUR_MS })).rows) expect(times).toEqual({});
        }
      },
    );

    keeps("waiting is counted from the due time, so a retry's backoff is no wait", async (world) => {
      const start = world.clock.now();
      const lease = await world.running({ maxRetries: 3 });
      await world.fail(lease, 10_000);
      world.clock.advance(10_000);
      await world.store.promote(1);
      world.clock.advance(50);
      await world.complete(await world.take());
      const { rows } = await world.store.counters({ step: "minute", from: start, to: start + HOUR_MS });
      const wait = rows.flatMap(({ times }) => [...(times.wait ?? [])]);
      expect(wait.sort(([a], [b]) => a - b)).toEqual([
        [0, 1],
        [bucketOf(50), 1],
      ]);
    });

    keeps("are kept by type, and the types of a queue add up to the queue", async (world) => {
      const start = world.clock.now();
      await world.addMany(3, { queue: "a", type: "mail" });
      await world.addMany(2, { queue: "a", type: "mail", priority: 5 });
      await world.addMany(4, { queue: "a", type: "bill to", maxRetries: 0 });
      await world.addMany(1, { queue: "b", type: "mail" });
      world.clock.advance(500);
      await world.settle((await world.claim({ queues: ["a"], types: ["mail"], limit: 1 }))[0]!, {
        kind: "completed",
        result: null,
        runMs: 100,
      });
      await world.fail((await world.claim({ queues: ["a"], types: ["bill to"], limit: 1 }))[0]!);
      const lost = (await world.claim({ queues: ["a"], types: ["bill to"], limit: 1 }))[0]!;
      world.clock.advance(LEASE_MS);
      await world.lose(lost);
      const bills = { enqueued: 4, dead: 2, lost: 1 };
      const rowsOf = async (query: CounterQuery) => (await world.store.counters(query)).rows;
      for (const step of ["all", "hour"] as const) {
        const at = step === "all" ? 0 : start;
        const rows = await rowsOf({ step, byType: true });
        expect(Object.fromEntries(rows.map((row) => [`${row.queue} ${row.type} ${row.at}`, counted(row)]))).toEqual({
          [`a mail ${at}`]: { enqueued: 5, completed: 1 },
          [`a bill to ${at}`]: bills,
          [`b mail ${at}`]: { enqueued: 1 },
        });
        expect(table(await rowsOf({ step, queue: "a" }))).toEqual({ [`a ${at}`]: { ...bills, enqueued: 9, completed: 1 } });
      }
      const minutes = await rowsOf({ step: "minute", queue: "a", byType: true });
      const mail = minutes.find(({ type }) => type === "mail")!;
      expect(await rowsOf({ step: "minute", queue: "a", byType: { type: "mail" } })).toEqual(minutes.filter(({ type }) => type === "mail"));
      expect(await rowsOf({ step: "minute", queue: "a", byType: { type: "unknown" } })).toEqual([]);
      for (const wanted of [{}, { queue: "a" }, { queue: "a", byType: true }, { queue: "a", byType: { type: "mail" } }] as const) {
        const [all, counts] = [await rowsOf({ step: "minute", ...wanted }), await rowsOf({ step: "minute", ...wanted, countsOnly: true })];
        expect(table(counts)).toEqual(table(all));
        expect(counts.map(({ times }) => times)).toEqual(counts.map(() => ({})));
      }
      expect(mail.times).toEqual({ run: new Map([[bucketOf(100), 1]]), wait: new Map([[bucketOf(500), 1]]) });
      // Upkeep moves the histograms of a type to its hour.
      world.clock.advance(4 * HOUR_MS);
      await world.store.sweep({ minutesMs: 48 * HOUR_MS, hoursMs: 48 * HOUR_MS }, 1_000);
      const hours = await rowsOf({ step: "hour-times", queue: "a", byType: true });
      expect(hours.find(({ type }) => type === "mail")).toEqual({ ...mail, at: start, counts: {} });
      expect(await rowsOf({ step: "hour-times", queue: "a", byType: { type: "mail" } })).toEqual([{ ...mail, at: start, counts: {} }]);
      expect(await rowsOf({ step: "hour-times", byType: { type: "unknown" } })).toEqual([]);
      const left = await rowsOf({ step: "minute", queue: "a", byType: true });
      expect(left.find(({ type }) => type === "mail")).toEqual({ ...mail, times: {} });
    });

    keeps("count types beyond the first MAX_TYPES_COUNTED of a queue towards the queue only", async (world) => {
      const types = Array.from({ length: MAX_TYPES_COUNTED + 5 }, (_, index) => `type-${index}`);
      for (const type of types) await world.addMany(2, { type });
      await world.add({ queue: "b", type: types.at(-1)! });
      const completeLate = async () => {
        const [late] = await world.claim({ types: types.slice(-1), limit: 1 });
        await world.settle(late!, { kind: "completed", result: null, runMs: 100 });
      };
      const expectFirstTypes = async (completed: number) => {
        const { rows } = await world.store.counters({ step: "all", byType: true });
        const kept = rows.filter(({ queue, type }) => queue === "default" && type !== null);
        expect(new Set(kept.map(({ type }) => type))).toEqual(new Set(types.slice(0, MAX_TYPES_COUNTED)));
        for (const row of kept) expect(counted(row)).toEqual({ enqueued: 2 });
        const others = rows.filter(({ queue, type }) => queue === "default" && type === null);
        expect(others.map(counted)).toEqual([{ enqueued: 10, completed }]);
        expect(rows.filter(({ queue }) => queue === "b").map(({ type }) => type)).toEqual([types.at(-1)]);
        for (const step of ["minute", "hour-times"] as const) {
          const times = (await world.store.counters({ step, byType: true })).rows.filter(({ times }) => times.run !== undefined);
          expect(times.map(({ type }) => type)).toEqual([null]);
        }
      };
      await completeLate();
      await expectFirstTypes(1);
      // Upkeep has seen all of them now, or is at it elsewhere.
      await world.store.sweep({ minutesMs: HOUR_MS, hoursMs: HOUR_MS }, 1_000);
      await completeLate();
      await expectFirstTypes(2);
    });

    keeps("add up over connections that count at once", async (world) => {
      const other = await world.elsewhere();
      await Promise.all(Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? world : other).add()));
      expect(await world.total("enqueued")).toBe(40);
      expect(await other.total("enqueued")).toBe(40);
    });
  });
}
