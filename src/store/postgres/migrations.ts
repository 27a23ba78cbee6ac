import { MillraceError } from "../../core/errors.ts";
import type { Connections, Sql } from "./connections.ts";
import { isForbidden, messageOf } from "./failures.ts";
import {
  FUNCTIONS,
  type FunctionSet,
  leaveWithoutDigest,
  createFunctions,
  MIGRATION_LOCK,
  SAY_USED_EVERY_MS,
  sayUsed,
  usedAgo,
} from "./function-set.ts";
import { IDLE_TIMEOUT, LOCK_TIMEOUT } from "./session.ts";
import { BASELINE, baseline, STEPS, STEPS_TO_BASELINE } from "./tables.ts";

export const SCHEMA_VERSION: number = BASELINE + STEPS.length;

/** The lowest version that can work on the newest tables. Versions up to the baseline ignore it: they refuse newer tables. */
const WORKS_FROM = SCHEMA_VERSION - (STEPS.length - 1 - STEPS.findLastIndex(({ isAdditive }) => !isAdditive));

const OLDEST_SERVER = 140_000;

interface Found {
  /** The version of the tables; 0 if there are none. */
  readonly version: number;
  /** The lowest version that can work on them. */
  readonly worksFrom: number;
  /** How long ago a process reported using our functions; null if they are missing. */
  readonly usedAgoMs: number | null;
}

/**
 * Upgrades the tables and creates missing functions, or refuses tables of a newer Millrace that this version cannot work on. Every process
 * does this at start: a lock lets one work while the others wait. It is one transaction, so an interrupted step leaves no trace. It has no
 * deadline: with one, a large store could never finish, because each try begins again. Processes of other versions work meanwhile and
 * afterwards, with their own functions.
 */
export async function migrate(connections: Connections, schema: string, functions: FunctionSet): Promise<void> {
  const { place } = connections;
  const isThere = await connections.run(
    async (sql) => {
      const found = await look(sql, schema, functions, place);
      if (found.version < SCHEMA_VERSION || found.usedAgoMs === null) return false;
      if (found.usedAgoMs < SAY_USED_EVERY_MS) return true;
      const said = await sql.query(sayUsed(schema, functions.digest));
      return said.length > 0;
    },
    { makesFunctions: true },
  );
  if (isThere) return;
  try {
    await connections.transaction((sql) => upgrade(sql, schema, functions, place), { untilDone: true, makesFunctions: true });
  } catch (error) {
    throw isForbidden((error as MillraceError).cause) ? mayNotMigrate(error as MillraceError, schema, place) : error;
  }
}

/** Set for this transaction only, because a pooler may share the session: it may work, and wait for its turn, as long as it takes. */
const NO_TIMEOUTS = `select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true),
  set_config('idle_in_transaction_session_timeout', '${IDLE_TIMEOUT}', true)`;

async function upgrade(sql: Sql, schema: string, functions: FunctionSet, place: string): Promise<void> {
  await sql.query(NO_TIMEOUTS);
  await sql.query(`select pg_advisory_xact_lock(${MIGRATION_LOCK}, hashtext($1))`, [schema]);
  // From here on others wait for us, so the wait for a locked table is limited.
  await sql.query(`select set_config('lock_timeout', '${LOCK_TIMEOUT}', true)`);
  // A role that may not create a schema can still use an existing one.
  const [exists] = await sql.query("select to_regnamespace($1) is not null", [schema]);
  if (exists?.[0] !== true) await sql.query(`create schema ${schema}`);
  const found = await look(sql, schema, functions, place);
  if (found.version < SCHEMA_VERSION) await sql.query(tablesFrom(found.version, schema));
  if (found.usedAgoMs === null) await sql.query(createFunctions(schema, functions));
}

/** Upgrades the tables of a version to the newest. */
function tablesFrom(version: number, schema: string): string {
  const toBaseline =
    version === 0
      ? [`create table if not exists ${schema}.meta (name text primary key, value bigint not null);`, baseline(schema)]
      : STEPS_TO_BASELINE.slice(version - 1).map((step) => step(schema));
  const hadFunctions = version > 0 && version <= BASELINE;
  return [
    ...toBaseline,
    ...STEPS.slice(Math.max(0, version - BASELINE)).map(({ sql }) => sql(schema)),
    `insert into ${schema}.meta values ('schema', ${SCHEMA_VERSION}), ('works_from', ${WORKS_FROM})
      on conflict (name) do update set value = excluded.value;`,
    hadFunctions ? leaveWithoutDigest(schema) : "",
  ].join("\n");
}

/** Everything in a new schema, as a script for psql, for those who create tables by hand. */
export function schemaScript(schema: string): string {
  return [
    `-- Millrace, schema ${SCHEMA_VERSION}, for a PostgreSQL database (14 or newer, encoding UTF8) that has no tables of Millrace yet.`,
    "begin;",
    `create schema if not exists ${schema};`,
    tablesFrom(0, schema),
    createFunctions(schema, FUNCTIONS),
    "commit;",
    "",
  ].join("\n");
}

/** Reads the versions. Refuses a server or schema that does not fit, before anything is written. */
async function look(sql: Sql, schema: string, functions: FunctionSet, place: string): Promise<Found> {
  const [row] = await sql.query(
    "select current_setting('server_version_num')::int, current_setting('server_version'), getdatabaseencoding(), to_regclass($1) is not null",
    [`${schema}.meta`],
  );
  const [number, version, encoding, exists] = row as [number, string, string, boolean];
  if (number < OLDEST_SERVER) {
    throw new MillraceError("unsupported_store", `PostgreSQL at ${place} is version ${version}. Millrace needs 14 or newer`);
  }
  if (encoding !== "UTF8") {
    throw new MillraceError(
      "unsupported_store",
      `the encoding of the database at ${place} is ${encoding}. Create a database with encoding 'UTF8'`,
    );
  }
  if (!exists) return { version: 0, worksFrom: 0, usedAgoMs: null };
  const [values] = await sql.query(`select (select value from ${schema}.meta where name = 'schema'),
    (select value from ${schema}.meta where name = 'works_from'), ${usedAgo(schema, functions)}`);
  const found = {
    version: (values![0] ?? 0) as number,
    worksFrom: (values![1] ?? Infinity) as number,
    usedAgoMs: values![2] as number | null,
  };
  if (found.version > SCHEMA_VERSION && found.worksFrom > SCHEMA_VERSION) throw tooNew(found.version, schema);
  return found;
}

function tooNew(found: number, schema: string): MillraceError {
  return new MillraceError(
    "unsupported_store",
    `the PostgreSQL schema ${schema} has version ${found}, and this Millrace knows only up to ${SCHEMA_VERSION}. Install the newer version that made it`,
  );
}

function mayNotMigrate({ cause }: MillraceError, schema: string, place: string): MillraceError {
  const message = `the schema ${schema} at ${place} is not up to date, and this role may not change it (${messageOf(cause)}). Run "millrace migrate" with the URL of the role that owns it`;
  return new MillraceError("store_unavailable", message, { cause });
}
