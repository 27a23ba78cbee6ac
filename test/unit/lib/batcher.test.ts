import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Batcher, type BatcherOptions, WaitingLimit } from "../../../src/lib/batcher.ts";

interface Run {
  readonly items: number[];
  finish(): void;
  fail(error: Error): void;
}

/** A batcher whose batches end only when the test says so. */
function heldBatcher(options: Partial<BatcherOptions<number, string>> = {}): { batcher: Batcher<number, string>; runs: Run[] } {
  const runs: Run[] = [];
  const batcher = new Batcher<number, string>({
    run: (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, finish: () => resolve(items.map((item) => `did ${item}`)), fail: reject });
      }),
    inFlight: 1,
    maxItems: 1000,
    waitingLimit: new WaitingLimit(10_000, () => new Error("too many")),
    ...options,
  });
  return { batcher, runs };
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a batcher", () => {
  test("gathers the calls of one tick into one batch, in order", async () => {
    const { batcher, runs } = heldBatcher();
    const answers = Promise.all([1, 2, 3].map((item) => batcher.add(item)));
    await tick();
    expect(runs.map((run) => run.items)).toEqual([[1, 2, 3]]);
    runs[0]!.finish();
    expect(await answers).toEqual(["did 1", "did 2", "did 3"]);
  });

  test("lets calls wait and grow while as many batches are under way as may be", async () => {
    const { batcher, runs } = heldBatcher();
    const answers = [batcher.add(1)];
    await tick();
    answers.push(batcher.add(2), batcher.add(3));
    await tick();
    expect(runs).toHaveLength(1);
    runs[0]!.finish();
    await answers[0];
    await tick();
    expect(runs[1]!.items).toEqual([2, 3]);
    runs[1]!.finish();
    await Promise.all(answers);
  });

  test("gives each of two batches in flight its share of what waits", async () => {
    const { batcher, runs } = heldBatcher({ inFlight: 2 });
    const answers = Promise.all([1, 2, 3, 4].map((item) => batcher.add(item)));
    await tick();
    expect(runs.map((run) => run.items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    for (const run of runs) run.finish();
    await answers;
  });

  test("sends an item that is heavier than a batch may be alone", async () => {
    const { batcher, runs } = heldBatcher({ weigh: (item) => item, maxWeight: 10 });
    const answers = Promise.all([50, 3, 3].map((item) => batcher.add(item)));
    for (const expected of [[50], [3, 3]]) {
      await tick();
      expect(runs.at(-1)!.items).toEqual(expected);
      runs.at(-1)!.finish();
      await tick();
    }
    await answers;
  });

  test("refuses what is beyond its bound, and only that", async () => {
    const { batcher, runs } = heldBatcher({ waitingLimit: new WaitingLimit(2, () => new Error("too many")) });
    const answers = [batcher.add(1), batcher.add(2)];
    await expect(batcher.add(3)).rejects.toThrow("too many");
    await tick();
    runs[0]!.finish();
    expect(await Promise.all(answers)).toEqual(["did 1", "did 2"]);
  });

  test("shares its bound with those that have the same limit, until their calls are answered", async () => {
    const waitingLimit = new WaitingLimit(3, () => new Error("too many"));
    const [one, other] = [heldBatcher({ waitingLimit }), heldBatcher({ waitingLimit })];
    const answers = [one.batcher.add(1), other.batcher.add(2), other.batcher.add(3)];
    await expect(one.batcher.add(4)).rejects.toThrow("too many");
    await tick();
    await expect(one.batcher.add(4)).rejects.toThrow("too many");
    one.runs[0]!.finish();
    await answers[0];
    const next = one.batcher.add(5);
    await tick();
    other.runs[0]!.fail(new Error("store away"));
    one.runs[1]!.finish();
    expect((await Promise.allSettled([...answers, next])).map((end) => end.status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(waitingLimit.count).toBe(0);
  });

  test("refuses what has waited too long when its turn comes, and sends the rest", async () => {
    let now = 0;
    const waitingLimit = new WaitingLimit(10, () => new Error("too many"));
    const { batcher, runs } = heldBatcher({ waitingLimit, patience: { ms: 1000, now: () => now, tooLong: () => new Error("too long") } });
    const sent = batcher.add(1);
    await tick();
    const late = [batcher.add(2), batcher.add(3)].map((call) => call.catch((error: Error) => error.message));
    now = 500;
    const inTime = batcher.add(4);
    now = 1000;
    runs[0]!.finish();
    expect(await sent).toBe("did 1");
    await tick();
    expect(await Promise.all(late)).toEqual(["too long", "too long"]);
    expect(runs[1]!.items).toEqual([4]);
    runs[1]!.finish();
    await inTime;
    await batcher.whenIdle();
    expect(waitingLimit.count).toBe(0);
  });

  test("refuses nobody because the loop was blocked: who waits for no batch waits for no store", async () => {
    let now = 0;
    const { batcher, runs } = heldBatcher({ patience: { ms: 1000, now: () => now, tooLong: () => new Error("too long") } });
    const answer = batcher.add(1);
    now = 60_000;
    await tick();
    runs[0]!.finish();
    expect(await answer).toBe("did 1");
  });

  test("is idle when all that waited was refused", async () => {
    let now = 0;
    const { batcher, runs } = heldBatcher({ patience: { ms: 1000, now: () => now, tooLong: () => new Error("too long") } });
    const sent = batcher.add(1);
    await tick();
    const late = batcher.add(2).catch((error: Error) => error.message);
    now = 2000;
    runs[0]!.finish();
    await Promise.all([sent, batcher.whenIdle()]);
    expect([await late, runs.length]).toEqual(["too long", 1]);
  });

  test("gives the error of a whole batch to each of its callers, and goes on", async () => {
    const { batcher, runs } = heldBatcher();
    const failing = Promise.allSettled([batcher.add(1), batcher.add(2)]);
    await tick();
    runs[0]!.fail(new Error("store away"));
    expect((await failing).map((end) => end.status)).toEqual(["rejected", "rejected"]);
    const next = batcher.add(3);
    await tick();
    runs[1]!.finish();
    expect(await next).toBe("did 3");
  });

  test("is idle when nothing waits and nothing is under way", async () => {
    const { batcher, runs } = heldBatcher();
    await batcher.whenIdle();
    const answer = batcher.add(1);
    let idle = false;
    const whenIdle = batcher.whenIdle().then(() => (idle = true));
    await tick();
    expect(idle).toBe(false);
    runs[0]!.finish();
    await answer;
    await whenIdle;
  });

  test("keeps its promises for any calls: own answers, own errors, order, bounds", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.record({ weight: fc.integer({ min: 0, max: 20 }), fails: fc.boolean() }), { maxLength: 30 }), {
          maxLength: 6,
        }),
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 30 }),
        async (waves, inFlight, maxItems, maxWeight) => {
          const seen: number[] = [];
          let underWay = 0;
          const all = waves.flat();
          const batcher = new Batcher<number, number>({
            inFlight,
            maxItems,
            maxWeight,
            weigh: (index) => all[index]!.weight,
            waitingLimit: new WaitingLimit(Infinity, () => new Error("never")),
            run: async (items) => {
              expect(++underWay).toBeLessThanOrEqual(inFlight);
              expect(items.length).toBeLessThanOrEqual(maxItems);
              const weight = items.reduce((sum, index) => sum + all[index]!.weight, 0);
              expect(items.length === 1 || weight <= maxWeight).toBe(true);
              seen.push(...items);
              await tick();
              underWay--;
              return items.map((index) => (all[index]!.fails ? new Error(`item ${index}`) : index));
            },
          });
          const ends: Promise<PromiseSettledResult<number>[]>[] = [];
          let next = 0;
          for (const wave of waves) {
            ends.push(Promise.allSettled(wave.map(() => batcher.add(next++))));
            await tick();
          }
          const results = (await Promise.all(ends)).flat();
          results.forEach((end, index) => {
            if (end.status === "fulfilled") expect(end.value).toBe(index);
            else expect((end.reason as Error).message).toBe(`item ${index}`);
            expect(end.status === "rejected").toBe(all[index]!.fails);
          });
          expect(seen).toEqual(all.map((_, index) => index));
          await batcher.whenIdle();
        },
      ),
      { numRuns: 50 },
    );
  });
});
