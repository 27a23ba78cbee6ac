import { DatabaseSync } from "node:sqlite";
import { idMaker } from "../../src/lib/id.ts";
import { hexToId, ID_BYTES, idToBlob } from "../../src/store/sqlite/codec.ts";
import { migrate } from "../../src/store/sqlite/migrations.ts";
import { CLAIM_JOB, COMPLETE_GRANTED, INSERT_JOB, readyJobs } from "../../src/store/sqlite/statements.ts";
import { PAYLOAD } from "../payload.ts";
import { type Bare, bareQueue } from "./bare.ts";

const ID = new Uint8Array(ID_BYTES);

/** The engine's own prepared statements, one transaction per batch. */
export async function openBareSqlite({ url }: { readonly url: string }): Promise<Bare> {
  const db = new DatabaseSync(url.slice("sqlite:".length));
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -16000");
  migrate(db);
  const newId = idMaker(() => Date.now());

  const insertJob = db.prepare(INSERT_JOB);
  const insert = async (size: number): Promise<void> => {
    db.exec("begin immediate");
    for (let index = 0; index < size; index++) {
      const now = Date.now();
      const id = idToBlob(newId(0), ID);
      insertJob.run(id, 1, 1, 2, now, 0, now, JSON.stringify(PAYLOAD), 3, 3, 1000, 30_000, null, null, null, now, now);
    }
    db.exec("commit");
  };

  const claim = db.prepare(CLAIM_JOB);
  const complete = db.prepare(COMPLETE_GRANTED);
  const readyBy = new Map<number, ReturnType<typeof db.prepare>>();
  const ready = (limit: number): unknown[][] => {
    const statement = readyBy.get(limit) ?? db.prepare(readyJobs(1, limit));
    statement.setReturnArrays(true);
    readyBy.set(limit, statement);
    return statement.all(1) as unknown as unknown[][];
  };
  const exchange = async (held: readonly unknown[][], limit: number): Promise<unknown[][]> => {
    db.exec("begin immediate");
    const now = Date.now();
    for (const row of held) {
      complete.run("null", 0, now, now, now, 1, row[0] as number, idToBlob(hexToId(row[1] as string), ID), (row[10] as number) + 1);
    }
    const claimed = limit === 0 ? [] : ready(limit);
    for (const row of claimed) claim.run(now + 30_000, now, now, "w-bare", row[0] as number);
    db.exec("commit");
    return claimed;
  };
  return bareQueue({ inFlight: 1, insert, exchange, close: async () => db.close() });
}
