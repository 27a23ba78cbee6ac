import { expect, test } from "vitest";
import { connectedTo, freshUrl, openStoreOn, schemaOf, serverOfThisFile } from "./open-database.ts";

const server = serverOfThisFile();

/** What is left to the planner then is a plan that it may choose by itself: to look for what is to be dropped once for each row of the table. */
const JOINS_BY_LOOP = ["hashjoin", "mergejoin", "hashagg", "sort", "material", "memoize"].map((name) => `-c enable_${name}=off`).join(" ");
const KEEP = { minutesMs: 1_000, hoursMs: 1_000 };

/** Rows that are past their keep. */
const PAST: Record<string, string> = {
  key: "(expires_at, queue, job, key, fingerprint) select 1, 1, gen_random_uuid(), 'k' || n, 'f'",
  worker: "(id, heartbeat_at, expires_at, entry) select 'w' || n, 1, 1, '{}'",
  count: "(at, amount, queue, step, metric) select n, 1, 1, 2, 32",
  news: "(at, events) select 1, '[]'",
  allowance: "(name, free_at) select 'a' || n, 1",
};

test.each(Object.keys(PAST))("sweep drops no more than it was told to, however the server plans it: %s", async (table) => {
  const url = freshUrl(server());
  const store = await openStoreOn(`${url}&options=${encodeURIComponent(JOINS_BY_LOOP)}`);
  const client = await connectedTo(server());
  const schema = schemaOf(url);
  await client.query(`insert into ${schema}.${table} ${PAST[table]} from generate_series(1, 25) n`);
  const rounds: number[] = [];
  for (let round = 0; round < 4; round++) rounds.push((await store.sweep(KEEP, 10)).removed);
  expect(rounds).toEqual([10, 10, 5, 0]);
});
