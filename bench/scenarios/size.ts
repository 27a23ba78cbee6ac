import { runStretch } from "../measure/drain.ts";
import type { Place } from "../places/place.ts";
import type { Queue } from "../queue.ts";
import type { Scenario } from "./scenario.ts";

/** Enough to hide the fixed size of a store, and just below a power of two, where hash tables are full. */
const JOBS = 32_000;

/** The size of a job in the store, including indexes. One round is enough. */
export const size: Scenario = {
  name: "size",
  isOnPage: true,
  async measure(session) {
    if (!session.engine.isShared) return [];
    return session.contest(
      [
        { what: "size of a job", of: "waiting", unit: "bytes" },
        { what: "size of a job", of: "finished", unit: "bytes" },
      ],
      [...session.ours(bytesPerJob), ...session.peers("throughput", bytesPerJob)],
      { rounds: 1 },
    );
  },
};

async function bytesPerJob(queue: Queue, place: Place): Promise<[waiting: number, finished: number]> {
  const empty = await place.bytes();
  await queue.fill(JOBS);
  const waiting = await place.bytes();
  await runStretch({ ...queue, fill: async () => {} }, { slots: 100, handlerMs: 0 }, JOBS);
  const finished = await place.bytes();
  return [(waiting - empty) / JOBS, (finished - empty) / JOBS];
}
