import { openBareSqlite } from "../bare/sqlite.ts";
import { plainjob } from "../peers/plainjob.ts";
import { sqliteSite } from "../places/sqlite.ts";
import type { Engine } from "./engine.ts";

/** One process and one file, synced at each commit. */
export const sqlite: Engine = {
  name: "sqlite",
  openSite: sqliteSite,
  inFlight: 1,
  openBare: openBareSqlite,
  peers: [{ peer: plainjob, asked: { enqueue: 2.3, drain: 3.7 } }],
  jobs: { oneCaller: 2_000, callers: 100_000, many: 100_000, drainTen: 15_000, drainHundred: 100_000, both: 50_000, processes: 40_000 },
  asked: { bareEnqueue: 0.6, bareDrain: 0.6, pickUpMs: 0.5, http: { one: 0.5 } },
  variant: null,
  hasBytes: true,
  // One file has one writer at a time: at best, a second process costs nothing.
  processes: "measured",
};
