import { DatabaseSync, type StatementSync } from "node:sqlite";
import { loadPeer } from "./peers.ts";
import { PAYLOAD } from "./workload.ts";

/**
 * The peer on SQLite. It was made for better-sqlite3, which needs a compiler; its connection is an interface, so it runs on node:sqlite
 * here, as we do. It decides itself about its durability and its pace: one row a transaction, one job at a time.
 */
export interface Plainjob {
  add(): void;
  /** Works off everything that waits and resolves at the end. */
  drain(jobs: number): Promise<void>;
  close(): void;
}

/** What we use of it. */
interface PlainjobModule {
  readonly defineQueue: (options: { connection: unknown; logger: unknown }) => { add(type: string, data: unknown): unknown; close(): void };
  readonly defineWorker: (
    type: string,
    run: () => Promise<void>,
    options: { queue: unknown; logger: unknown; pollIntervall: number },
  ) => { start(): Promise<void>; stop(): Promise<void> };
}

const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

export async function openPlainjob(path: string): Promise<Plainjob> {
  const { defineQueue, defineWorker } = await loadPeer<PlainjobModule>("plainjob");
  const db = new DatabaseSync(path);
  const queue = defineQueue({ connection: connectionOf(db, path), logger: quiet });
  return {
    add: () => void queue.add("bench", PAYLOAD),
    async drain(jobs) {
      let count = 0;
      const worker = defineWorker("bench", async () => void (++count === jobs && worker.stop()), {
        queue,
        logger: quiet,
        pollIntervall: 1,
      });
      await worker.start();
    },
    close: () => {
      queue.close();
    },
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
