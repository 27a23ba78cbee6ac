import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { parsePostgresUrl } from "../../../../src/store/postgres/url.ts";
import { settlementOf } from "../../../conformance/world.ts";
import { claimOf, freshUrl, jobOf, openStoreOn, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

test("a report that meets a row that somebody else holds is told as contended, and goes through when it is free", async () => {
  const url = freshUrl(server());
  let contended = 0;
  const met = Promise.withResolvers<void>();
  const onLocked = (): void => {
    contended++;
    met.resolve();
  };
  const store = await openStoreOn(url, { onLocked });
  // One job: of several reports, one that is still held at the second try is answered `locked`.
  await store.insert([jobOf()]);
  const { claimed } = await store.exchange([], [claimOf()]);
  expect(contended).toBe(0);
  const { connectionString, schema } = parsePostgresUrl(url);
  const other = new pg.Client({ connectionString });
  await other.connect();
  onTestFinished(() => other.end());
  await other.query("begin");
  await other.query(`select from ${schema}.running where id = $1 for update`, [claimed[0]![0]!.id]);
  const reports = claimed[0]!.map((lease) => settlementOf(lease, { kind: "completed", result: null, runMs: 1 }));
  const reported = store.exchange(reports, []);
  await met.promise;
  await other.query("rollback");
  expect((await reported).settled).toEqual(["ok"]);
});
