import pg from "pg";
import { inBatches } from "../measure/call.ts";
import { PAYLOAD } from "../payload.ts";
import { handlerOf, type Peer } from "../queue.ts";
import { loadPeer } from "./install.ts";

/** What we use of it. */
interface GraphileModule {
  readonly makeWorkerUtils: (options: object) => Promise<WorkerUtils>;
  readonly run: (options: object) => Promise<{ stop(): Promise<void> }>;
  readonly Logger: new (factory: () => () => void) => unknown;
}

interface WorkerUtils {
  migrate(): Promise<void>;
  addJob(task: string, payload: unknown): Promise<unknown>;
  addJobs(jobs: readonly { identifier: string; payload: unknown }[]): Promise<unknown>;
  release(): Promise<void>;
}

/** The settings of its page on performance: it fetches many jobs at once, more than it has slots, and writes completions together. */
const batching = (slots: number): object => ({
  localQueue: { size: Math.max(500, slots + 1) },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
});
/** More connections than this were not faster on two cores. */
const POOL = 10;

/** It always removes finished jobs. */
export const graphileWorker: Peer = {
  name: "Graphile Worker (keeps none)",
  async open({ url }) {
    const { makeWorkerUtils, run, Logger } = await loadPeer<GraphileModule>("graphile-worker");
    const logger = new Logger(() => () => {});
    // Our own pool: its own would not wait until connections are closed, and an error on one of them would end this process.
    const pgPool = new pg.Pool({ connectionString: url, max: POOL });
    pgPool.on("error", () => {});
    pgPool.on("connect", (client) => client.on("error", () => {}));
    const utils = await makeWorkerUtils({ pgPool, preset: { worker: { logger } } });
    await utils.migrate();
    return {
      add: () => utils.addJob("bench", PAYLOAD),
      fill: (jobs) =>
        inBatches(jobs, { batch: 1000, inFlight: 2 }, (size) =>
          utils.addJobs(Array.from({ length: size }, () => ({ identifier: "bench", payload: PAYLOAD }))),
        ),
      async work(load, onJobs) {
        const runner = await run({
          pgPool,
          noHandleSignals: true,
          taskList: { bench: handlerOf(load, onJobs) },
          preset: { worker: { ...batching(load.slots), logger, concurrentJobs: load.slots } },
        });
        return { settled: () => untilEmpty(pgPool), stop: () => runner.stop() };
      },
      async close() {
        await utils.release();
        await pgPool.end();
      },
    };
  },
};

/** Waits until all jobs are removed: handlers run ahead of those statements. */
async function untilEmpty(pool: pg.Pool): Promise<void> {
  while ((await pool.query("select from graphile_worker._private_jobs limit 1")).rowCount !== 0);
}
