import pg from "pg";
import { startPostgres } from "../../test/servers/postgres.ts";
import type { Site } from "./place.ts";

/** A new database for each place, on a server with default durability. */
export async function postgresSite(): Promise<Site> {
  const server = await startPostgres({ fsync: true });
  const version = await ask(server.url, "show server_version");
  const settings = process.env["MILLRACE_TEST_POSTGRES"] ? "as it is set" : "with default settings, on this machine";
  return {
    about: `PostgreSQL ${version} ${settings}`,
    async fresh() {
      const database = await server.database();
      return { url: database.url, bytes: () => bytesOf(database.url), close: () => database.drop() };
    },
    close: () => server.stop(),
  };
}

/** All tables and indexes except the system's, after a vacuum: autovacuum would free that space a minute later. */
async function bytesOf(url: string): Promise<number> {
  await ask(url, "vacuum");
  const total = await ask(
    url,
    `select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`,
  );
  return Number(total);
}

async function ask(url: string, text: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<string[]>({ text, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}
