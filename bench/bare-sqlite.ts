import { DatabaseSync } from "node:sqlite";
import { hexToId, ID_BYTES, idToBlob } from "../src/store/sqlite/codec.ts";
import { migrate } from "../src/store/sqlite/migrations.ts";
import { CLAIM_JOB, COMPLETE_GRANTED, INSERT_JOB, readyJobs } from "../src/store/sqlite/statements.ts";
import { idMaker } from "../src/lib/id.ts";
import { PAYLOAD } from "./workload.ts";

const ID = new Uint8Array(ID_BYTES);

/**
 * The nearby limit: the same table, indexes and durability, driven by prepared statements in transactions of `batch`, without our rules,
 * counters, promises and workers.
 */
export class BareSqlite {
  readonly #db: DatabaseSync;
  readonly #newId = idMaker(() => Date.now());

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -16000");
    migrate(this.#db);
  }

  insert(jobs: number, batch: number): void {
    const insert = this.#db.prepare(INSERT_JOB);
    for (let done = 0; done < jobs; done += batch) {
      this.#db.exec("begin immediate");
      for (let index = 0; index < batch; index++) {
        const now = Date.now();
        insert.run(
          idToBlob(this.#newId(0), ID),
          1,
          1,
          2,
          now,
          0,
          now,
          JSON.stringify(PAYLOAD),
          3,
          1000,
          30_000,
          null,
          null,
          null,
          now,
          now,
        );
      }
      this.#db.exec("commit");
    }
  }

  /** Claims and completes, both in one transaction of `batch`, as a worker with as many slots would. */
  drain(jobs: number, batch: number): void {
    const ready = this.#db.prepare(readyJobs(1, batch));
    const claim = this.#db.prepare(CLAIM_JOB);
    const complete = this.#db.prepare(COMPLETE_GRANTED);
    ready.setReturnArrays(true);
    let held: unknown[][] = [];
    for (let done = 0; done < jobs; done += batch) {
      this.#db.exec("begin immediate");
      const now = Date.now();
      for (const row of held)
        complete.run("null", 0, now, now, 1, row[0] as number, idToBlob(hexToId(row[1] as string), ID), (row[10] as number) + 1);
      held = ready.all(1) as unknown as unknown[][];
      for (const row of held) claim.run(now + 30_000, now, now, "w-bare", row[0] as number);
      this.#db.exec("commit");
    }
  }

  close(): void {
    this.#db.close();
  }
}
