import { HOUR_MS } from "../core/time-units.ts";
import { MAX_BATCH, type PruneRule } from "../store/store.ts";
import { letOthersRun, type Duty, type DutyParts } from "./duty.ts";

const BATCH = 200;
/** How long counters by minute are kept; after that only those by hour. */
const MINUTES_MS: number = 48 * HOUR_MS;

/** Removes ended jobs after their retention, expired keys, workers that are gone, and old counters. In small batches, so that others can run. */
export function pruneDuty(parts: DutyParts): Duty {
  const { random, restsMs } = parts;
  return {
    wokenBy: [],
    async turn() {
      await pruneJobs(parts);
      await sweep(parts);
      // Spread, so that many processes do not do this at the same time.
      return Math.round(restsMs.prune * (0.75 + random() / 2));
    },
  };
}

async function pruneJobs({ store, isStopping }: DutyParts): Promise<void> {
  const queues = await store.queues();
  const rules = queues.map(({ name, settings }): PruneRule => ({ queue: name, ...settings.retention }));
  for (let from = 0; from < rules.length; from += MAX_BATCH) {
    const some = rules.slice(from, from + MAX_BATCH);
    while ((await store.prune(some, BATCH)).removed >= BATCH && !isStopping()) await letOthersRun();
  }
}

async function sweep({ store, hoursMs, isStopping }: DutyParts): Promise<void> {
  while ((await store.sweep({ minutesMs: MINUTES_MS, hoursMs }, BATCH)).removed >= BATCH && !isStopping()) await letOthersRun();
}
