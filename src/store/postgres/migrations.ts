import { MillraceError } from "../../core/errors.ts";
import type { Connections, Sql } from "./connections.ts";
import { allowanceTable, spend } from "./functions/allowance.ts";
import { exchange } from "./functions/exchange.ts";
import { admit, enqueue, freeKeys } from "./functions/insert.ts";
import { extend, note } from "./functions/leases.ts";
import { change, remove } from "./functions/manage.ts";
import { attempts, counters, expired, find, queues } from "./functions/reads.ts";
import { fold, promote, prune, tick } from "./functions/upkeep.ts";
import { ahead, oldest } from "./functions/waiting.ts";
import { tables } from "./tables.ts";

const FIRST_WRITES = [enqueue, admit, freeKeys, exchange, extend, note, change, remove, promote, prune, fold, tick];
const FIRST_READS = [find, attempts, expired, queues, counters];
const FIRST_PARTS = [tables, ...FIRST_WRITES, ...FIRST_READS];

/**
 * The schema, step by step. A step that was released is never edited, and no function that a released version calls is dropped or changes
 * what it takes and answers: during a deploy the old and the new version work side by side. The next change is a new step at the end, with
 * functions under new names.
 *
 * Why functions: each verb is one round trip and one commit whatever it has to look at on its way, their plans are kept by the server without
 * prepared statements (which a transaction pooler would lose), and a caller's own transaction can call them through any driver.
 */
const STEPS: readonly ((schema: string) => string)[] = [
  (schema) => FIRST_PARTS.map((part) => part(schema)).join("\n"),
  (schema) => [allowanceTable, spend].map((part) => part(schema)).join("\n"),
  (schema) => [oldest, ahead].map((part) => part(schema)).join("\n"),
];

export const SCHEMA_VERSION: number = STEPS.length;

const OLDEST_SERVER = 140_000;

/**
 * Brings the schema to its newest, or refuses one that a newer Millrace made. Every process does it at start: a lock of the database lets one
 * work while the others wait, and a step that is cut off leaves no trace, because all is one transaction.
 */
export async function migrate(connections: Connections, schema: string): Promise<void> {
  const found = await connections.run((sql) => versionOf(sql, schema, connections.place));
  if (found === SCHEMA_VERSION) return;
  // Others may be at it for a while.
  await connections.transaction((sql) => bringUp(sql, schema, connections.place), { slow: true });
}

async function bringUp(sql: Sql, schema: string, place: string): Promise<void> {
  await sql.query("select pg_advisory_xact_lock(hashtext('millrace.migrate'), hashtext($1))", [schema]);
  // Who may not make a schema can still be given one.
  const [exists] = await sql.query("select to_regnamespace($1) is not null", [schema]);
  if (exists?.[0] !== true) await sql.query(`create schema ${schema}`);
  await sql.query(`create table if not exists ${schema}.meta (name text primary key, value bigint not null)`);
  const found = await versionOf(sql, schema, place);
  if (found > SCHEMA_VERSION) throw tooNew(found, schema);
  for (const step of STEPS.slice(found)) await sql.query(step(schema));
  const setVersion = `insert into ${schema}.meta values ('schema', $1) on conflict (name) do update set value = excluded.value`;
  await sql.query(setVersion, [SCHEMA_VERSION]);
}

/** The version of the schema, 0 when there is none. Refuses a server that does not fit, before anything is written there. */
async function versionOf(sql: Sql, schema: string, place: string): Promise<number> {
  const [row] = await sql.query(
    "select current_setting('server_version_num')::int, current_setting('server_version'), getdatabaseencoding(), to_regclass($1) is not null",
    [`${schema}.meta`],
  );
  const [number, version, encoding, exists] = row as [number, string, string, boolean];
  if (number < OLDEST_SERVER) {
    throw new MillraceError("unsupported_store", `PostgreSQL at ${place} is version ${version}, and Millrace needs 14 or newer`);
  }
  if (encoding !== "UTF8") {
    throw new MillraceError("unsupported_store", `the database at ${place} has the encoding ${encoding}: make one with encoding 'UTF8'`);
  }
  if (!exists) return 0;
  const [found] = await sql.query(`select value from ${schema}.meta where name = 'schema'`);
  return (found?.[0] as number | undefined) ?? 0;
}

function tooNew(found: number, schema: string): MillraceError {
  return new MillraceError(
    "unsupported_store",
    `the PostgreSQL schema ${schema} has version ${found}, and this Millrace knows only up to ${SCHEMA_VERSION}: install the newer version that made it`,
  );
}
