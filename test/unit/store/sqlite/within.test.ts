import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { JOB_DEFAULTS, createJob } from "../../../../src/core/job-options.ts";
import { partitionOf } from "../../../../src/core/partition.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { idMaker } from "../../../../src/lib/id.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../../../src/store/store.ts";
import { temporaryFile } from "./temporary-file.ts";

const newId = idMaker(() => Date.now());
const newJob = (): ReturnType<typeof createJob> => createJob(newId(partitionOf("default")), "t", null, JOB_DEFAULTS);

async function open(): Promise<{ store: Store; path: string }> {
  const path = temporaryFile();
  const store = await openSqliteStore(`sqlite:${path}`, { clock: systemClock, deadlineMs: 1000 });
  onTestFinished(() => store.close());
  return { store, path };
}

async function insertWithin(store: Store, db: DatabaseSync): Promise<void> {
  db.exec("begin immediate");
  expect(await store.within(db)!.insert([newJob()])).toMatchObject([{ kind: "created" }]);
  db.exec("commit");
}

test("a connection of the caller's that reads BigInts serves as well", async () => {
  const { store, path } = await open();
  const db = new DatabaseSync(path, { readBigInts: true });
  await insertWithin(store, db);
  await insertWithin(store, db);
  db.close();
});

test("a connection of the caller's that was closed and opened again serves as well", async () => {
  const { store, path } = await open();
  const db = new DatabaseSync(path);
  await insertWithin(store, db);
  db.close();
  db.open();
  await insertWithin(store, db);
  db.close();
});

test.each([
  ["nothing of the kind", {}],
  ["a connection without a transaction", new DatabaseSync(":memory:")],
])("%s is refused as invalid_transaction", async (_, tx) => {
  const { store } = await open();
  expect(() => store.within(tx)).toThrow(expect.objectContaining({ code: "invalid_transaction", field: "tx" }));
});

test("a transaction on another file is refused by the names of both", async () => {
  const { store } = await open();
  const other = new DatabaseSync(temporaryFile("other.db"));
  other.exec("begin");
  expect(() => store.within(other)).toThrow(/other\.db.*not on.*jobs\.db/);
  other.close();
});
