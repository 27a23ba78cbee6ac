import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { startOwnPostgres } from "../servers/postgres.ts";
import { admin, startRedis } from "../servers/redis.ts";

/** How much a store holds. Of the counters by the minute nothing is counted: they are kept for 48 hours, so they grow for so long. */
export interface StoreSize {
  readonly rows: number;
  readonly bytes: number;
}

/** A store of its own for a soak. */
export interface SoakedStore {
  readonly url: string;
  size(): Promise<StoreSize>;
  stop(): Promise<void>;
}

export const ENGINES = ["sqlite", "postgres", "redis"] as const;
export type SoakedEngine = (typeof ENGINES)[number];

const OPEN: Readonly<Record<SoakedEngine, () => Promise<SoakedStore>>> = { sqlite: onSqlite, postgres: onPostgres, redis: onRedis };

export function openSoakedStore(engine: SoakedEngine): Promise<SoakedStore> {
  return OPEN[engine]();
}

async function onSqlite(): Promise<SoakedStore> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-soak-"));
  const path = join(folder, "jobs.db");
  return {
    url: `sqlite:${path}`,
    async size() {
      const database = new DatabaseSync(path, { readOnly: true, timeout: 10_000 });
      try {
        const one = (query: string): number => Object.values(database.prepare(query).get()!)[0] as number;
        const names = database.prepare("select name from sqlite_master where type = 'table' and name like 'millrace_%'").all();
        const tables = names.map(({ name }) => String(name)).filter((name) => name !== "millrace_count");
        const rows = tables.reduce((sum, name) => sum + one(`select count(*) from ${name}`), 0);
        return { rows, bytes: (one("pragma page_count") - one("pragma freelist_count")) * one("pragma page_size") };
      } finally {
        database.close();
      }
    },
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function onPostgres(): Promise<SoakedStore> {
  const server = await startOwnPostgres();
  const query = async (text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    url: server.url,
    async size() {
      const tables = await query(
        "select quote_ident(tablename) as name, pg_total_relation_size(format('millrace.%I', tablename))::float8 as bytes from pg_tables where schemaname = 'millrace' and tablename <> 'count'",
      );
      const counts = tables.map(({ name }) => `select count(*) from millrace.${String(name)}`);
      const [rows] = await query(`select sum(count)::float8 as sum from (${counts.join(" union all ")}) each`);
      return { rows: Number(rows!["sum"]), bytes: tables.reduce((sum, { bytes }) => sum + Number(bytes), 0) };
    },
    stop: () => server.stop(),
  };
}

async function onRedis(): Promise<SoakedStore> {
  const server = await startRedis();
  return {
    url: server.url,
    size: () =>
      admin(server.port, async (redis) => {
        const bytes = Number(/used_memory_dataset:(\d+)/.exec(await redis.info("memory"))?.[1]);
        return { rows: await redis.dbsize(), bytes };
      }),
    stop: () => server.stop(),
  };
}
