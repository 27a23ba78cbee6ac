import { inBatches } from "../measure/call.ts";
import { PAYLOAD } from "../payload.ts";
import { handlerOf, type Peer } from "../queue.ts";
import { loadPeer } from "./install.ts";

/** What we use of it. */
interface BossModule {
  readonly PgBoss: new (options: object) => Boss;
}

interface Boss {
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: object): Promise<string | null>;
  insert(name: string, jobs: readonly { data: object }[]): Promise<unknown>;
  work(name: string, options: object, run: (jobs: readonly unknown[]) => Promise<void>): Promise<string>;
  offWork(name: string): Promise<void>;
  on(event: "error", listener: () => void): unknown;
  stop(options: object): Promise<void>;
}

/** More connections than this added nothing on two cores. */
const POOL = 10;
/** It finishes a batch before it fetches the next, so two half batches are faster than a whole one; four were slower. */
const FETCHERS = 2;

/**
 * Keeps finished jobs, and runs no maintenance while it is measured. It can notify a worker of a new job, which helps latency and costs a
 * third of its enqueue rate; without that it polls, at the shortest interval that it allows.
 */
export const pgBoss: Peer = {
  name: "pg-boss",
  async open({ url }, purpose) {
    const { PgBoss } = await loadPeer<BossModule>("pg-boss");
    const notify = purpose === "latency";
    const boss = new PgBoss({ connectionString: url, max: POOL, useListenNotify: notify, schedule: false, supervise: false });
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("bench", { notify, deleteAfterSeconds: 0 });
    return {
      add: () => boss.send("bench", PAYLOAD),
      fill: (jobs) =>
        inBatches(jobs, { batch: 1000, inFlight: 2 }, (size) =>
          boss.insert(
            "bench",
            Array.from({ length: size }, () => ({ data: PAYLOAD })),
          ),
        ),
      async work(load, onJobs) {
        const handler = handlerOf(load, onJobs);
        const options = {
          localConcurrency: FETCHERS,
          batchSize: load.slots / FETCHERS,
          burstWhenBatchFull: true,
          pollingIntervalSeconds: 0.5,
        };
        await boss.work("bench", options, async (jobs) => void (await Promise.all(jobs.map(handler))));
        return { stop: () => boss.offWork("bench") };
      },
      close: () => boss.stop({ graceful: false }),
    };
  },
};
