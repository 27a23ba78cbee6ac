import pg from "pg";
import { startPostgres } from "../../test/servers/postgres.ts";
import type { Site } from "./place.ts";

/** A new database for each place, on a server with default durability. */
export async function postgresSite(): Promise<Site> {
  const server = await startPostgres({ fsync: true });
  const [[version] = []] = await ask(server.url, "show server_version");
  const settings = process.env["MILLRACE_TEST_POSTGRES"] ? "as it is set" : "with default settings, on this machine";
  return {
    about: `PostgreSQL ${version} ${settings}`,
    async fresh() {
      const { url, drop } = await server.database();
      return { url, bytes: () => bytesOf(url), sizes: () => sizesOf(url), close: drop };
    },
    close: () => server.stop(),
  };
}

/** After a vacuum: autovacuum would free that space a minute later. */
async function bytesOf(url: string): Promise<number> {
  await ask(url, "vacuum");
  return (await sizesOf(url)).values().reduce((sum, bytes) => sum + bytes, 0);
}

/** All tables with their TOAST, and all indexes, except the system's. */
async function sizesOf(url: string): Promise<Map<string, number>> {
  const rows = await ask(
    url,
    `select c.relname, case c.relkind when 'r' then pg_table_size(c.oid) else pg_relation_size(c.oid) end
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'i') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
  );
  return new Map(rows.map(([name, bytes]) => [name!, Number(bytes)]));
}

async function ask(url: string, text: string): Promise<string[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<string[]>({ text, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}
