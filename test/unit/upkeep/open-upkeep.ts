import { onTestFinished } from "vitest";
import type { Event } from "../../../src/core/event.ts";
import type { NewJob } from "../../../src/core/job.ts";
import { JOB_DEFAULTS, type JobOptions, createJob, readJobOptions } from "../../../src/core/job-options.ts";
import { partitionOf } from "../../../src/core/partition.ts";
import { idMaker } from "../../../src/lib/id.ts";
import { openStore } from "../../../src/store/open-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { VirtualClock } from "../../../src/testing/virtual-clock.ts";
import type { DutyName } from "../../../src/upkeep/duty.ts";
import { startUpkeep, type Upkeep, type UpkeepOptions } from "../../../src/upkeep/upkeep.ts";

export const START = Date.UTC(2030, 0, 1);

export interface World {
  readonly store: Store;
  readonly clock: VirtualClock;
  /** What was announced, and which attempts were told to have ended. */
  readonly events: Event[];
  readonly settled: { readonly id: string; readonly to: string }[];
  readonly troubles: { readonly duty: DutyName; readonly error: unknown }[];
  /** How often each verb was called. */
  readonly calls: Map<string, number>;
  /** Starts upkeep; more than one stands for several processes. */
  readonly start: (options?: Partial<UpkeepOptions>) => Upkeep;
  readonly insert: (type: string, options?: JobOptions) => Promise<string>;
  readonly statusOf: (id: string) => Promise<string | undefined>;
}

/** A memory store, a clock turned by hand, and upkeep that the test starts when it likes. */
export async function openWorld(): Promise<World> {
  const calls = new Map<string, number>();
  const clock = new VirtualClock(START, () => [...calls.values()].reduce((sum, count) => sum + count, 0));
  const store = await openStore("memory:", { clock });
  for (const verb of ["promote", "expired", "dueSchedules", "prune", "sweep", "rerank", "queues", "exchange", "tick", "find"] as const) {
    const call = store[verb].bind(store) as (...args: unknown[]) => unknown;
    Object.assign(store, {
      [verb]: (...args: unknown[]) => {
        calls.set(verb, (calls.get(verb) ?? 0) + 1);
        return call(...args);
      },
    });
  }
  const world = {
    store,
    clock,
    calls,
    events: [] as Event[],
    settled: [] as { id: string; to: string }[],
    troubles: [] as World["troubles"][number][],
  };
  const createId = idMaker(() => clock.now());
  return {
    ...world,
    start(options = {}) {
      const upkeep = startUpkeep(store, {
        clock,
        random: () => 0.5,
        announce: {
          wanted: () => true,
          publish: (events) => void world.events.push(...events),
          settled: (attempts) => void world.settled.push(...attempts.map(({ id, transition }) => ({ id, to: transition.to }))),
          ended: () => {},
        },
        onTrouble: (duty, error) => void world.troubles.push({ duty, error }),
        ...options,
      });
      onTestFinished(() => upkeep.stop());
      return upkeep;
    },
    async insert(type, options = {}) {
      const settings = readJobOptions(options, JOB_DEFAULTS, clock.now());
      const job: NewJob = createJob(createId(partitionOf(settings.queue)), type, null, settings);
      await store.insert([job]);
      return job.id;
    },
    async statusOf(id) {
      return (await store.find([id]))[0]?.status;
    },
  };
}
