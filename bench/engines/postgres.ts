import { openBarePostgres } from "../bare/postgres.ts";
import { bullmqOnPostgres } from "../peers/bullmq.ts";
import { graphileWorker } from "../peers/graphile-worker.ts";
import { pgBoss } from "../peers/pg-boss.ts";
import { postgresSite } from "../places/postgres.ts";
import type { Engine } from "./engine.ts";

/** The required drain ratio is for the best peer, so it is the same for each. */
export const postgres: Engine = {
  name: "postgres",
  openSite: postgresSite,
  inFlight: 2,
  openBare: openBarePostgres,
  peers: [
    { peer: pgBoss, asked: { enqueue: 20, drain: 1.9 } },
    { peer: graphileWorker, asked: { drain: 1.9 } },
    { peer: bullmqOnPostgres, asked: { drain: 1.9, pickUp: 1 } },
  ],
  jobs: { oneCaller: 1_000, callers: 40_000, many: 80_000, drainTen: 8_000, drainHundred: 50_000, both: 30_000, processes: 40_000 },
  asked: {},
  variant: null,
  hasBytes: true,
  processes: "required",
};
