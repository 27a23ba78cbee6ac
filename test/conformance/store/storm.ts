import { describe, expect } from "vitest";
import type { JobSummaryRecord } from "../../../src/core/job.ts";
import { CANCEL, RETRY } from "../../../src/core/lifecycle.ts";
import type { LeasedRecord } from "../../../src/store/store.ts";
import type { Engine } from "../harness.ts";
import { keepsOn, type World } from "../world.ts";

const QUEUES = ["a", "b"];
const ROUNDS = 12;
const CALLS = 40;

/** A small generator, so that a storm can be had again. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What callers were told. */
interface Ledger {
  readonly inserted: string[];
  readonly granted: LeasedRecord[];
  readonly completed: string[];
  readonly removed: string[];
}

/** One call of somebody, on any connection, without waiting for anyone else. */
async function anyCall(world: World, random: (below: number) => number, told: Ledger): Promise<void> {
  const queue = QUEUES[random(QUEUES.length)]!;
  const lease = told.granted[told.granted.length - 1 - random(Math.min(30, told.granted.length))];
  const id = told.inserted[random(told.inserted.length)] ?? world.newId();
  switch (random(10)) {
    case 0:
    case 1: {
      const key = random(3) === 0 ? `k${random(5)}` : undefined;
      const jobs = world.jobs(1 + random(4), {
        queue,
        idempotencyKey: key,
        keyTtl: 0,
        maxRetries: 2,
        priority: random(3),
        delay: random(2) * 100,
      });
      const answers = await world.store.insert(jobs);
      told.inserted.push(...jobs.filter((_, index) => answers[index]!.kind === "created").map(({ id }) => id));
      return;
    }
    case 2:
    case 3:
      told.granted.push(...(await world.claim({ queues: QUEUES, limit: 1 + random(5), leaseMs: 500 })));
      return;
    case 4:
    case 5:
      if (lease !== undefined && (await world.complete(lease)) === "ok") told.completed.push(`${lease.id} ${lease.fence}`);
      return;
    case 6:
      if (lease !== undefined) await (random(2) === 0 ? world.fail(lease, 100) : world.release(lease));
      return;
    case 7:
      await world.store.change([id], random(3) === 0 ? CANCEL : RETRY);
      return;
    case 8:
      if ((await world.remove(id)).kind === "ok") told.removed.push(id);
      return;
    default:
      await world.store.promote(10);
      for (const job of (await world.expired(3)).jobs) await world.lose(job);
  }
}

async function allJobs(world: World): Promise<JobSummaryRecord[]> {
  const jobs: JobSummaryRecord[] = [];
  let cursor: string | null = null;
  do {
    const page = await world.store.list({ limit: 500, cursor: cursor ?? undefined });
    jobs.push(...page.jobs);
    cursor = page.cursor;
  } while (cursor !== null);
  return jobs;
}

function tally(jobs: readonly JobSummaryRecord[], queue: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const job of jobs) if (job.queue === queue) counts[job.status] = (counts[job.status] ?? 0) + 1;
  return counts;
}

export function stormSuite(engine: Engine): void {
  const keeps = keepsOn(engine);

  describe("many callers at once", () => {
    for (const seed of [1, 2, 3]) {
      keeps(`leave every invariant whole: storm ${seed}`, async (world) => {
        const other = await world.elsewhere();
        const random = randomOf(seed);
        const told: Ledger = { inserted: [], granted: [], completed: [], removed: [] };
        for (let round = 0; round < ROUNDS; round++) {
          await Promise.all(Array.from({ length: CALLS }, () => anyCall(random(2) === 0 ? world : other, random, told)));
          world.clock.advance(random(300));
        }
        const jobs = await allJobs(world);

        // I3: one lease is granted once, and never a fence that was passed.
        const grants = told.granted.map(({ id, fence }) => `${id} ${fence}`);
        expect(new Set(grants).size).toBe(grants.length);
        expect(told.granted.length).toBeGreaterThan(0);

        // I1, I2: what was accepted is there or was removed by somebody; nothing else is.
        expect(new Set(jobs.map(({ id }) => id))).toEqual(new Set(told.inserted.filter((id) => !told.removed.includes(id))));
        expect(new Set(told.removed).size).toBe(told.removed.length);

        // I4, I5: a completion was accepted for each lease that is counted as one, and for no other.
        const totals = await Promise.all(QUEUES.map((queue) => world.total("completed", queue)));
        expect(totals.reduce((sum, count) => sum + count)).toBe(new Set(told.completed).size);

        // I12: no two living jobs have one key.
        const living = jobs.filter(({ idempotencyKey, completedAt }) => idempotencyKey !== null && completedAt === null);
        const keys = living.map(({ queue, idempotencyKey }) => `${queue} ${idempotencyKey}`);
        expect(new Set(keys).size).toBe(keys.length);

        // I15: tallies and totals are a count of the rows.
        for (const queue of QUEUES) expect(await world.counts(queue)).toEqual(tally(jobs, queue));
        const enqueued = await Promise.all(QUEUES.map((queue) => world.total("enqueued", queue)));
        expect(enqueued.reduce((sum, count) => sum + count)).toBe(told.inserted.length);

        // The history has one entry for each attempt, in order.
        for (const { id, attempt } of jobs) {
          expect((await world.store.attempts(id)).map(({ number }) => number)).toEqual(
            Array.from({ length: attempt }, (_, index) => index + 1),
          );
        }

        // I20: whatever is left can be worked off.
        for (let round = 0; round < 200; round++) {
          world.clock.advance(1_000);
          for (const job of (await world.expired(1_000)).jobs) await world.lose(job);
          await world.store.promote(1_000);
          for (const lease of await world.claim({ queues: QUEUES })) expect(await world.complete(lease)).toBe("ok");
          const left = await Promise.all(QUEUES.map((queue) => world.counts(queue)));
          if (left.every(({ pending, running, retrying, scheduled }) => !pending && !running && !retrying && !scheduled)) return;
        }
        expect.fail("jobs are left that nobody can work off");
      });
    }
  });
}
