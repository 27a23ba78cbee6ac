import { DatabaseSync, type StatementSync } from "node:sqlite";
import { PAYLOAD } from "../payload.ts";
import { handlerOf, type Peer, type Queue } from "../queue.ts";
import { loadPeer } from "./install.ts";

/** What we use of it. */
interface PlainjobModule {
  readonly defineQueue: (options: { connection: unknown; logger: unknown }) => PlainjobQueue;
  readonly defineWorker: (
    type: string,
    run: () => Promise<void>,
    options: { queue: unknown; logger: unknown; pollIntervall: number },
  ) => { start(): Promise<void>; stop(): Promise<void> };
}

interface PlainjobQueue {
  add(type: string, data: unknown): unknown;
  addMany(type: string, data: readonly unknown[]): unknown;
  close(): void;
}

const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

/**
 * It was made for better-sqlite3, which needs a compiler; its connection is an interface, so here it runs on node:sqlite, like ours. Its
 * durability is fixed: it does not wait for the disk (synchronous NORMAL). A worker runs one job at a time, so handlers that take time have as many
 * workers as slots. Handlers that take none have one: its statements block this process, so several workers would only take turns.
 */
export const plainjob: Peer = {
  name: "plainjob",
  open: ({ url }) => openPlainjob(url.slice("sqlite:".length)),
};

async function openPlainjob(path: string): Promise<Queue> {
  const { defineQueue, defineWorker } = await loadPeer<PlainjobModule>("plainjob");
  const queue = defineQueue({ connection: connectionOf(new DatabaseSync(path), path), logger: quiet });
  return {
    add: async () => queue.add("bench", PAYLOAD),
    fill: async (jobs) =>
      void queue.addMany(
        "bench",
        Array.from({ length: jobs }, () => PAYLOAD),
      ),
    async work(load, onJobs) {
      const count = load.handlerMs === 0 ? 1 : load.slots;
      const handler = handlerOf(load, onJobs);
      const workers = Array.from({ length: count }, () => defineWorker("bench", handler, { queue, logger: quiet, pollIntervall: 1 }));
      const working = workers.map((worker) => worker.start());
      return { stop: () => Promise.all([...workers.map((worker) => worker.stop()), ...working]) };
    },
    close: async () => queue.close(),
  };
}

function connectionOf(db: DatabaseSync, filename: string): unknown {
  const prepare = (text: string): Pick<StatementSync, "run" | "get" | "all"> => db.prepare(text);
  return {
    driver: "better-sqlite3",
    filename,
    pragma: (text: string) => db.exec(`pragma ${text}`),
    exec: (text: string) => db.exec(text),
    prepare,
    transaction: (run: (...values: unknown[]) => unknown) => {
      const inTransaction = (...values: unknown[]): unknown => {
        db.exec("begin");
        try {
          const answer = run(...values);
          db.exec("commit");
          return answer;
        } catch (error) {
          db.exec("rollback");
          throw error;
        }
      };
      return Object.assign(inTransaction, { immediate: inTransaction, deferred: inTransaction, exclusive: inTransaction });
    },
    close: () => db.close(),
  };
}
