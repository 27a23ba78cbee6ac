import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { parseSqliteUrl } from "../../../src/store/sqlite/url.ts";
import { block, type Hands } from "../../simulation/handler.ts";

type Transact = NonNullable<Hands["transact"]>;

const LOCK_WITHIN_MS = 5_000;
const ANSWER_WITHIN_MS = 10_000;

/** Completes a job in a transaction of the handler's own, and blocks the loop before the commit. Redis has no such transactions: it only blocks. */
export function transactOn(url: string): Transact {
  switch (new URL(url).protocol) {
    case "postgres:":
      return onPostgres(url);
    case "sqlite:":
      return onSqlite(url);
    default:
      return async (_ctx, ms, done) => {
        block(ms);
        done();
      };
  }
}

function onPostgres(url: string): Transact {
  return async (ctx, ms, done) => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: LOCK_WITHIN_MS, query_timeout: ANSWER_WITHIN_MS });
    client.on("error", () => {});
    await client.connect();
    try {
      await client.query("begin");
      await ctx.complete({ took: ms }, { tx: client });
      block(ms);
      done();
      await client.query("commit");
    } finally {
      await client.end().catch(() => {});
    }
  };
}

function onSqlite(url: string): Transact {
  return async (ctx, ms, done) => {
    const database = new DatabaseSync(parseSqliteUrl(url).path, { timeout: LOCK_WITHIN_MS });
    try {
      database.exec("begin immediate");
      await ctx.complete({ took: ms }, { tx: database });
      block(ms);
      done();
      database.exec("commit");
    } finally {
      database.close();
    }
  };
}
