import { describe, expect } from "vitest";
import { Random } from "../../simulation/random.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, LEASE_MS, type World } from "../world.ts";
import { unfairness } from "./fair-shares.ts";
import { claimAndAsk, countByKey, runningOf, setKey, setLimits } from "./limit-steps.ts";

const RUNS = 3;
const SEED = process.env["MILLRACE_TEST_SEED"] ?? String(Date.now());

/** The most units that began in any window of this length, by trying each. */
function mostIn(starts: readonly number[], periodMs: number): number {
  return Math.max(0, ...starts.map((from) => starts.filter((at) => at >= from && at < from + periodMs).length));
}

/** Random runs whose promise is about many starts. A failure names its seed: MILLRACE_TEST_SEED repeats it. */
export function limitRunsSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  for (let run = 0; run < RUNS; run++) {
    const seed = `${SEED}/${run}`;

    describe(`limits in a random run, seed ${SEED}, ${run}`, () => {
      keeps("keys with work share the starts by their weights, whatever claims take at once", async (world) => {
        const random = new Random(seed).fork("weights");
        const lines = Array.from({ length: random.int(2, 6) }, (_, index) => (index === 0 ? null : `k${index}`));
        const weights: Record<string, number> = {};
        for (const line of lines) {
          const weight = random.chance(0.5) ? random.int(1, 5) : random.int(1, 100);
          await setKey(world, line, { weight });
          weights[line ?? "none"] = weight;
        }
        await addInRandomOrder(world, random, lines, 150);
        const starts: string[] = [];
        while (starts.length < 140) {
          const started = await world.claim({ limit: Math.min(140 - starts.length, random.pick([1, 1, 2, 5, 13, 40])) });
          starts.push(...started.map(({ limitKey }) => limitKey ?? "none"));
          for (const lease of random.some(started, 0.5)) await world.complete(lease);
        }
        expect(unfairness({ starts, weights }), `seed ${seed}`).toBeNull();
      });

      keeps("no window has more starts than a rate and its burst allow, and none that may start is kept waiting", async (world) => {
        const random = new Random(seed).fork("rates");
        const rate = { units: random.int(1, 12), periodMs: random.pick([100, 700, 1_000, 3_000]), burst: random.int(1, 5) };
        const words = { rate: `${rate.units}/${rate.periodMs}ms`, burst: rate.burst };
        const ofQueue = { rate: `${rate.units * 3}/${rate.periodMs}ms`, burst: rate.burst };
        await setLimits(world, random.chance(0.5) ? { perKey: words } : { ...ofQueue, perKey: words });
        await world.addMany(120, (index) => ({ limitKey: `k${index % 3}` }));
        const starts: Record<string, number[]> = { k0: [], k1: [], k2: [] };
        const from = world.clock.now();
        while (world.clock.now() - from < 4 * rate.periodMs) {
          const { jobs, againInMs } = await claimAndAsk(world, { limit: random.pick([1, 3, 100]) });
          for (const { limitKey } of jobs) starts[limitKey!]!.push(world.clock.now());
          for (const lease of random.some(jobs, 0.5)) await world.complete(lease);
          const isAsked = jobs.length === 0 && againInMs !== null && random.chance(0.7);
          world.clock.advance(isAsked ? againInMs : random.int(1, Math.ceil(rate.periodMs / rate.units)));
        }
        for (const [key, times] of Object.entries(starts)) {
          expect(mostIn(times, rate.periodMs), `starts of ${key}, seed ${seed}`).toBeLessThanOrEqual(rate.units + rate.burst - 1);
        }
        const all = Object.values(starts).flat();
        expect(all.length, `starts, seed ${seed}`).toBeGreaterThan(0);
        expect(mostIn(all, rate.periodMs), `starts, seed ${seed}`).toBeLessThanOrEqual(3 * (rate.units + rate.burst - 1));
      });

      keeps("who asks when the answer says gets every start that the rate allows", async (world) => {
        const random = new Random(seed).fork("asked");
        const [units, periodMs, burst] = [random.int(1, 30), random.pick([100, 1_000, 7_000]), random.int(1, 4)];
        const rate = { rate: `${units}/${periodMs}ms`, burst };
        await setLimits(world, random.pick([rate, { perKey: rate }, { ...rate, perKey: rate }]));
        await world.addMany(40, { limitKey: "k" });
        const from = world.clock.now();
        for (let started = 0; started < 40; started++) {
          const expected = from + Math.max(0, Math.ceil(((started + 1 - burst) * periodMs) / units - 1e-6));
          for (let asked = 0; ; asked++) {
            const { jobs, againInMs } = await claimAndAsk(world, { limit: 1 });
            if (jobs.length === 1) break;
            expect(asked, `claims until the next start, seed ${seed}`).toBeLessThan(3);
            expect(againInMs, `seed ${seed}`).toBeGreaterThan(0);
            world.clock.advance(againInMs!);
          }
          // A unit that does not take whole milliseconds is rounded up each time that all are back; others are exact.
          expect(world.clock.now() - expected, `start ${started}, seed ${seed}`).toBeGreaterThanOrEqual(0);
          expect(world.clock.now() - expected, `start ${started}, seed ${seed}`).toBeLessThanOrEqual(periodMs % units === 0 ? 0 : started);
        }
      });

      keeps("no limit is exceeded at any step, and at rest nothing is left", async (world) => {
        const random = new Random(seed).fork("running");
        const most = { queue: random.int(2, 8), key: random.int(1, 3) };
        await setLimits(world, { running: most.queue, perKey: { running: most.key } });
        const keys = ["k1", "k2", "k3"];
        await addInRandomOrder(world, random, [null, ...keys], 30);
        const leases: Awaited<ReturnType<World["claim"]>> = [];
        let done = 0;
        for (let step = 0; done < 120; step++) {
          expect(step, `steps, seed ${seed}`).toBeLessThan(engine.placesReturnLate === undefined ? 1_000 : 100_000);
          leases.push(...(await world.claim({ limit: random.int(1, 6), workerId: `worker-${random.int(1, 3)}` })));
          const [running, ...ofKeys] = await runningOf(world, keys);
          expect({ running, ofKeys }, `seed ${seed}`).toEqual({
            running: leases.length,
            ofKeys: keys.map((key) => countByKey(leases)[key] ?? 0),
          });
          expect(running, `leases, seed ${seed}`).toBeLessThanOrEqual(most.queue);
          expect(Math.max(...ofKeys), `leases of a key, seed ${seed}`).toBeLessThanOrEqual(most.key);
          for (const lease of random.some(leases, 0.4)) {
            leases.splice(leases.indexOf(lease), 1);
            const end = random.pick(["complete", "complete", "cancel", "release", "lose"]);
            if (end === "release") await world.release(lease);
            else if (end === "cancel") await world.cancel(lease.id);
            else if (end === "complete") await world.complete(lease);
            else {
              world.clock.advance(LEASE_MS);
              for (const other of leases) await world.extend(other);
              await world.lose({ ...lease, maxLost: 0 });
            }
            if (end !== "release") done++;
          }
        }
        expect(await runningOf(world, keys)).toEqual([0, 0, 0, 0]);
        expect(await world.claim()).toEqual([]);
      });
    });
  }
}

/** So many jobs of each line, in any order. */
async function addInRandomOrder(world: World, random: Random, lines: readonly (string | null)[], each: number): Promise<void> {
  const left = lines.flatMap((line) => Array<string | null>(each).fill(line));
  await world.addMany(left.length, () => {
    const [line] = left.splice(random.int(0, left.length - 1), 1);
    return line === null ? {} : { limitKey: line };
  });
}
