import { MillraceError } from "../../core/errors.ts";
import type { Connections, Sql } from "./connections.ts";
import { allowanceTable, spend } from "./functions/allowance.ts";
import { exchange } from "./functions/exchange.ts";
import { admit, enqueue, freeKeys } from "./functions/insert.ts";
import { extend, note } from "./functions/leases.ts";
import { change, remove } from "./functions/manage.ts";
import { markTable } from "./functions/mark.ts";
import { attempts, counters, expired, find, queues } from "./functions/reads.ts";
import { fold, promote, prune, tick } from "./functions/upkeep.ts";
import { ahead, oldest } from "./functions/waiting.ts";
import { IDLE_TIMEOUT, LOCK_TIMEOUT } from "./session.ts";
import { addBlocked, addLosses, tables } from "./tables.ts";

const TABLES = [tables, allowanceTable, markTable];

const WRITES = [enqueue, admit, freeKeys, exchange, extend, note, change, remove, promote, prune, fold, tick, spend];
const READS = [find, attempts, expired, queues, counters, oldest, ahead];

/**
 * What leads the tables of version n to version n + 1, at index n - 1. TABLES are always the newest: a new schema starts there and runs no
 * upgrade, so a test holds the two ways to the same end. New columns of a place go to its end, because rows are moved whole.
 *
 * Functions are not upgraded but made anew, all of them: they are code, and belong to one version. So a process of an older version that is
 * still running fails its calls from then on, instead of working by old rules; docs/operations.md says how to deploy such a change.
 *
 * Why functions: each verb is one round trip and one commit whatever it has to look at on its way, their plans are kept by the server without
 * prepared statements (which a transaction pooler would lose), and a caller's own transaction can call them through any driver.
 */
const UPGRADES: readonly ((schema: string) => string)[] = [
  allowanceTable,
  // To 3: only functions changed.
  () => "",
  // To 4, from the tables of 0.1.
  (schema) => addLosses(schema) + markTable(schema),
  // To 5: only functions changed.
  () => "",
  addBlocked,
];

/** The names of our functions, now and in every version before: one that is no longer made must be added here by hand. */
const FUNCTION_NAMES = [...WRITES, ...READS].map((part) => /^create function s\.(\w+)\(/m.exec(part("s"))![1]!);

/**
 * Drops every function of ours, whatever version made it. The schema may be one that the user has functions of their own in, such as
 * `public`, maybe of the same names: ours are those whose parameters are named as we name them.
 */
const dropFunctions = (schema: string): string => `
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select oid from pg_proc where pronamespace = '${schema}'::regnamespace and prokind = 'f' and proname in ('${FUNCTION_NAMES.join("', '")}')
      and proargnames is not null and not exists (select from unnest(proargnames) name where name !~ '^(p|out)_')
  loop
    execute format('drop function %s', v_function);
  end loop;
end $$;`;

export const SCHEMA_VERSION: number = UPGRADES.length + 1;

const OLDEST_SERVER = 140_000;

/**
 * Brings the schema to its newest, or refuses one that a newer Millrace made. Every process does it at start: a lock of the database lets one
 * work while the others wait, and a step that is cut off leaves no trace, because all is one transaction. It may take as long as the jobs in
 * the store make it: with a deadline a large store would never come to its end, because each try begins anew.
 */
export async function migrate(connections: Connections, schema: string): Promise<void> {
  const found = await connections.run((sql) => versionOf(sql, schema, connections.place));
  if (found === SCHEMA_VERSION) return;
  await connections.transaction((sql) => bringUp(sql, schema, connections.place), { untilDone: true });
}

/** For the transaction alone, because behind a pooler the session is not ours: it may work, and wait for its turn, as long as it takes. */
const BEGIN_UNHURRIED = `select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
  set_config('idle_in_transaction_session_timeout', '${IDLE_TIMEOUT}', true)`;

async function bringUp(sql: Sql, schema: string, place: string): Promise<void> {
  await sql.query(BEGIN_UNHURRIED);
  await sql.query("select pg_advisory_xact_lock(hashtext('millrace.migrate'), hashtext($1))", [schema]);
  // From here on others wait for us: a table that somebody holds is not waited for without end.
  await sql.query(`select set_config('lock_timeout', '${LOCK_TIMEOUT}', true)`);
  // Who may not make a schema can still be given one.
  const [exists] = await sql.query("select to_regnamespace($1) is not null", [schema]);
  if (exists?.[0] !== true) await sql.query(`create schema ${schema}`);
  await sql.query(`create table if not exists ${schema}.meta (name text primary key, value bigint not null)`);
  const found = await versionOf(sql, schema, place);
  if (found > SCHEMA_VERSION) throw tooNew(found, schema);
  const steps = found === 0 ? TABLES : [dropFunctions, ...UPGRADES.slice(found - 1)];
  await sql.query([...steps, ...WRITES, ...READS].map((part) => part(schema)).join("\n"));
  const setVersion = `insert into ${schema}.meta values ('schema', $1) on conflict (name) do update set value = excluded.value`;
  await sql.query(setVersion, [SCHEMA_VERSION]);
}

/** Everything that a new schema is made of, as a script for psql: the same statements, for those who let nobody else make tables. */
export function schemaScript(schema: string): string {
  return [
    `-- Millrace, schema ${SCHEMA_VERSION}, for a PostgreSQL database (14 or newer, encoding UTF8) that has no tables of Millrace yet.`,
    "begin;",
    `create schema if not exists ${schema};`,
    `create table ${schema}.meta (name text primary key, value bigint not null);`,
    ...[...TABLES, ...WRITES, ...READS].map((part) => part(schema)),
    `insert into ${schema}.meta values ('schema', ${SCHEMA_VERSION});`,
    "commit;",
    "",
  ].join("\n");
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
