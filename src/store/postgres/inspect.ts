import type { StoreFinding, StoreReport } from "../../core/store-report.ts";
import type { Row } from "./codec.ts";
import { type DriverClient, loadDriver, TYPES } from "./driver.ts";
import { storeError } from "./failures.ts";
import { FUNCTIONS, usedAgo } from "./function-set.ts";
import { SCHEMA_VERSION } from "./migrations.ts";
import { parsePostgresUrl } from "./url.ts";

const OLDEST = 14;

/** Reports on the server of a `postgres:` URL, over one connection. */
export async function inspectPostgres(url: string, deadlineMs: number): Promise<StoreReport> {
  const { connectionString, schema, place } = parsePostgresUrl(url);
  const { Client } = await loadDriver();
  const client = new Client({ connectionString, application_name: "millrace", connectionTimeoutMillis: deadlineMs });
  client.on("error", () => {}); // its queries fail by themselves
  try {
    await client.connect();
    return await report(client, schema);
  } catch (error) {
    throw storeError(error, place);
  } finally {
    await client.end().catch(() => {});
  }
}

async function report(client: DriverClient, schema: string): Promise<StoreReport> {
  const [facts] = await rows(
    client,
    "select current_setting('server_version'), current_setting('server_version_num')::int, getdatabaseencoding(), current_setting('fsync'), current_setting('synchronous_commit'), to_regclass($1) is not null, (extract(epoch from clock_timestamp()) * 1000)::bigint",
    [`${schema}.meta`],
  );
  const [version, number, encoding, fsync, commit, hasSchema, now] = facts as [string, number, string, string, string, boolean, number];
  const inMeta = `select (select value from ${schema}.meta where name = 'schema'), ${usedAgo(schema, FUNCTIONS)} is null`;
  const [found] = hasSchema ? await rows(client, inMeta) : [];
  return {
    engine: `PostgreSQL ${version}`,
    schema: { found: (found?.[0] ?? 0) as number, wanted: SCHEMA_VERSION, ...(found?.[1] === true ? { lacksFunctions: true } : {}) },
    now,
    findings: [versionFinding(number), encodingFinding(encoding), durabilityFinding(fsync, commit)],
  };
}

async function rows(client: DriverClient, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await client.query({ text, values, rowMode: "array", types: TYPES })).rows;
}

function versionFinding(number: number): StoreFinding {
  const major = Math.floor(number / 10_000);
  return major >= OLDEST
    ? { grade: "good", message: `version ${major} is ${OLDEST} or newer` }
    : { grade: "bad", message: `version ${major} is too old: Millrace needs ${OLDEST} or newer` };
}

function encodingFinding(encoding: string): StoreFinding {
  return encoding === "UTF8"
    ? { grade: "good", message: "the database encoding is UTF8" }
    : { grade: "bad", message: `the database encoding is ${encoding}: create a database with encoding 'UTF8'` };
}

function durabilityFinding(fsync: string, commit: string): StoreFinding {
  return fsync === "on" && commit !== "off"
    ? { grade: "good", message: "commits wait for the disk: accepted jobs survive a crash" }
    : { grade: "doubtful", message: `fsync is ${fsync} and synchronous_commit is ${commit}: a crash may lose the newest jobs` };
}
