import { parseRedisUrl } from "../../src/store/redis/url.ts";
import { inBatches } from "../measure/call.ts";
import { PAYLOAD } from "../payload.ts";
import { handlerOf, type Peer, type Queue } from "../queue.ts";
import { loadPeer } from "./install.ts";

/** What we use of it. */
interface BullmqModule {
  readonly Queue: new (name: string, options: object, backend?: unknown) => BullmqQueue;
  readonly Worker: new (name: string, run: () => Promise<void>, options: object, backend?: unknown) => BullmqWorker;
  readonly createPostgresBackend: unknown;
}

interface BullmqQueue {
  waitUntilReady(): Promise<unknown>;
  add(name: string, data: unknown): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: unknown }[]): Promise<unknown>;
  on(event: "error", listener: () => void): unknown;
  close(): Promise<void>;
}

interface BullmqWorker {
  waitUntilReady(): Promise<unknown>;
  on(event: "error", listener: () => void): unknown;
  close(force?: boolean): Promise<void>;
}

/** Keeps finished jobs, which is its default, and has no rate limit. */
export const bullmqOnRedis: Peer = {
  name: "BullMQ",
  async open({ url }) {
    const { nodes, username, password, db, prefix } = parseRedisUrl(url);
    const connection = { ...nodes[0], username, password, db, maxRetriesPerRequest: null };
    return openBullmq({ connection, prefix });
  },
};

/** Its PostgreSQL backend, with one pool for the queue and one for the worker. */
export const bullmqOnPostgres: Peer = {
  name: "BullMQ on PostgreSQL",
  open: ({ url }) => openBullmq({ connection: { connectionString: url, max: POOL, migrate: true } }, true),
};

/** More connections than this were slower on two cores. */
const POOL = 10;

async function openBullmq(options: { readonly connection: object; readonly prefix?: string }, onPostgres = false): Promise<Queue> {
  const { Queue, Worker, createPostgresBackend } = await loadPeer<BullmqModule>("bullmq");
  const backend = onPostgres ? createPostgresBackend : undefined;
  const queue = new Queue("bench", options, backend);
  queue.on("error", () => {});
  await queue.waitUntilReady();
  return {
    add: () => queue.add("bench", PAYLOAD),
    fill: (jobs) =>
      inBatches(jobs, { batch: 500, inFlight: 2 }, (size) =>
        queue.addBulk(Array.from({ length: size }, () => ({ name: "bench", data: PAYLOAD }))),
      ),
    async work(load, onJobs) {
      const worker = new Worker("bench", handlerOf(load, onJobs), { ...options, concurrency: load.slots }, backend);
      worker.on("error", () => {});
      await worker.waitUntilReady();
      return { stop: () => worker.close() };
    },
    close: () => queue.close(),
  };
}
