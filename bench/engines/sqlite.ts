import { openBareSqlite } from "../bare/sqlite.ts";
import { plainjob } from "../peers/plainjob.ts";
import { sqliteSite } from "../places/sqlite.ts";
import type { Engine } from "./engine.ts";

/** One file, synced at each commit. */
export const sqlite: Engine = {
  name: "sqlite",
  title: "SQLite",
  openSite: sqliteSite,
  inFlight: 1,
  openBare: openBareSqlite,
  peers: [plainjob],
  isShared: true,
  variant: null,
};
