import pg from "pg";
import type { Driver } from "../../../../src/store/postgres/driver.ts";
import type { Store } from "../../../../src/store/store.ts";
import type { PostgresServer } from "../../../servers/postgres.ts";
import { freshUrl, openStoreOn } from "./open-database.ts";

/** What the server has to be told so that it tells its plans. */
const EXPLAIN = [
  "session_preload_libraries=auto_explain",
  "auto_explain.log_min_duration=0",
  "auto_explain.log_nested_statements=on",
  "client_min_messages=log",
];

/** The URL of a schema that nobody has used, over which the server tells the plan of each statement. */
export function explainingUrl(server: PostgresServer, settings: readonly string[] = []): string {
  const options = [...EXPLAIN, ...settings].map((setting) => `-c ${setting}`).join(" ");
  return `${freshUrl(server)}&options=${encodeURIComponent(options)}`;
}

/** A store, and the plan of every statement that it runs, those inside of functions too, as the server itself tells them. */
export async function openExplained(url: string): Promise<{ store: Store; told: string[] }> {
  const told: string[] = [];
  class ListeningPool extends pg.Pool {
    constructor(options: pg.PoolConfig) {
      super(options);
      this.on("connect", (client) => client.on("notice", ({ message }) => told.push(message ?? "")));
    }
  }
  const store = await openStoreOn(url, { driver: { Client: pg.Client, Pool: ListeningPool } as unknown as Driver });
  return { store, told };
}
