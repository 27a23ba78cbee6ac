import { describe, expect } from "vitest";
import type { Engine } from "../harness.ts";
import { claimOf, keepsOn, settlementOf, type World } from "../world.ts";
import type { LeasedRecord } from "../../../src/store/store.ts";
import { COMPLETED, runningOf, setLimits } from "./limit-steps.ts";

/** How often a job comes in at the moment in which the last one of its key ends. More of it: MILLRACE_TEST_RACES=100000. */
const RACES = Number(process.env["MILLRACE_TEST_RACES"] ?? 2_000);
const KEYS = 20;
/** A job that cannot be claimed for so long is stranded. */
const STRANDED_AFTER_MS = 10_000;

/** What comes in, ends and starts at one moment, through two connections. */
export function limitRacesSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("limits in a race", () => {
    keeps(`a job that comes in while the last one of its key ends is never stranded, in ${RACES} tries`, async (world) => {
      await setLimits(world, { perKey: { running: 1 } });
      const other = await world.elsewhere();
      const keys = Array.from({ length: KEYS }, (_, index) => `k${index}`);
      await Promise.all(keys.map((key, index) => raceKey(index % 2 === 0 ? [world, other] : [other, world], key, RACES / KEYS)));
      expect(await runningOf(world, keys)).toEqual([0, ...keys.map(() => 0)]);
      expect(await world.counts()).toEqual({ completed: Math.ceil(RACES / KEYS) * KEYS });
    });

    keeps("claims beside each other never run more than a key and its queue may", async (world) => {
      const other = await world.elsewhere();
      await setLimits(world, { running: 6, perKey: { running: 2 } });
      const keys = ["a", "b", "c", "d"];
      await world.addMany(400, (index) => ({ limitKey: keys[index % keys.length]! }));
      let done = 0;
      const held = new Map<string, LeasedRecord>();
      const claimer = async (mine: World, name: string): Promise<void> => {
        while (done < 400) {
          const leases = await mine.claim({ workerId: name, limit: 3, turn: 0 });
          for (const lease of leases) held.set(lease.id, lease);
          expect(held.size).toBeLessThanOrEqual(6);
          for (const key of keys) expect([...held.values()].filter(({ limitKey }) => limitKey === key).length).toBeLessThanOrEqual(2);
          // Not held any more from the moment on in which its end is sent.
          for (const lease of leases) held.delete(lease.id);
          await mine.store.exchange(
            leases.map((lease) => settlementOf(lease, COMPLETED)),
            [],
          );
          done += leases.length;
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, index) => claimer(index % 2 === 0 ? world : other, `worker-${index}`)));
      expect(await world.counts()).toEqual({ completed: 400 });
    });
  });
}

/** Each key has a type of its own, so that only its own claims find its jobs. */
async function raceKey([one, other]: readonly [World, World], limitKey: string, tries: number): Promise<void> {
  const wishes = { type: limitKey, limitKey };
  let lease: LeasedRecord | null = null;
  for (let round = 0; round < tries; round++) {
    const job = one.job(wishes);
    const last = lease;
    const [[answer]] = await Promise.all([
      one.store.insert([job]),
      last === null ? null : other.store.exchange([settlementOf(last, COMPLETED)], []),
    ]);
    expect(answer).toMatchObject({ kind: "created" });
    lease = await claimSoon(round % 2 === 0 ? one : other, limitKey);
    expect(lease.id).toBe(job.id);
  }
  if (lease !== null) await one.complete(lease);
}

async function claimSoon({ store }: World, type: string): Promise<LeasedRecord> {
  const from = performance.now();
  while (performance.now() - from < STRANDED_AFTER_MS) {
    const { claimed } = await store.exchange([], [claimOf({ types: [type], limit: 5, turn: 0 })]);
    expect(claimed[0]!.length).toBeLessThanOrEqual(1);
    if (claimed[0]!.length === 1) return claimed[0]![0]!;
  }
  throw new Error(`the job of ${type} is stranded: nothing could be claimed for ${STRANDED_AFTER_MS} ms`);
}
