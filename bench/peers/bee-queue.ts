import { parseRedisUrl } from "../../src/store/redis/url.ts";
import { inBatches } from "../measure/call.ts";
import { PAYLOAD } from "../payload.ts";
import { handlerOf, type Peer } from "../queue.ts";
import { loadPeer } from "./install.ts";

/** What we use of it. */
interface BeeModule {
  readonly default: new (name: string, settings: object) => Bee;
}

interface Bee {
  ready(): Promise<unknown>;
  createJob(data: unknown): { save(): Promise<unknown> };
  saveAll(jobs: readonly unknown[]): Promise<ReadonlyMap<unknown, Error>>;
  process(concurrency: number, run: () => Promise<void>): void;
  on(event: "error", listener: () => void): unknown;
  close(timeoutMs?: number): Promise<void>;
}

/** Off, as its documentation advises if nobody listens: events, and the jobs that it keeps in the process for them. */
const LEAN = { getEvents: false, sendEvents: false, storeJobs: false, removeOnSuccess: false };

/** One queue that only adds and one that only works, as it advises for separate processes. */
export const beeQueue: Peer = {
  name: "Bee-Queue",
  async open({ url }) {
    const { default: Bee } = await loadPeer<BeeModule>("bee-queue");
    const { nodes, password, db, prefix } = parseRedisUrl(url);
    const settings = { ...LEAN, prefix, redis: { ...nodes[0], password, db } };
    const open = async (isWorker: boolean): Promise<Bee> => {
      const bee = new Bee("bench", { ...settings, isWorker });
      bee.on("error", () => {});
      await bee.ready();
      return bee;
    };
    const producer = await open(false);
    return {
      add: () => producer.createJob(PAYLOAD).save(),
      fill: (jobs) =>
        inBatches(jobs, { batch: 500, inFlight: 2 }, (size) =>
          producer.saveAll(Array.from({ length: size }, () => producer.createJob(PAYLOAD))),
        ),
      async work(load, onJobs) {
        const worker = await open(true);
        worker.process(load.slots, handlerOf(load, onJobs));
        return { stop: () => worker.close(5_000) };
      },
      close: () => producer.close(),
    };
  },
};
